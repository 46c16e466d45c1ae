#!/usr/bin/env bash
# Attachments behind the gateway's own disk: a bucket (moto's server, which checks each signature with Amazon's code), a
# virus scanner (Debian's clamd, with the signature of the EICAR test file only), and the cleaning of images. Each is
# broken on purpose.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")

clamd=$root/.venv/clamav/usr/sbin/clamd
[ -x "$clamd" ] || clamd=$(command -v clamd || true)
if [ -z "$clamd" ]; then
  printf 'not tried: there is no clamd here\n'
  exit 77
fi

new_folder
create_cluster

# The bucket. The server ends with its standard input.
mkfifo "$work/input"
"$python" "$folder/s3_server.py" <"$work/input" >"$work/s3.json" 2>"$work/s3.log" &
pids+=($!)
exec 7>"$work/input"
await 120 "the server of the bucket" grep --quiet endpoint "$work/s3.json" || die "$(tail -n 3 "$work/s3.log")"
of_s3() { sed -n "s/.*\"$1\": \"\([^\"]*\)\".*/\1/p" "$work/s3.json"; }
of_s3 access_key >"$work/access_key"
of_s3 secret_key >"$work/secret_key"

# The scanner, without the signatures of real viruses, which it would have to fetch.
mkdir "$work/signatures"
printf 'Eicar-Test-Signature:0:*:%s\n' "$(printf 'EICAR-STANDARD-ANTIVIRUS-TEST-FILE!' | od -An -tx1 | tr -d ' \n')" \
  >"$work/signatures/test.ndb"
cat >"$work/clamd.conf" <<END
DatabaseDirectory $work/signatures
LocalSocket $work/clamd.ctl
Foreground yes
StreamMaxLength 30M
END
start_scanner() {
  rm -f "$work/clamd.ctl"
  "$clamd" --config-file="$work/clamd.conf" >>"$work/clamd.log" 2>&1 &
  scanner_pid=$!
  pids+=("$scanner_pid")
  await 60 "clamd" test -S "$work/clamd.ctl" || die "$(tail -n 3 "$work/clamd.log")"
}
start_scanner

export CHIRRUP_ATTACHMENTS_STORAGE=s3 CHIRRUP_ATTACHMENTS_S3_ENDPOINT CHIRRUP_ATTACHMENTS_S3_BUCKET \
  CHIRRUP_ATTACHMENTS_S3_REGION=eu-central-1 CHIRRUP_ATTACHMENTS_S3_ACCESS_KEY_FILE=$work/access_key \
  CHIRRUP_ATTACHMENTS_S3_SECRET_KEY_FILE=$work/secret_key CHIRRUP_ATTACHMENTS_SCANNER=unix:$work/clamd.ctl \
  CHIRRUP_ATTACHMENTS_FOLDER=$work/attachments
CHIRRUP_ATTACHMENTS_S3_ENDPOINT=$(of_s3 endpoint)
CHIRRUP_ATTACHMENTS_S3_BUCKET=$(of_s3 bucket)
start_gateway
token operator >"$work/operator.json"
clients() {
  "$python" "$folder/attachments_storage_test.py" "$1" --url "$url" --operator "$work/operator.json" --log "$log" \
    --bucket "$CHIRRUP_ATTACHMENTS_S3_ENDPOINT" --gateway "$gateway_pid" --state "$work/state.json"
}

check "files in the bucket" clients bucket
check "images" clients images
check "viruses" clients viruses
end "$scanner_pid" TERM 20
check "without the scanner a file waits" clients waits
start_scanner
check "with it again the same upload ends" clients goes_on
check "the cleaning of images leaves no files" \
  test -z "$(find "$work/attachments" -name '*.clean' -o -name '*.thumbnail')"

# Their ids and sizes, as the export has written them from the bucket, and as the database knows them.
sql() { "$(postgres_bin)/psql" --no-psqlrc -qtA "$database" -c "$1"; }
visitor=$(sql "SELECT s.user_id FROM chat_attachments a JOIN chat_sessions s ON s.id = a.session_id
  WHERE a.state IN ('stored', 'bound') GROUP BY 1 ORDER BY count(*) DESC LIMIT 1")
sql "SELECT a.id || ' ' || a.bytes FROM chat_attachments a JOIN chat_sessions s ON s.id = a.session_id
  WHERE a.state IN ('stored', 'bound') AND s.user_id = '$visitor'" | sort >"$work/known"
check "the files of a visitor are exported" \
  "$chirrup" visitor export --workspace demo "$visitor" "${place[@]}" --files "$work/exported" >"$work/visitor.json"
find "$work/exported" -type f -printf '%f %s\n' | sed -E 's/^(.{36})-.* /\1 /' | sort >"$work/written"
check "… from the bucket, all of $(wc -l <"$work/known")" test -s "$work/known"
check "… in full length" diff "$work/known" "$work/written"

# doctor NAME STATE PATTERN
doctor() {
  "$chirrup" doctor --only attachments --listen "127.0.0.1:$port" "${place[@]}" >"$work/doctor" 2>&1 || true
  check "doctor: $1" grep --quiet --extended-regexp "^$2  attachments: .*($3)" "$work/doctor"
}
doctor "all is well" PASS "bucket .*, images are cleaned, clamd is ClamAV"
of_s3 other_secret_key >"$work/secret_key"
doctor "a wrong key" FAIL "the access key or the secret key is wrong"
of_s3 secret_key >"$work/secret_key"
CHIRRUP_ATTACHMENTS_S3_BUCKET=no-such-bucket doctor "no bucket" FAIL "the bucket does not exist"
CHIRRUP_ATTACHMENTS_S3_ENDPOINT=http://127.0.0.1:9 doctor "no server" FAIL "onnect"
CHIRRUP_ATTACHMENTS_SCANNER=unix:$work/nobody doctor "no scanner" FAIL "the scanner cannot be reached"

check "the gateway stops in good order" stop_gateway
# What its row says is removed goes with the next start's upkeep.
sql "UPDATE chat_attachments SET removed_at = removed_at - interval '1 hour' WHERE state = 'removed'" >"$work/removed"
CHIRRUP_ATTACHMENTS_SCANNER= CHIRRUP_ATTACHMENTS_SCANNER_REQUIRED=false start_gateway
check "removed files leave the bucket" clients removed
CHIRRUP_ATTACHMENTS_SCANNER=
check "the gateway stops in good order without a scanner" stop_gateway

not_logged() { ! grep --fixed-strings --file <(of_s3 secret_key; of_s3 access_key; echo X-Amz-Signature) "$log"; }
check "no key is in the log" not_logged
