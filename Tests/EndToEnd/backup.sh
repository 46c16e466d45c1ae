#!/usr/bin/env bash
# Backup and restore of the private PostgreSQL beside a load: messages that were acknowledged before the time that the
# backup prints are in it; those after it are lost by the restore, and a client that has them gets `resync` under another
# epoch. A backup that was killed is never complete, and no restore takes it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/background_load.sh"
folder=$(cd "$(dirname "$0")" && pwd)

new_folder
backups=$work/backups
CHIRRUP_CREDENTIALS_KEY=$(head -c 33 /dev/urandom | base64)
export CHIRRUP_CREDENTIALS_KEY
start_gateway
start_load "$port" --visitors 40 --operators 2 --rate 60 --seconds 900
await_acks 100
visitor=$(token visitor)
ledger=$work/ledger
"$python" "$folder/backup_client.py" write "${url/http/ws}/api/v1/ws" "$visitor" "$ledger" 2>"$work/client.err" &
client_pid=$!
pids+=("$client_pid")
has_acks() { [ "$(wc -l <"$ledger")" -ge "$1" ]; }
check "a visitor's messages are acknowledged" await 60 "acks" has_acks 10

backup() { "$chirrup" backup "$backups" "${place[@]}" "$@"; }
# result MEMBER FILE: of the last object in the file.
result() { grep '^{' "$2" | tail -n 1 | "$python" -c 'import json, sys
print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
fails_with() {
  local words=$1
  shift
  ! "$@" >"$work/refused" 2>&1 && grep --quiet --fixed-strings -- "$words" "$work/refused" && return
  cat "$work/refused" >&2
  return 1
}
folders() { find "$backups" -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort; }

check "a backup beside the load" backup --json >"$work/backup.json"
cat "$work/backup.json"
first=$(result backup "$work/backup.json")
check "… is verified" test "$(result verified "$work/backup.json")" = True
check "… says that its secrets are encrypted" test "$(result secrets "$work/backup.json")" = sealed
check "… and has the name of a complete one" test "$(folders)" = "$(basename "$first")"
open_files() { find "$backups" -perm /077; }
check "only its owner may read it" test -z "$(open_files)"
now=$(wc -l <"$ledger")
check "messages go on after it" await 60 "acks" has_acks $((now + 10))
kill -TERM "$client_pid"
wait "$client_pid" || fail "the visitor: $(tail -n 1 "$work/client.err")"

restore() { "$chirrup" restore "$1" --data-dir "$2" "${@:3}"; }
check "it is restored" restore "$first" "$work/restored" --json >"$work/restore.json"
cat "$work/restore.json"
for member in messages conversations secrets; do
  check "… with the $member of the backup" \
    test "$(result $member "$work/restore.json")" = "$(result $member "$work/backup.json")"
done
check "a folder with a database is not overwritten" fails_with "is not empty" restore "$first" "$work/restored"
check "another restore has another epoch" restore "$first" "$work/again" --json >"$work/again.json"
check "… of its own" test "$(result epoch "$work/restore.json")" != "$(result epoch "$work/again.json")"
cp --archive "$first" "$work/damaged"
file=$(find "$work/damaged/base" -type f -size +64k | sort | head -n 1)
printf x | dd of="$file" bs=1 seek=9000 conv=notrunc status=none
check "a backup with one changed byte is refused" \
  fails_with "checksum mismatch" restore "$work/damaged" "$work/damaged.restored"

# At 1 MiB a second it takes half a minute.
"$chirrup" backup "$backups" "${place[@]}" --max-rate 1 >"$work/slow" 2>&1 &
slow=$!
pids+=("$slow")
is_copying() { grep --quiet 'streaming database files: [1-9]' "$work/slow"; }
check "a slow backup is running" await 60 "its progress" is_copying
check "another one at the same time is refused" fails_with "another backup (process $slow)" backup
copier=$(pgrep --parent "$slow" | head -n 1)
kill -KILL "$slow"
wait "$slow" 2>/dev/null || true
check "killed, its pg_basebackup ends with it" await 30 "the end" process_is_gone "$copier"
half=$backups/$(folders | grep 'unfinished$')
check "… it is no complete backup" test -d "$half/data"
check "… no restore takes it" fails_with "is not a complete backup" restore "$half/data" "$work/half"
check "… nor its folder" fails_with "is not a complete backup" restore "$half" "$work/half"
check "the next backup removes it, and with --keep the old one" backup --keep 1 --no-verify
check "… so one is left" test "$(folders | wc -l)" = 1
check "… and it is not the first" test ! -e "$first"

end_load
conclude "the load beside the backups"
check "the gateway stops with status 0" stop_gateway

# The restored database takes the place of the first.
data=$work/restored
place=(--data-dir "$data")
start_gateway
check "clients of the lost messages get resync, and the log has no hole and no twin" \
  "$python" "$folder/backup_client.py" return "${url/http/ws}/api/v1/ws" "$visitor" "$ledger" \
  "$(result contains_before "$work/backup.json")"
check "the gateway on the restored database stops with status 0" stop_gateway
