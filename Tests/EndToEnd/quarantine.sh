#!/usr/bin/env bash
# Messages that PostgreSQL refuses: their senders get an error, the conversation continues, an administrator finds them in
# quarantine and brings them back.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")

new_folder
create_cluster
create_login "$database"
# A login that owns nothing, as is recommended.
place=(--database-url "${database/chirrup@/chirrup_app@}")
CHIRRUP_MIGRATIONS_URL=$database start_gateway
sql() { psql --no-psqlrc --quiet --tuples-only --no-align "$@" "$database"; }
# exits CODE COMMAND…
exits() {
  local wanted=$1 status=0
  shift
  "$@" >"$work/out" 2>"$work/err" || status=$?
  [ $status = "$wanted" ] || { tail -n 3 "$work/out" "$work/err" >&2; return 1; }
}
quarantine() { "$chirrup" quarantine "$@" "${place[@]}"; }
kept() { [ "$(sql -c 'SELECT count(*) FROM quarantine')" = "$1" ]; }
counted() { has_metric "$url" "^chirrup_quarantined_total{.*} $1\$"; }

sql -c "ALTER TABLE chats ADD CONSTRAINT words CHECK (content NOT LIKE '%forbidden%')"
check "list of an empty quarantine: 0" exits 0 quarantine list --json
check "three of a conversation's messages are rejected, the others stored in order" \
  "$python" "$folder/client_poison.py" "ws://127.0.0.1:$port/api/v1/ws" "$(token visitor)" "$work/ids"
check "they are in quarantine" await 10 "three rows" kept 3
check "… and PostgreSQL refused the gateway nothing" is_unrefused
check "… and counted" await 10 "the counter" counted 3
is_shown() { has_metric "$url" '^chirrup_quarantine_messages 3$'; }
check "… also those that are there" await 60 "the number in /metrics" is_shown
first=$(head -n 1 "$work/ids")
check "list prints them" exits 0 quarantine list --json
check "… one object a line, without the text" \
  test "$(grep -c '"sqlstate":"23514"' "$work/out")-$(grep -c forbidden "$work/out")" = 3-0
check "show prints the text and the reason" exits 0 quarantine show "$first" --json
check "… of this message" grep -q '"body":"forbidden 1".*' "$work/out"
check "release while the reason persists: 1" exits 1 quarantine release "$first"
check "… and prints the reason" grep -q 'refused again: .*violates check constraint' "$work/out"
check "an unknown id: 1" exits 1 quarantine show 01900000-0000-7000-8000-000000000001
check "release without ids: 64" exits 64 quarantine release
check "an unreachable database: 4" exits 4 "$chirrup" quarantine list --database-url "postgresql://x@/y?host=$work/no"
sql -c "ALTER TABLE chats DROP CONSTRAINT words"
check "release after the repair: 0" exits 0 quarantine release --all --workspace demo --json
check "… all of them" test "$(grep -c '"released":true' "$work/out")" = 3
check "… in their order, at the end of the log, under their ids" test "$(sql -c 'SELECT id FROM chats
  ORDER BY session_id, seq' | tail -n 3)" = "$(cat "$work/ids")"
check "quarantine is empty" kept 0
check "the audit log has them" \
  test "$(sql -c "SELECT count(*) FROM audit_log WHERE action = 'quarantine.released'")" = 3
sql -c "INSERT INTO quarantine (workspace_id, message_id, session_id, role, kind, sqlstate, reason)
  SELECT id, gen_random_uuid(), gen_random_uuid(), 'visitor', 'text', '22021', 'x' FROM workspaces"
check "purge without --yes changes nothing" exits 0 quarantine purge
check "… nothing" kept 1
check "purge --yes" exits 0 quarantine purge --yes
check "… everything" kept 0
check "the gateway then stops with status 0" stop_gateway
