#!/usr/bin/env bash
# failover.sh: the primary dies in the middle of a load and its synchronous standby takes over. The gateway knows both
# (host=a,b) and writes to the one that takes writes, never to the other; clients get resync, and nothing that
# was acknowledged is missing, doubled or out of order on the new primary.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/background_load.sh"

sql() { psql --no-psqlrc --quiet --tuples-only --no-align --username chirrup --host "$1" postgres --command "$2"; }

standby_follows() { [ "$(sql "$primary" "SELECT sync_state FROM pg_stat_replication")" = sync ]; }

create_standby() {
  standby=$work/standby
  mkdir "$standby"
  [ "$(id -u)" != 0 ] || chown postgres "$standby"
  (cd "$standby" && as_postgres "$(postgres_bin)/pg_basebackup" --host "$primary" --username chirrup \
    --pgdata "$standby/data" --write-recovery-conf --create-slot --slot standby --checkpoint fast --no-sync) ||
    die "pg_basebackup failed"
  # From here on `cluster` is the standby, which the clean-up stops; the test stops the primary.
  cluster=$standby
  start_cluster
  sql "$primary" "ALTER SYSTEM SET synchronous_standby_names = '*'"
  sql "$primary" "SELECT pg_reload_conf()" >"$work/reload.out"
  await 60 "a standby in step" standby_follows || die "the standby does not follow"
}

primary_stops() {
  (cd "$primary" && as_postgres "$(postgres_bin)/pg_ctl" stop --wait --silent --mode immediate --pgdata "$primary/data")
}

end_primary() {
  local status=$?
  [ ! -e "$primary/data/postmaster.pid" ] || primary_stops || true
  clean_up $status
}

standby_takes_over() {
  (cd "$standby" && as_postgres "$(postgres_bin)/pg_ctl" promote --wait --silent --pgdata "$standby/data")
}

readiness_is() {
  [ "$(curl --silent --max-time 20 --output /dev/null --write-out '%{http_code}' "$url/readyz")" = "$1" ]
}

figure_is() {
  local value
  value=$(figure "$1")
  [ "$value" = "$2" ] || { printf '%s: %s\n' "$1" "${value:-none}" >&2; return 1; }
}

new_folder
create_cluster
primary=$cluster
trap end_primary EXIT
create_standby
# The standby stands first: a gateway that took the first server it reaches would write to one that takes no writes.
place=(--database-url "postgresql://chirrup@/postgres?host=$standby,$primary")
start_gateway
# A resync begins with the last 50 messages of a session, and the load wants all of them: 300 sessions stay shorter, also
# if the fail-over takes long.
start_load "$port" --visitors 300 --operators 3 --rate 300 --seconds 900 --operator-share 0.15
await_acks 1000
check "the primary stops at once" primary_stops
check "a standby alone is not writable: /readyz returns 503" await 60 "503" readiness_is 503
sleep 2
check "the standby takes over" standby_takes_over
check "the gateway writes to it: /readyz returns 200" await 120 "200" readiness_is 200
await_acks 500
end_load
wait "$load_pid" || true
# The load counts every resync as a problem; here they are what should happen.
grep --invert-match --line-regexp FAIL "$work/load.out"
for promise in lost duplicated reordered holes mismatched; do check "$promise: 0" figure_is "$promise" 0; done
noticed "resyncs" "$(figure resyncs)"
check "the gateway then stops with status 0" stop_gateway
