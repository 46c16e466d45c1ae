#!/usr/bin/env bash
# Pictures, videos, recordings and files of people on LINE, against the platform of line.sh: as attachments, in order, by
# the workspace's rules, with Debian's clamd (and the signature of the EICAR test file) if it is here. Contents that are
# not ready, deleted, too large or cut; a platform without its contents; kill -9 of the gateway amid 30 pictures.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
platform_port=$(free_port)
export CHIRRUP_CHANNELS_LINE_API_URL=http://127.0.0.1:$platform_port
export CHIRRUP_CHANNELS_LINE_DATA_URL=http://127.0.0.1:$platform_port
export CHIRRUP_WEBHOOKS_TIMEOUT_SECONDS=2

new_folder
create_cluster
export CHIRRUP_ATTACHMENTS_FOLDER=$work/files
clamd=$root/.venv/clamav/usr/sbin/clamd
[ -x "$clamd" ] || clamd=$(command -v clamd || true)
scanner=no
if [ -n "$clamd" ]; then
  mkdir "$work/signatures"
  printf 'Eicar-Test-Signature:0:*:%s\n' "$(printf 'EICAR-STANDARD-ANTIVIRUS-TEST-FILE!' | od -An -tx1 | tr -d ' \n')" \
    >"$work/signatures/test.ndb"
  printf 'DatabaseDirectory %s\nLocalSocket %s\nForeground yes\nStreamMaxLength 30M\n' "$work/signatures" \
    "$work/clamd.ctl" >"$work/clamd.conf"
  "$clamd" --config-file="$work/clamd.conf" >>"$work/clamd.log" 2>&1 &
  pids+=($!)
  await 60 "clamd" test -S "$work/clamd.ctl" || die "$(tail -n 3 "$work/clamd.log")"
  export CHIRRUP_ATTACHMENTS_SCANNER=unix:$work/clamd.ctl
  scanner=yes
else
  printf 'not tried: an infected file, without clamd\n'
fi
start_gateway
# not_logged PATTERN: in the gateway's log.
not_logged() { ! grep -E "$1" "$log"; }

check "contents of LINE" "$python" "$folder/line_contents_test.py" --base-url "$url" --database "$database" \
  --psql "$(postgres_bin)/psql" --operator-token "$(token operator)" --chirrup "$chirrup" --listen "127.0.0.1:$port" \
  --gateway "$gateway_pid" --log "$log" --platform-port "$platform_port" --files "$work/files" --scanner "$scanner" \
  --other "127.0.0.1:$(free_port)"
check "no token, secret or name of a file is in the log" not_logged 'secret-of-|token-of-|bill of Mali'
check "no statement was refused" is_unrefused
