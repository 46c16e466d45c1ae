#!/usr/bin/env bash
# roles.sh: a gateway whose login owns nothing: every part of it and every command works, no connection is the owner's,
# and `serve` warns if one is. The private PostgreSQL has the same roles without configuration.
. "$(dirname "$0")/lib.sh"

sql() { psql --no-psqlrc --quiet --tuples-only --no-align "$owner" --command "$1"; }
# users: who is connected to the database besides this function. Only a superuser sees the sessions of others.
users() { psql --no-psqlrc --quiet --tuples-only --no-align "$database" --command "SELECT string_agg(DISTINCT usename, ' ')
  FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND backend_type = 'client backend'"; }
quietly() { "$@" >"$work/out" 2>&1 || { tail -n 3 "$work/out" >&2; return 1; }; }

new_folder
create_cluster
create_login "$database"
psql --no-psqlrc --quiet --command 'CREATE ROLE chirrup_owner LOGIN IN ROLE chirrup_gateway;
  GRANT CREATE ON SCHEMA public TO chirrup_owner; GRANT CREATE ON DATABASE postgres TO chirrup_owner' "$database"
owner=${database/chirrup@/chirrup_owner@}
place=(--database-url "${database/chirrup@/chirrup_app@}")

status=0
"$chirrup" serve --listen "127.0.0.1:$port" "${place[@]}" >"$work/refused" 2>&1 || status=$?
check "serve without the owner refuses an empty database" test $status = 1
check "… and says what to set" grep -q 'set migrations_url' "$work/refused"
CHIRRUP_MIGRATIONS_URL=$owner start_gateway
unwarned() { ! grep -q "warning: the gateway logs in as" "$log"; }
check "with migrations_url it starts, without a warning" unwarned

check "a load keeps every promise" quietly "$chirrup_load" chat --url "ws://127.0.0.1:$port" --chirrup "$chirrup" "${place[@]}" \
  --visitors 40 --operators 4 --rate 200 --seconds 6 --operator-share 0.2
check "all connections are those of the login" test "$(users)" = chirrup_app
check "messages are stored" test "$(sql 'SELECT count(*) > 500 FROM chats')" = t

check "chirrup workspace create" quietly "$chirrup" workspace create shop "${place[@]}"
check "chirrup operator create" quietly "$chirrup" operator create --workspace shop --email a@example.org --name A \
  --password 'correct horse battery' "${place[@]}"
check "chirrup operator disable" quietly "$chirrup" operator disable --email a@example.org "${place[@]}"
check "chirrup token visitor" quietly token visitor 2
check "chirrup analytics count" quietly "$chirrup" analytics count "${place[@]}"
check "chirrup analytics recompute" quietly "$chirrup" analytics recompute "${place[@]}"
check "chirrup quarantine purge" quietly "$chirrup" quarantine purge --yes "${place[@]}"
fails() { ! "$@"; }
check "chirrup audit prune, not as the gateway" fails "$chirrup" audit prune --days 1 --yes "${place[@]}" 2>"$work/out"
check "… says what to set" grep --quiet 'set migrations_url' "$work/out"
sql "INSERT INTO audit_log (workspace_id, actor, action, created_at)
  SELECT id, 'rule', 'login.failed', now() - interval '9 days' FROM workspaces"
check "chirrup audit prune, as the owner" quietly env CHIRRUP_MIGRATIONS_URL="$owner" "$chirrup" audit prune --days 7 --yes \
  "${place[@]}"
check "… everything" test "$(sql "SELECT count(*) FROM audit_log WHERE created_at < now() - interval '7 days'")" = 0
check "chirrup epoch --renew" quietly "$chirrup" epoch --renew "${place[@]}"
check "chirrup demo-data, as the owner" quietly env CHIRRUP_MIGRATIONS_URL="$owner" "$chirrup" demo-data \
  --conversations 40 "${place[@]}"
visitor=$(sql "SELECT user_id FROM chat_sessions WHERE last_seq > 0 AND user_id IS NOT NULL LIMIT 1")
check "chirrup visitor export" quietly "$chirrup" visitor export --workspace demo "$visitor" "${place[@]}"
conversation=$(sql "SELECT id FROM chat_sessions WHERE last_seq > 0 LIMIT 1")
for step in "list" "title $conversation Lamp" "delete $conversation" "list --deleted" "restore $conversation"; do
  read -r verb rest <<<"$step"
  # shellcheck disable=SC2086
  check "chirrup conversations $verb" quietly "$chirrup" conversations "$verb" --workspace demo $rest "${place[@]}"
done
check "chirrup visitor erase" quietly "$chirrup" visitor erase --workspace demo "$visitor" --yes "${place[@]}"
check "… everything" test "$(sql "SELECT count(*) FROM visitors WHERE id = '$visitor'")" = 0
sql "UPDATE chat_sessions SET status = 'closed', closed_at = now() - interval '9 days',
  created_at = now() - interval '9 days', last_message_at = now() - interval '9 days'"
check "chirrup retention" quietly "$chirrup" retention --days 7 --yes "${place[@]}"
check "… everything" test "$(sql 'SELECT count(*) FROM chats')" = 0
check "PostgreSQL refused nothing" is_unrefused

# The same by the gateway itself: it becomes the owner for the audit log only.
check "the gateway stops in good order" stop_gateway
log=$work/upkeep.log
status=0
CHIRRUP_MAINTENANCE_AUDIT_DAYS=7 "$chirrup" serve --listen "127.0.0.1:$port" "${place[@]}" >"$work/refused" 2>&1 || status=$?
check "serve with audit_days and without the owner is refused" test $status = 1
check "… and says what to set" grep -q 'maintenance.audit_days: .*migrations_url' "$work/refused"
check "chirrup demo-data again" quietly env CHIRRUP_MIGRATIONS_URL="$owner" "$chirrup" demo-data \
  --conversations 40 "${place[@]}"
sql "UPDATE chat_sessions SET status = 'closed', closed_at = now() - interval '9 days',
  created_at = now() - interval '9 days', last_message_at = now() - interval '9 days'"
sql "INSERT INTO audit_log (workspace_id, actor, action, created_at)
  SELECT id, 'rule', 'login.failed', now() - interval '9 days' FROM workspaces"
CHIRRUP_MAINTENANCE_AUDIT_DAYS=7 CHIRRUP_MAINTENANCE_CONVERSATION_DAYS=7 CHIRRUP_MIGRATIONS_URL=$owner start_gateway
is_removed() { [ "$(sql "SELECT (SELECT count(*) FROM chat_sessions)
  + (SELECT count(*) FROM audit_log WHERE created_at < now() - interval '7 days')")" = 0 ]; }
check "upkeep removes old conversations and entries of the audit log" await 60 "the upkeep" is_removed
has_left() { [ "$(users)" = chirrup_app ]; }
check "… and the owner's connection ends with it" await 30 "the end of the owner's connection" has_left
check "PostgreSQL refused nothing" is_unrefused

psql --no-psqlrc --quiet --command 'CREATE ROLE stranger LOGIN' "$database"
status=0
"$chirrup" serve --listen "127.0.0.1:$port" --database-url "${database/chirrup@/stranger@}" >"$work/refused" 2>&1 || status=$?
check "serve as a login without the gateway's role is refused" test $status = 1
check "… with the statement that grants it" grep -q 'GRANT chirrup_gateway TO stranger' "$work/refused"
check "verify passes" quietly env CHIRRUP_MIGRATIONS_URL="$owner" "$chirrup" migrate verify "${place[@]}"
check "the gateway stops in good order" stop_gateway

log=$work/owner.log
place=(--database-url "$owner")
start_gateway
check "as the owner it starts, and warns" \
  grep -q 'warning: the gateway logs in as chirrup_owner, which owns the tables.*IN ROLE chirrup_gateway' "$log"
check "the gateway stops in good order" stop_gateway
check "pg_dump of the owner saves all rows" sh -c "pg_dump --enable-row-security '$owner' | grep -q 'shop'"
check "down removes everything" quietly "$chirrup" migrate down --to none --yes "${place[@]}"
check "… every table" test "$(sql "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace")" = 0

log=$work/private.log
place=(--data-dir "$data")
start_gateway
database="postgresql://chirrup@/chirrup?host=$data/postgres/run"
check "the private PostgreSQL has the gateway's role" test "$(users)" = chirrup_gateway
check "… and a command uses it" quietly token visitor
check "… without a warning" unwarned
check "the gateway stops in good order" stop_gateway
