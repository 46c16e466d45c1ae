#!/usr/bin/env bash
# `chirrup import live-helper-chat` beside a running gateway: a real MariaDB with Live Helper Chat's tables, exported by
# its client with config/live-helper-chat.sql. In a real Chromium, with a private PostgreSQL. Pictures go to the folder
# SHOTS, if it is set. Status 77: there is no MariaDB here.
. "$(dirname "$0")/lib.sh"

command -v mariadbd >/dev/null && command -v mariadb >/dev/null || { echo "not tried: there is no MariaDB"; exit 77; }
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}
new_folder
create_cluster

maria=$work/mariadb
mkdir -p "$maria/data" "$maria/tmp"
[ "$(id -u)" != 0 ] || chown -R postgres "$maria"
# It makes its own files in an empty folder; without tables of privileges everybody at the socket is an administrator.
as_postgres "$(command -v mariadbd)" --no-defaults --skip-grant-tables --datadir="$maria/data" --tmpdir="$maria/tmp" \
  --socket="$maria/socket" --skip-networking --pid-file="$maria/pid" >"$work/mariadb.log" 2>&1 &

client() { mariadb --no-defaults --socket="$maria/socket" --default-character-set=utf8mb4 "$@"; }
await 60 "a MariaDB that is ready" client --execute "SELECT 1" || die "MariaDB does not start"
pids+=("$(cat "$maria/pid")")
client --execute "CREATE DATABASE lhc CHARACTER SET utf8mb4"
client lhc <"$root/Tests/Fixtures/legacy/live_helper_chat.sql"

# export_chats FILE: as its head says.
export_chats() {
  client --batch --raw --skip-column-names --quick lhc <"$root/config/live-helper-chat.sql" >"$1"
}
check "Live Helper Chat's data are exported" export_chats "$work/lhc.jsonl"
check "no password and no address of a computer is in the export" \
  bash -c "! grep -E 'hidden-hash|198\.51\.100' '$work/lhc.jsonl'"
# An error in the middle: another version of the tables.
client --execute "ALTER TABLE lhc.lh_chat_file CHANGE upload_name name varchar(255) NOT NULL"
if export_chats "$work/half.jsonl" 2>"$work/half.log"; then fail "an export with an error has status 0"; fi
client --execute "ALTER TABLE lhc.lh_chat_file CHANGE name upload_name varchar(255) NOT NULL"

# What must be there, from MariaDB itself: texts as they are, without the rows that change.
client --batch --raw --skip-column-names --quick lhc >"$work/expected.jsonl" <<'END'
SELECT JSON_ARRAY(CONCAT('', chat_id), time,
  CASE user_id WHEN 0 THEN 'visitor' WHEN -1 THEN 'system' WHEN -2 THEN 'bot' ELSE 'operator' END,
  CASE WHEN user_id = -1 THEN 'event' WHEN meta_msg LIKE '%whisper%' THEN 'note' ELSE 'text' END, msg)
FROM (SELECT * FROM lh_msg UNION ALL SELECT * FROM lh_chat_archive_msg_3) AS m WHERE id < 10001;
SELECT JSON_ARRAY('12', 1709251200 + 12 * 3600 + 1800, 'operator', 'note', 'Calls on Mondays');
SELECT JSON_ARRAY('1', 1709256000, 'visitor', 'text',
  '[file: receipt.png, 48210 bytes]\nwith "quotes", a \\ and a tab\t!');
SELECT JSON_ARRAY('1', 1709256001, 'operator', 'text',
  'bold shop (https://shop.example) [not a tag] https://x.example/a.png');
SELECT JSON_ARRAY('1', 1709256004, 'visitor', 'text', REPEAT('é', 8192));
SELECT JSON_ARRAY('1', 1709256004, 'visitor', 'text', REPEAT('é', 8192));
SELECT JSON_ARRAY('1', 1709256004, 'visitor', 'text', REPEAT('é', 3616));
SELECT JSON_ARRAY('1', 1709256005, 'visitor', 'text', 'NULhere');
END

start_gateway
if "$chirrup" import live-helper-chat --from "$work/half.jsonl" --workspace demo --yes --database-url "$database" \
  2>"$work/half.log"; then fail "half an export is imported"; fi
check "half an export is refused, and says what to do" grep --quiet "export again" "$work/half.log"
check "an import from Live Helper Chat, beside a gateway" "$python" "$root/Tests/EndToEnd/import_files_test.py" \
  --base-url "$url" --database "$database" --psql "$(postgres_bin)/psql" --operator-token "$(token operator)" \
  --chirrup "$chirrup" --folder "$work" --system live-helper-chat --source "$work/lhc.jsonl" \
  --expected "$work/expected.jsonl" ${SHOTS:+--shots "$SHOTS"}
check "the gateway then stops with status 0" stop_gateway
