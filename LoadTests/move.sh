#!/usr/bin/env bash
# move.sh [ROWS]: moves a workspace chat of 300,000 messages in while its old application reads and writes, and prints
# rows per second and the longest time that a statement of the old application took. See config/DATABASE.md.
. "$(dirname "$0")/../Tests/EndToEnd/lib.sh"

rows=${1:-300000}
new_folder
create_cluster
PATH=$(postgres_bin):$PATH
sql() { psql --no-psqlrc --quiet --tuples-only --no-align "$@" "$database"; }
sql -v rows="$rows" -f "$root/Tests/Fixtures/legacy/workspace_chat.sql" >/dev/null
sql -c 'VACUUM ANALYZE' >/dev/null
small=10000000-0000-4000-8000-000000000002
read="SELECT id, role, content, created_at FROM chats WHERE workspace_id = '$small' ORDER BY created_at LIMIT 50"
write="INSERT INTO chats (workspace_id, role, content) VALUES ('$small', 'user', 'beside')"
# A statement every 5 ms, and its time.
for kind in read write; do
  printf '\\timing on\n%s \\watch 0.005\n' "${!kind}" >"$work/$kind.sql"
  stdbuf -oL psql --no-psqlrc --quiet --file "$work/$kind.sql" "$database" >>"$work/$kind" 2>"$work/$kind.err" &
  eval "$kind=\$!"
  pids+=($!)
done
# longest KIND: the longest statement so far, in ms.
longest() { grep -oE '^Time: [0-9.]+' "$work/$1" | awk '$2 > longest { longest = $2 } END { printf "%.0f", longest }'; }
sleep 2
# On a busy machine a statement takes long without a lock too.
before_read=$(longest read) before_write=$(longest write)
pass "before: the longest read took $before_read ms, the longest write $before_write ms"
truncate --size 0 "$work/read" "$work/write"
begin=$(date +%s%N)
check "up" "$chirrup" migrate up --json "${place[@]}" >"$work/up"
pass "up took $((($(date +%s%N) - begin) / 1000000)) ms"
sleep 1
pass "the move: $(grep '"rows_per_second"' "$work/up" | tail -n 1)"
pass "during up: the longest read took $(longest read) ms, the longest write $(longest write) ms"
grep '"locked":"\(chats\|workspaces\)"' "$work/up" | sort -t: -k5 -n | "$python" -c '
import json, sys
locks = sorted((json.loads(line) for line in sys.stdin), key=lambda lock: -lock["milliseconds"])
for lock in locks[:6]:
    print("      %(milliseconds)5d ms  %(locked)s  %(mode)s  %(step)s" % lock)'
for kind in read write; do
  eval "end \$$kind TERM 10"
  pass "$(grep -c '^Time' "$work/$kind") ${kind}s"
  check "no statement of the old application failed ($kind)" test ! -s "$work/$kind.err"
  before=before_$kind
  check "no $kind waited for a second more than before" test "$(longest $kind)" -le $((${!before} + 1000))
done
check "no row is lost" test "$(sql -c 'SELECT count(*) FROM chats WHERE seq IS NULL')" = 0
