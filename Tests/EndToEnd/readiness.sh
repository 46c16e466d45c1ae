#!/usr/bin/env bash
# readiness.sh: /readyz is the writer and the reader of every loop. A store that could not take a message is ready again
# without another one, connections that are missing are not overlooked, and the log says why, each reason once.
. "$(dirname "$0")/lib.sh"

readiness_is() {
  [ "$(curl --silent --max-time 20 --output /dev/null --write-out '%{http_code}' "$url/readyz")" = "$1" ]
}
sql() { psql --no-psqlrc --quiet --tuples-only --no-align "$database" --command "$1"; }
logged() { [ "$(grep -c "$1" "$log")" -ge "$2" ] && [ "$(grep -c "$1" "$log")" -le "$3" ]; }

new_folder
create_cluster
start_gateway --loops 2
check "a gateway with all its connections is ready" readiness_is 200

# PostgreSQL's error for a full disk.
sql "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
  \$\$ BEGIN RAISE EXCEPTION 'could not extend file: No space left' USING ERRCODE = '53100'; END \$\$;
  CREATE TRIGGER full_disk BEFORE INSERT ON chats FOR EACH STATEMENT EXECUTE FUNCTION full_disk()"
"$chirrup_load" chat --url "ws://127.0.0.1:$port" --chirrup "$chirrup" "${place[@]}" --visitors 8 --operators 1 \
  --rate 20 --seconds 2 --json "$work/load.json" >"$work/load.out" 2>&1 &
load_pid=$!
pids+=("$load_pid")
check "a message that PostgreSQL cannot store: 503" await 30 "503" readiness_is 503
end "$load_pid" KILL 10
wait "$load_pid" 2>/dev/null || true
sleep 8
check "… also without further messages" readiness_is 503
sql "DROP TRIGGER full_disk ON chats"
check "… and 200 when space is free again, without a message" await 15 "200" readiness_is 200
check "the log has the reason once for each loop" logged 'PostgreSQL does not answer: could not extend file' 1 2
check "… and the end of the outage" logged 'PostgreSQL answers' 3 4
check "the gateway stops with status 0" stop_gateway

sql "CREATE ROLE few LOGIN CONNECTION LIMIT 2"
sql "GRANT chirrup_gateway TO few"
database_of_few="postgresql://few@/postgres?host=$cluster"
: >"$log"
"$chirrup" serve --listen "127.0.0.1:$port" --loops 2 --no-migrate --database-url "$database_of_few" >>"$log" 2>&1 &
gateway_pid=$!
pids+=("$gateway_pid")
check "two connections where four are needed: the log has the reason" \
  await 60 "the reason" logged 'PostgreSQL does not answer: .*too many connections for role' 1 2
sleep 3
check "… and it is not ready" readiness_is 503
check "… once for each loop" logged 'too many connections for role' 1 2
sql "ALTER ROLE few CONNECTION LIMIT 20"
check "… and ready when there are enough" await 15 "200" readiness_is 200
check "the gateway stops with status 0" stop_gateway
