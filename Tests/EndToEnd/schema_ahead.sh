#!/usr/bin/env bash
# schema_ahead.sh: a gateway restarts on a schema that a newer release has migrated. It runs if that release says that
# it can, and is refused with the reason and the remedy if not. `down` and `finish` name the gateway that runs.
. "$(dirname "$0")/lib.sh"

new_folder
create_cluster
start_gateway
sql() { psql --no-psqlrc --quiet --tuples-only --no-align "$@" "$database"; }
# exits CODE COMMAND…
exits() {
  local wanted=$1 status=0
  shift
  "$@" >"$work/out" 2>"$work/err" || status=$?
  if [ $status = "$wanted" ]; then return; fi
  printf 'exit %s and not %s: %s\n' $status "$wanted" "$(tail -n 3 "$work/err")" >&2
  return 1
}
serve() { timeout 60 "$chirrup" serve --listen "127.0.0.1:$port" "${place[@]}"; }
head=$(sql -c 'SELECT revision FROM chirrup_migrations ORDER BY revision DESC LIMIT 1')
# later REVISION PARENT COMPATIBLE: what `migrate up` of a newer release leaves, with a table of its own.
later() {
  sql -c "INSERT INTO chirrup_migrations (revision, checksum, duration_ms, parent, compatible)
    VALUES ('$1', 'x', 1, '$2', nullif('$3', ''))" -c "CREATE TABLE \"newer_$1\" ()" >/dev/null
}

check "down names the gateway that runs" exits 1 "$chirrup" migrate down --to none --yes "${place[@]}"
check "... and its process" grep --quiet "process $gateway_pid on" "$work/err"
check "finish has nothing to do in this release" exits 0 "$chirrup" migrate finish "${place[@]}"

later 20991230_expanded "$head" "$head"
check "the gateway that runs goes on beside the newer schema" gateway_answers
check "a command of its release works" exits 0 "$chirrup" workspace create beside "${place[@]}"
check "up is left to the newer release" exits 3 "$chirrup" migrate up "${place[@]}"
check "the gateway stops with status 0" stop_gateway
: >"$log"
start_gateway
check "it restarts on the newer schema" gateway_answers
check "... with a warning that names the migration" grep --quiet \
  'warning: a newer chirrup has migrated the database (20991230_expanded)' "$log"
token visitor >"$work/token" && pass "... and a token is issued" || fail "no token"
check "doctor warns of it" exits 2 "$chirrup" doctor --only schema "${place[@]}"
check "... and says that the gateway can run" grep --quiet 'gateways of this release can run on it' "$work/out"
check "it stops with status 0" stop_gateway

later 20991231_needing 20991230_expanded 20991230_expanded
check "one that needs the newer release stops it" exits 3 serve
check "... with the reason" grep --quiet '20991231_needing needs gateways that know 20991230_expanded' "$work/err"
check "... and the remedy" grep --quiet 'fix: install the chirrup that migrated it' "$work/err"
sql -c "UPDATE chirrup_migrations SET compatible = NULL WHERE revision = '20991231_needing'" >/dev/null
check "one that says nothing stops it" exits 3 serve
check "... with the reason" grep --quiet 'does not say that gateways of an older release' "$work/err"
sql -c "DELETE FROM chirrup_migrations WHERE revision > '2099'" >/dev/null
check "after the newer release has reverted both, it starts" start_gateway
check "... and stops" stop_gateway
