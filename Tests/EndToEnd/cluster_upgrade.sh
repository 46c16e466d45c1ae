#!/usr/bin/env bash
# cluster_upgrade.sh: the private PostgreSQL moves to a newer major version with its messages, roles and privileges, by
# pg_upgrade and by a dump. It is killed with -9 at each step: the old cluster stays in use until the newer one is equal.
# The way back leads to the old one. A cluster moves through all versions one after the other, and a disk that is full
# before or in the middle costs nothing. Exit status 77 if no newer PostgreSQL can be had here.
# A small file system of its own for the full disk, which ends with this script.
if [ "$(id -u)" = 0 ] && [ -z "${UPGRADE_MOUNTS-}" ]; then UPGRADE_MOUNTS=own exec unshare --mount "$0" "$@"; fi
. "$(dirname "$0")/lib.sh"
folder=$(cd "$(dirname "$0")" && pwd)
. "$folder/postgres_versions.sh"

new_folder
start_gateway
home=$data/postgres
old=$(cat "$home/data/PG_VERSION")
newer=()
for version in 16 17 18; do
  [ "$version" -gt "$old" ] || continue
  if programs "$version" >/dev/null || install_wheel "$version"; then newer+=("$version"); fi
done
if [ ${#newer[@]} = 0 ]; then
  printf 'SKIPPED: no PostgreSQL newer than %s can be had here\n' "$old"
  exit 77
fi
new=${newer[-1]}
bin=$(programs "$new") || die "the programs of PostgreSQL $new are missing"

sql() { psql --no-psqlrc --quiet --tuples-only --no-align "$@" "postgresql:///chirrup?host=$home/run&user=chirrup"; }
upgrade() { "$chirrup" cluster upgrade --to-bin "$bin" "${place[@]}" "$@"; }
version() { cat "$home/data/PG_VERSION"; }
# exits CODE WORDS COMMAND…: ends with the code, and says the words.
exits() {
  local wanted=$1 words=$2 status=0
  shift 2
  "$@" >"$work/out" 2>&1 || status=$?
  if [ $status = "$wanted" ] && grep --quiet --fixed-strings -- "$words" "$work/out"; then return; fi
  printf 'exit %s, wanted %s and “%s”: %s\n' $status "$wanted" "$words" "$(tail -n 4 "$work/out")" >&2
  return 1
}
# digest: of everything that clients, operators and roles have.
digest() {
  sql -c "SELECT md5(string_agg(c::text, '' ORDER BY id)) FROM chats c" \
    -c "SELECT md5(string_agg(s::text, '' ORDER BY id)) FROM chat_sessions s" \
    -c "SELECT md5(string_agg(o::text, '' ORDER BY id)) FROM operators o" \
    -c "SELECT string_agg(concat_ws(' ', rolname, rolcanlogin, rolsuper, rolpassword), ',' ORDER BY rolname)
      FROM pg_authid WHERE rolname !~ '^pg_'" \
    -c 'SELECT count(*) FROM pg_policy' -c 'SELECT epoch FROM database_epoch' -c 'SELECT * FROM beside'
}
# is_same BEFORE: the digest is the same; prints the lines that differ.
is_same() { diff <(printf '%s\n' "$1") <(digest) | cut -c 1-300 >&2; }
# start_on FOLDER: a gateway, with this folder in its PATH.
start_on() { PATH=$1:$PATH start_gateway; }
all_stored() {
  local count
  count=$(sql -c "SELECT count(*) FROM chats WHERE id::text IN ($(sed -n "s/.*\"id\": \"\([^\"]*\)\".*/'\1'/p" "$1" |
    paste -sd,))")
  [ "$count" = "$(wc -l <"$1")" ]
}

visitor=$(token visitor)
# write LEDGER: a visitor's messages, until ten are acknowledged.
write() {
  : >"$1"
  "$python" "$folder/backup_client.py" write "${url/http/ws}/api/v1/ws" "$visitor" "$1" 2>"$work/client.err" &
  local client=$!
  pids+=("$client")
  await 60 "acks" has_ten "$1" || tail -n 3 "$work/client.err" >&2
  kill -TERM "$client"
  wait "$client"
}
has_ten() { [ "$(wc -l <"$1")" -ge 10 ]; }
check "messages are acknowledged by PostgreSQL $old" write "$work/before"
sql -c "CREATE ROLE ana LOGIN PASSWORD 'secret' IN ROLE chirrup_reader" \
  -c 'CREATE TABLE beside AS SELECT 7 AS number; GRANT SELECT ON beside TO ana' \
  -c "ALTER SYSTEM SET work_mem = '5MB'"
before=$(digest)
check "beside a gateway it is refused" exits 1 "(process $gateway_pid)" upgrade --yes
check "the gateway stops with status 0" stop_gateway
check "without --yes it says what it would do" exits 1 "PostgreSQL $old to $new with pg_upgrade" upgrade
check "an older server is no upgrade" exits 1 "install a newer one" \
  "$chirrup" cluster upgrade "${place[@]}" --to-bin "$(programs "$old")"

# kill_at WORDS: kills it with -9 as soon as it has said them.
kill_at() {
  "$chirrup" cluster upgrade --to-bin "$bin" "${place[@]}" --yes >"$work/killed" 2>&1 &
  local pid=$!
  pids+=("$pid")
  await 60 "“$1”" grep --quiet --fixed-strings "$1" "$work/killed" || return 1
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null || true
  [ "$(version)" = "$old" ]
}
check "killed while it creates the new cluster, the old one stays" kill_at "creating a cluster of PostgreSQL $new"
check "killed while pg_upgrade runs, too" kill_at 'running pg_upgrade'
start_on "$(programs "$old")"
check "a gateway starts on the old cluster" is_same "$before"
check "... and stops" stop_gateway
check "the way back only removes what it has written" exits 0 "is that of PostgreSQL $old" upgrade --revert --yes
check "... all of it" test ! -e "$home/data.upgrade"
check "killed while it compares, too" kill_at "reading the cluster of PostgreSQL $new"
begin=$SECONDS
check "the next run says so, and completes it" exits 0 'an earlier upgrade was interrupted' upgrade --yes
pass "the upgrade of $(du --summarize --human-readable "$home/data" | cut -f 1) took $((SECONDS - begin)) s"
check "... to PostgreSQL $new" test "$(version)" = "$new"
check "the old cluster is kept" test "$(cat "$home/data.$old/PG_VERSION")" = "$old"
left() { find "$home" -maxdepth 1 -name '*.upgrade' -o -maxdepth 1 -name '*.dump' -o -maxdepth 1 -name '*.sh'; }
check "nothing else is left" test -z "$(left)"

mv "$home/data" "$home/data.upgrade"
check "no gateway starts between the two renames" exits 1 'was interrupted; run chirrup cluster upgrade' \
  env PATH="$bin:$PATH" timeout 60 "$chirrup" serve --listen "127.0.0.1:$port" "${place[@]}"
check "the next run does the second one" exits 0 'had ended before the last step' upgrade --yes

: >"$log"
start_on "$bin"
check "messages, accounts, roles and the epoch are the same" is_same "$before"
check "each acknowledged message is stored" all_stored "$work/before"
check "the settings have come along" test "$(sql -c 'SHOW work_mem')" = 5MB
check "clients need not discard their copies" bash -c "! grep --quiet 'restored or promoted' '$log'"
check "the schema is that of Chirrup" exits 0 'PASS' "$chirrup" migrate verify "${place[@]}"
check "messages are acknowledged by PostgreSQL $new" write "$work/after"
check "... and stored" all_stored "$work/after"
check "the gateway stops with status 0" stop_gateway

check "the way back says what is lost, and waits for --yes" exits 1 'stays in the newer cluster only' upgrade --revert
check "the way back" exits 0 "is that of PostgreSQL $old" upgrade --revert --yes
start_on "$(programs "$old")"
without_epoch() { sed 6d <<<"$1"; }
check "everything is as it was before the upgrade" test "$(without_epoch "$(digest)")" = "$(without_epoch "$before")"
check "... with another epoch: clients discard newer messages" test "$(digest)" != "$before"
before=$(digest)
check "the gateway stops with status 0" stop_gateway
check "the newer cluster is kept" test "$(cat "$home/data.$new.reverted/PG_VERSION")" = "$new"

check "with a dump" exits 0 'the cluster was upgraded' upgrade --method dump --yes
start_on "$bin"
check "... everything is the same" is_same "$before"
check "... and verify passes" exits 0 'PASS' "$chirrup" migrate verify "${place[@]}"
check "the gateway stops with status 0" stop_gateway

# The life of a cluster: each version in turn, as target and then as source.
rm -rf "$data"
start_gateway
visitor=$(token visitor)
check "messages for a long way" write "$work/long"
sql -c 'CREATE TABLE beside AS SELECT 7 AS number'
before=$(digest)
check "the gateway stops with status 0" stop_gateway
from=$old
for version in "${newer[@]}"; do
  check "from $from to $version with pg_upgrade" exits 0 'the cluster was upgraded' \
    upgrade --from-bin "$(programs "$from")" --to-bin "$(programs "$version")" --method pg_upgrade --yes
  start_on "$(programs "$version")"
  check "... everything is the same" is_same "$before"
  check "... and verify passes" exits 0 'PASS' "$chirrup" migrate verify "${place[@]}"
  check "... and messages are acknowledged" write "$work/in.$version"
  cat "$work/in.$version" >>"$work/long"
  check "... and stored, as the first ones" all_stored "$work/long"
  before=$(digest)
  check "the gateway stops with status 0" stop_gateway
  from=$version
done
pass "tried: PostgreSQL $old to ${newer[*]}"

if [ "$(id -u)" != 0 ]; then
  printf 'NOT TESTED: a full disk, which needs a file system of its own and so root\n'
  exit $failures
fi
small=$work/small
mkdir "$small"
mount -t tmpfs -o size=320m,mode=755 tmpfs "$small"
end_small() {
  local status=$?
  for pid in "${pids[@]}"; do end "$pid" TERM 20; done
  umount --lazy "$small" 2>/dev/null || true
  (exit $status)
  clean_up
}
trap end_small EXIT
data=$small/data
home=$data/postgres
place=(--data-dir "$data")
start_on "$(programs "$old")"
visitor=$(token visitor)
check "messages on a small disk" write "$work/small.before"
sql -c 'CREATE TABLE beside AS SELECT 7 AS number'
before=$(digest)
check "the gateway stops with status 0" stop_gateway
files() { find "$home" -path "$home/run" -prune -o -type f -printf '%P %s %T@\n' | sort; }
free_mebibytes() { df --output=avail --block-size=1M "$small" | tail -n 1 | tr -d ' '; }
# fill MEBIBYTES: leaves so much room, or less if the upgrade takes it meanwhile.
fill() {
  dd if=/dev/zero of="$small/filler" bs=1M count=$(($(free_mebibytes) - $1)) status=none 2>/dev/null || true
}
is_untouched() { diff <(printf '%s\n' "$1") <(files); }

# The programs of the newer version, of which one waits until the disk is full.
held=$work/held
# hold PROGRAM
hold() {
  rm -rf "$held"
  mkdir -m 755 "$held"
  ln --symbolic "$bin"/* "$held"
  rm "$held/$1"
  printf '#!/bin/sh\nuntil [ -e "%s" ]; do sleep 0.1; done\nexec "%s" "$@"\n' "$held/full" "$bin/$1" >"$held/$1"
  chmod 755 "$held/$1"
}

# fills METHOD WORDS PROGRAM MEBIBYTES: it says the words, and its program begins when the disk has only so much room left.
fills() {
  local method=$1 words=$2 room=$4 status=0 said=$work/full.$1.$4
  hold "$3"
  "$chirrup" cluster upgrade --to-bin "$held" "${place[@]}" --method "$method" --yes >"$said" 2>&1 &
  pid=$!
  pids+=("$pid")
  check "$method, “$words”: it begins with enough room" await 60 "the words" \
    grep --quiet --fixed-strings "$words" "$said"
  # Something else fills the disk.
  fill "$room"
  : >"$held/full"
  wait "$pid" || status=$?
  check "... and ends when the disk is full" test $status = 1
  check "... saying so" grep --quiet --fixed-strings 'No space left on device' "$said"
  grep --fixed-strings 'No space left on device' "$said" | head -n 1 | cut -c 1-300
  check "... the old cluster is in use" test "$(version)" = "$old"
  check "... and the files of the newer one are gone" test -z "$(left)"
  start_on "$(programs "$old")"
  check "... a gateway starts on it beside the full disk" is_same "$before"
  check "... and messages are acknowledged" write "$work/small.$method.$room"
  check "... and stored" all_stored "$work/small.$method.$room"
  before=$(digest)
  check "the gateway stops with status 0" stop_gateway
  rm "$small/filler"
}

for method in pg_upgrade dump; do
  fill 100
  untouched=$(files)
  check "$method: too little room is noticed beforehand" exits 1 'free some' upgrade --method "$method" --yes
  check "... with the figures" grep --quiet --extended-regexp '[0-9]+ MiB.* free' "$work/out"
  check "... and nothing was written" is_untouched "$untouched"
  rm "$small/filler"
  # In initdb, and in what follows it.
  fills "$method" "reading the cluster of PostgreSQL $old" initdb 16
  fills "$method" "running ${method/dump/pg_restore}" "${method/dump/pg_restore}" 1
done
check "with room again, the upgrade is completed" exits 0 'the cluster was upgraded' upgrade --yes
start_on "$bin"
check "... with everything" is_same "$before"
check "the gateway stops with status 0" stop_gateway
