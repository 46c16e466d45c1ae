#!/usr/bin/env bash
# pgbouncer.sh [ROUNDS]: the gateway reaches PostgreSQL through PgBouncer in transaction mode, which dies in
# the middle of a load and comes back: nothing is lost, duplicated or reordered. Migrations go past it, or are refused.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/background_load.sh"
PATH=$PATH:/usr/sbin

start_pgbouncer() {
  as_postgres "$(command -v pgbouncer)" --quiet "$work/pgbouncer.ini" >/dev/null 2>&1 &
  await 10 "pgbouncer" psql --no-psqlrc --quiet --command 'SELECT 1' "$pooled" || die "pgbouncer does not start"
  # The pooler's own process, not the shell that started it as another user.
  pgbouncer_pid=$(cat "$cluster/pgbouncer.pid")
  pids+=("$pgbouncer_pid")
}

outages() { grep -c 'PostgreSQL does not answer' "$log" || true; }
felt() { [ "$(outages)" -gt "$1" ]; }

new_folder
create_cluster
direct=$database
pooled="postgresql://chirrup@/postgres?host=$cluster&port=6432"
# Each transaction gets the other one of the two server connections.
cat >"$work/pgbouncer.ini" <<END
[databases]
postgres = host=$cluster user=chirrup
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = $cluster
auth_type = any
pool_mode = transaction
default_pool_size = 2
server_round_robin = 1
logfile = $cluster/pgbouncer.log
pidfile = $cluster/pgbouncer.pid
END
chmod 644 "$work/pgbouncer.ini"
start_pgbouncer
place=(--database-url "$pooled")
# A refusal comes within a moment.
status=0
timeout 60 "$chirrup" serve --listen "127.0.0.1:$port" "${place[@]}" >"$work/refused" 2>&1 || status=$?
check "serve refuses to migrate through the pooler" test $status = 1
check "… and prints the remedy" grep -q 'set database_direct_url' "$work/refused"
# From here on the gateway's user owns nothing; migrations have the owner's.
kill -INT "$pgbouncer_pid"
await 60 "its end" process_is_gone "$pgbouncer_pid"
create_login "$direct"
sed -i 's/user=chirrup$/user=chirrup_app/' "$work/pgbouncer.ini"
start_pgbouncer
CHIRRUP_DATABASE_DIRECT_URL=${direct/chirrup@/chirrup_app@} CHIRRUP_MIGRATIONS_URL=$direct start_gateway
unwarned() { ! grep -q "the gateway logs in as" "$log"; }
check "… without a warning about its user" unwarned
check "with database_direct_url it starts" gateway_answers
check "… and logs that statements are not prepared" grep -q 'behind a pooler' "$log"
start_load "$port" --visitors 200 --operators 4 --rate 300 --seconds 900 --operator-share 0.15
rounds=${1:-3}
for round in $(seq "$rounds"); do
  await_acks 300
  before=$(outages)
  kill -KILL "$pgbouncer_pid"
  await 60 "its end" process_is_gone "$pgbouncer_pid"
  rm -f "$cluster/.s.PGSQL.6432" "$cluster/.s.PGSQL.6432.lock" "$cluster/pgbouncer.pid"
  check "the gateway has lost its connections, round $round" await 60 "word of it" felt "$before"
  check "the gateway runs without its pooler, round $round" \
    curl --silent --fail --output /dev/null "$url/healthz"
  start_pgbouncer
done
await_acks 200
end_load
conclude "PgBouncer killed $rounds times"
check "no session keeps a setting of the gateway" test "$(psql --no-psqlrc --tuples-only --no-align \
  --command "SELECT current_setting('enable_seqscan') || current_setting('statement_timeout')" "$pooled")" = on0
check "the gateway then stops with status 0" stop_gateway
