#!/usr/bin/env bash
# beside.sh [SECONDS]: on a workspace chat that has moved in, the old application goes on reading and writing (pgbench)
# while visitors and operators use the gateway (beside.py). No statement and no frame may fail; each message of the old
# application gets a number and a session, and reaches a subscriber of the gateway once, in order and without a hole.
. "$(dirname "$0")/lib.sh"

seconds=${1:-8}
new_folder
create_cluster
PATH=$(postgres_bin):$PATH
sql() { psql --no-psqlrc --quiet --tuples-only --no-align "$@" "$database"; }
sql -v rows=20000 -f "$root/Tests/Fixtures/legacy/workspace_chat.sql" >/dev/null
sql -f "$root/Tests/Fixtures/legacy/shapes/guide_half.sql" >/dev/null
"$chirrup" migrate up "${place[@]}" 2>"$work/up" || die "up: $(tail -n 3 "$work/up")"
sql -c "INSERT INTO operators (email, name) VALUES ('dana@example.org', 'Dana')
  ON CONFLICT DO NOTHING; INSERT INTO memberships (operator_id, workspace_id, role)
  SELECT o.id, w.id, 'owner' FROM operators o, workspaces w WHERE w.name = 'Busy' ON CONFLICT DO NOTHING" >/dev/null
"$chirrup" serve --listen "127.0.0.1:$port" "${place[@]}" >>"$log" 2>&1 &
gateway_pid=$!
pids+=("$gateway_pid")
await 60 "a gateway that is ready" gateway_answers || die "the gateway does not start: $(tail -n 5 "$log")"
"$chirrup" token visitor --workspace Busy --count 4 "${place[@]}" >"$work/visitors"
"$chirrup" token operator --workspace Busy "${place[@]}" >"$work/operator"

# The application's statements: it knows neither numbers nor the gateway's columns.
busy=10000000-0000-4000-8000-000000000001
session=$(head -n 1 "$work/visitors" | "$python" -c 'import json, sys; print(json.load(sys.stdin)["session"])')
cat >"$work/read.sql" <<SQL
SELECT id, role, content, created_at FROM chats WHERE workspace_id = '$busy' ORDER BY created_at DESC LIMIT 50;
SELECT id, name FROM workspaces WHERE user_id = 'a0000000-0000-4000-8000-000000000001';
SQL
cat >"$work/write.sql" <<SQL
\\set n random(1, 1000000000)
INSERT INTO chats (workspace_id, user_id, role, content)
  VALUES ('$busy', 'a0000000-0000-4000-8000-000000000001', 'user', 'old legacy :n');
INSERT INTO chats (workspace_id, session_id, role, content) VALUES ('$busy', '$session', 'assistant', 'old shared :n');
UPDATE workspaces SET updated_at = now() WHERE id = '$busy';
SQL
# One line for each transaction, in µs: the third column is the time since it was due, the seventh how late it began.
durations() { cat "$work/$1".[0-9]* | awk '{print $3 - $7}' | sort -n; }
for kind in read write; do
  (cd "$work" && exec pgbench --no-vacuum --client 2 --rate 60 --time "$seconds" --file "$kind.sql" --log \
    --log-prefix "$kind" "$database" >"$kind.out" 2>&1) &
  eval "$kind=\$!"
  pids+=($!)
done
check "a subscriber receives the messages of both" "$python" -B "$root/Tests/EndToEnd/beside.py" "$url" \
  "$work/visitors" "$work/operator" "$database" "$seconds"
for kind in read write; do
  eval "pid=\$$kind"
  status=0
  wait "$pid" || status=$?
  check "no statement of the old application fails ($kind)" test "$status$(grep -c ERROR "$work/$kind.out")" = 00
  pass "the longest of $(durations $kind | wc -l) ${kind}s took $(durations $kind | tail -n 1 |
    awk '{printf "%.1f ms", $1 / 1000}')"
  # Two cores for everything: a wait for a lock without bound would be longer.
  check "... and none waits for 5 seconds" test "$(durations $kind | awk '$1 > 5000000' | wc -l)" = 0
done
check "each message has a number and a session" test \
  "$(sql -c 'SELECT count(*) FROM chats WHERE seq IS NULL OR session_id IS NULL OR content_hash IS NULL')" = 0
check "no session has a hole" test "$(sql -c 'SELECT count(*) FROM (SELECT session_id, count(*) AS n, max(seq) AS top
  FROM chats GROUP BY session_id) AS c JOIN chat_sessions s ON s.id = c.session_id
  WHERE n <> top OR top <> last_seq OR n <> message_count')" = 0
check "verify passes" "$chirrup" migrate verify "${place[@]}" >/dev/null
check "no warning or error in the gateway's log" test -z \
  "$(grep -iE ' (error|warning) ' "$log" | grep -vE 'allows no more descriptors|runs as root' | head -n 3)"
stop_gateway || fail "the gateway ends with $?"
"$chirrup" migrate down --to none --yes "${place[@]}" 2>/dev/null
check "down keeps the messages of both" test \
  "$(sql -c "SELECT count(*) FROM chats WHERE content LIKE 'old %' OR content LIKE 'new %'")" = \
  "$(cat "$work/expected")"
