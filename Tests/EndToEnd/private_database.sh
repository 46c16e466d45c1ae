#!/usr/bin/env bash
# private_database.sh [KILLS]: the private PostgreSQL is ended under load, by SIGQUIT and SIGKILL in turn, and comes back
# by itself: connections stay, /readyz is 503 and then 200 again, nothing acknowledged is lost or doubled. The variables of
# libpq do not concern it, and it does not outlive its gateway.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/background_load.sh"

new_folder
# Each of these variables alone would direct libpq to another server.
export PGHOST=/nowhere PGHOSTADDR=192.0.2.1 PGPORT=1 PGUSER=stranger PGDATABASE=elsewhere PGPASSFILE=/nowhere/pass \
  PGSERVICE=nobody PGSYSCONFDIR=/nowhere PGOPTIONS='-c default_transaction_read_only=on' PGSSLMODE=verify-full \
  PGREQUIREPEER=stranger PGTARGETSESSIONATTRS=standby PGCHANNELBINDING=require PGCLIENTENCODING=LATIN1
start_gateway
pass "it starts with any PG* variables"
if token visitor 1 >"$work/token"; then pass "so does a command beside it"; else fail "a command beside it"; fi
(
  unset "${!PG@}"
  exec "$python" "$root/Tests/EndToEnd/private_database.py" options "$data"
) && pass "their options have not reached its connections" || fail "PGOPTIONS has reached its connections"
unset "${!PG@}"

start_load "$port" --visitors 200 --operators 4 --rate 400 --seconds 3600 --operator-share 0.15
kills=${1:-4}
await_acks 500
check "$kills times killed, not ready, and ready again each time" \
  "$python" "$root/Tests/EndToEnd/private_database.py" kill "$data" "$url" "$kills"
await_acks 200
end_load
conclude "the private PostgreSQL killed $kills times"
if [ "$(figure reconnects)" = 0 ]; then pass "no connection was lost"; else fail "$(figure reconnects) reconnects"; fi
logged() { [ "$(grep -c "$1" "$log")" = "$2" ]; }
check "the log has the reason of each end" logged 'PostgreSQL (process [0-9]*) .*restarting it' "$kills"
check "… and each restart" logged 'PostgreSQL runs again' "$kills"
check "… and the server's own message for SIGQUIT" grep -q 'received immediate shutdown request' "$log"

postmaster=$(head -n 1 "$data/postgres/data/postmaster.pid")
kill -KILL "$gateway_pid"
wait "$gateway_pid" 2>/dev/null || true
check "it does not outlive a killed gateway" await 30 "its end" process_is_gone "$postmaster"
start_gateway
check "the gateway starts again on its data" gateway_answers
postmaster=$(head -n 1 "$data/postgres/data/postmaster.pid")
check "the gateway stops with status 0" stop_gateway
check "… and its PostgreSQL with it" process_is_gone "$postmaster"
