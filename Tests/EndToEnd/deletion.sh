#!/usr/bin/env bash
# Conversations are titled, deleted and restored, and follow events are shown: console, widget and command line, in a
# real Chromium, with PostgreSQL as the witness. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
# Empty means playwright's own browser.
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}

new_folder
create_cluster
create_login "$database"
place=(--database-url "${database/chirrup@/chirrup_app@}")
CHIRRUP_MIGRATIONS_URL=$database start_gateway
check "deletion in a browser" \
  "$python" "$folder/deletion_test.py" --base-url "$url" --database "$database" --psql "$(postgres_bin)/psql" \
  --operator-token "$(token operator)" ${SHOTS:+--shots "$SHOTS"}

# one SQL: a single value.
one() { "$(postgres_bin)/psql" --no-psqlrc -qtA "$database" -c "$1"; }
session=$(one "SELECT id FROM chat_sessions WHERE deleted_at IS NULL AND last_seq > 0 ORDER BY created_at LIMIT 1")
check "the command line deletes" "$chirrup" conversations delete "${place[@]}" --workspace demo "$session"
check "PostgreSQL has it as deleted by the command line" \
  test "$(one "SELECT deleted_via FROM chat_sessions WHERE id = '$session'")" = command
check "the list of deleted conversations has it" \
  bash -c "$(printf '%q ' "$chirrup" conversations list "${place[@]}" --workspace demo --deleted) | grep -q '$session'"
check "the command line restores" "$chirrup" conversations restore "${place[@]}" --workspace demo "$session"
check "the command line sets a title" "$chirrup" conversations title "${place[@]}" --workspace demo "$session" "From here"
check "PostgreSQL has the title" test "$(one "SELECT title FROM chat_sessions WHERE id = '$session'")" = "From here"
check "the command line deletes again" "$chirrup" conversations delete "${place[@]}" --workspace demo "$session"
one "UPDATE chat_sessions SET deleted_at = now() - interval '400 days' WHERE id = '$session'"
is_erased() { test "$(one "SELECT (SELECT count(*) FROM chat_sessions WHERE id = '$session')
  + (SELECT count(*) FROM chats WHERE session_id = '$session')")" = 0; }
check "the gateway erases it after its deadline, with its messages" await 90 "the erasure" is_erased
check "PostgreSQL refused the gateway's login nothing" is_unrefused
check "the gateway stops in good order afterwards" stop_gateway
