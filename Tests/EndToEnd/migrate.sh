#!/usr/bin/env bash
# migrate.sh [ROWS]: the older workspace chat moves in through the real binary, killed with -9 in the middle, while
# the old application reads. Then what scripts rely on: exit codes, JSON, and the refusal of a newer schema.
. "$(dirname "$0")/lib.sh"

rows=${1:-100000}
new_folder
create_cluster
sql() { psql --no-psqlrc --quiet --tuples-only --no-align "$@" "$database"; }
migrate() { "$chirrup" migrate "$@" "${place[@]}"; }
# exits CODE COMMAND…
exits() {
  local wanted=$1 status=0
  shift
  "$@" >"$work/out" 2>"$work/err" || status=$?
  if [ $status = "$wanted" ]; then return; fi
  printf 'exit %s and not %s: %s\n' $status "$wanted" "$(tail -n 3 "$work/err")" >&2
  return 1
}

sql -v rows="$rows" -f "$root/Tests/Fixtures/legacy/workspace_chat.sql" >/dev/null
check "plan exits with 2: a migration is pending" exits 2 migrate plan
check "status exits with 2" exits 2 migrate status --json
check "an unreachable database: 4" exits 4 "$chirrup" migrate status --database-url "postgresql://x@/y?host=$work/no"

# Reads during the move; the file has the longest wait of each reader.
read_on() {
  while [ -e "$work/reading" ]; do
    sql -c '\timing on' -c "SELECT count(*) FROM (SELECT id, role, content, created_at FROM chats
      WHERE workspace_id = '10000000-0000-4000-8000-000000000004' ORDER BY created_at) AS old"
  done >"$work/reads" 2>&1
}
touch "$work/reading"
read_on &
pids+=($!)
"$chirrup" migrate up "${place[@]}" >"$work/up" 2>&1 &
mover=$!
pids+=("$mover")
await 120 "the move to begin" grep -q "of $((rows + 55)) rows" "$work/up"
kill -KILL "$mover" 2>/dev/null && pass "kill -9 in the middle of the move" || pass "the move was over before it could be killed"
wait "$mover" 2>/dev/null || true
moved=$(sql -c 'SELECT count(*) FROM chats WHERE session_id IS NOT NULL')
pass "$moved of $((rows + 55)) rows had moved"
check "a second up completes it" exits 0 migrate up
pass "the rest: $(grep " rows, " "$work/err" | tail -n 1)"
rm "$work/reading"
slowest=$(grep -Eo '[0-9.]+ ms' "$work/reads" | sort -n | tail -n 1)
pass "the slowest of $(grep -c ' ms' "$work/reads") reads beside it took $slowest"
check "verify passes" exits 0 migrate verify
check "no row is lost" test "$(sql -c 'SELECT count(*) FROM chats')" = $((rows + 55))
check "a second up has nothing to do" exits 0 migrate up
check "plan exits with 0" exits 0 migrate plan
check "down without --yes changes nothing: 1" exits 1 migrate down --to none
sql -c 'UPDATE chats SET seq = seq + 900000
  WHERE id = (SELECT id FROM chats WHERE seq = 3 LIMIT 1)' >/dev/null
check "verify fails with 1" exits 1 migrate verify
sql -c 'UPDATE chats SET seq = seq - 900000 WHERE seq > 900000' >/dev/null

sql -c "INSERT INTO chirrup_migrations VALUES ('20991231_newer', 'x', now(), 1)" >/dev/null
check "an older binary on a newer schema: up exits with 3" exits 3 migrate up
check "... and prints the reason" grep -q 'migrated by a newer chirrup' "$work/err"
check "... and serve refuses it too" exits 3 timeout 60 "$chirrup" serve --listen "127.0.0.1:$port" "${place[@]}"
check "... with the same reason" grep -q 'migrated by a newer chirrup' "$work/err"
sql -c "DELETE FROM chirrup_migrations WHERE revision = '20991231_newer'" >/dev/null

mkdir "$work/files"
printf -- '-- a\n-- parent: none\n-- down\n' >"$work/files/20260101_a.sql"
printf -- '-- b\n-- parent: 20269999_lost\n-- down\n' >"$work/files/20260102_b.sql"
check "check finds an orphan: 1" exits 1 "$chirrup" migrate check --folder "$work/files"
check "check of the built-in migrations: 0" exits 0 "$chirrup" migrate check
check "check of a folder that is missing: 1" exits 1 "$chirrup" migrate check --folder "$work/no" --json
is_json() { "$python" -c 'import json, sys; [json.loads(line) for line in sys.stdin]' <"$work/out"; }
check "... as a line of JSON" is_json
check "... with the exit code" grep -q '"exit_code":1' "$work/out"

# Each line of each command is one object.
for command in plan status verify repair finish up; do
  check "$command --json: 0" exits 0 migrate $command --json
  check "... in JSON" is_json
done
sql -c 'CREATE VIEW app_numbers AS SELECT seq FROM chats' >/dev/null
check "down while a view of the application needs a column: 1" exits 1 migrate down --to none --yes --json
check "... in JSON, with the statement that drops it" grep -q 'DROP VIEW app_numbers;' "$work/out"
check "... and nothing is changed" exits 0 migrate verify
sql -c 'DROP VIEW app_numbers' >/dev/null
check "down --yes restores the old schema" exits 0 migrate down --to none --yes
check "... without Chirrup's tables" test "$(sql -c "SELECT count(*) FROM pg_class WHERE relname LIKE 'chirrup%'")" = 0
