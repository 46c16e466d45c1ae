#!/usr/bin/env bash
# Attachments: the API with hostile names, contents and callers; then a thousand uploads at once, kill -9 in the middle,
# and every acknowledged file compared by its SHA-256. In the end the sweep leaves no file without a row and no row
# without a file.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")

new_folder
create_cluster
create_login "$database"
place=(--database-url "${database/chirrup@/chirrup_app@}")
files=$work/attachments
# Images are compared with what was sent; attachments_storage.sh looks at their cleaning.
export CHIRRUP_MIGRATIONS_URL=$database CHIRRUP_ATTACHMENTS_FOLDER=$files CHIRRUP_ATTACHMENTS_CLEAN_IMAGES=false
start_gateway
token operator >"$work/operator.json"

# one SQL: a single value.
one() { "$(postgres_bin)/psql" --no-psqlrc -qtA "$database" -c "$1"; }
clients() {
  "$python" "$folder/attachments_$1.py" "${@:2}" --url "$url" --operator "$work/operator.json" --log "$log"
}
# count FOLDER: the files below it.
count() { find "$files/$1" -type f 2>/dev/null | wc -l; }

check "the contract" clients test
check "uploads and files are readable by the gateway only" \
  test -z "$(find "$files" -perm /077)"

check "a thousand uploads until the kill" clients storm storm --gateway "$gateway_pid" --state "$work/state.json" \
  --visitors "${VISITORS:-100}" --kill-after "${KILL_AFTER:-1500}"
await 30 "the end of the gateway" process_is_gone "$gateway_pid" || die "the gateway survives"
start_gateway
check "the uploads go on" clients storm resume --state "$work/state.json" --visitors "${VISITORS:-100}"

# What a crash can leave: a message that was never committed, files without a row, rows without a conversation.
one "UPDATE chat_attachments SET message_id = gen_random_uuid(), state = 'bound', bound_at = now() - interval '2 days'
  WHERE id = (SELECT id FROM chat_attachments WHERE state = 'stored' LIMIT 1)"
one "UPDATE chat_attachments SET created_at = now() - interval '2 days', stored_at = stored_at - interval '2 days',
  bound_at = bound_at - interval '2 days'"
gone=$(one "SELECT session_id FROM chat_attachments WHERE state = 'bound' ORDER BY created_at LIMIT 1")
one "DELETE FROM chat_sessions WHERE id = '$gone'"
workspace=$(one "SELECT id FROM workspaces WHERE name = 'demo'")
orphan=$files/stored/$workspace/00000000-0000-4000-8000-000000000001
part=$files/uploads/$workspace.00000000-0000-4000-8000-000000000002.part
echo orphan >"$orphan"
echo orphan >"$part"
echo "not ours" >"$files/stored/readme.txt"
find "$files" -type f -exec touch --date '2 days ago' {} +
check "the gateway stops in good order" stop_gateway
start_gateway
is_swept() { [ ! -e "$orphan" ] && [ ! -e "$part" ] && [ "$(one "$unsent")" = 0 ]; }
unsent="SELECT count(*) FROM chat_attachments a WHERE state IN ('uploading', 'stored', 'removed')
  AND removed_at IS DISTINCT FROM NULL AND removed_at < now() - interval '1 minute'"
one "UPDATE chat_attachments SET removed_at = removed_at - interval '1 hour' WHERE state = 'removed'"
check "the sweep removes what is past its time" await 120 "the sweep" is_swept
one "UPDATE chat_attachments SET removed_at = removed_at - interval '1 hour' WHERE state = 'removed'"
stop_gateway
start_gateway
is_even() {
  [ "$(one "SELECT count(*) FROM chat_attachments WHERE state <> 'bound'")" = 0 ] &&
    [ "$(one "SELECT workspace_id || '/' || id FROM chat_attachments ORDER BY 1")" = \
      "$(cd "$files/stored" && find . -type f -path './*/*' | sed 's|^\./||' | LC_ALL=C sort)" ] &&
    [ "$(count uploads)" = 0 ]
}
check "no file without a row, and no row without a file" await 120 "the sweep" is_even
check "files that are not ours stay" test -e "$files/stored/readme.txt"
check "attachments of conversations that were removed are gone" \
  test "$(one "SELECT count(*) FROM chat_attachments WHERE session_id = '$gone'")" = 0
check "the totals are those of the rows" test "$(one "SELECT bool_and(t.bytes = s.bytes AND t.running = 0)
  FROM chat_attachment_totals t JOIN (SELECT workspace_id, sum(bytes) AS bytes FROM chat_attachments GROUP BY 1) AS s
  USING (workspace_id)")" = t
check "PostgreSQL refused the gateway's login nothing" is_unrefused
check "the gateway stops in good order afterwards" stop_gateway

[ $failures = 0 ]
