# Functions of the end-to-end tests: a private gateway, waiting for conditions, verdicts. Sourced, not run.
#
# A script ends the processes that it started by their ids when it ends. If it is killed or hangs, scripts/within does
# that, under which every script runs.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
[ -n "${WITHIN-}" ] || exec "$root/scripts/within" 7200 "$(basename "$0")" "$0" "$@"
chirrup=${CHIRRUP:-$root/.build/release/chirrup}
chirrup_load=${CHIRRUP_LOAD:-$root/.build/release/chirrup-load}
python=${CHIRRUP_PYTHON:-python3}
node=${CHIRRUP_NODE:-node}
# The gateway warns about unknown variables with its prefix.
unset CHIRRUP_PYTHON CHIRRUP_NODE CHIRRUP_LOAD
export SWIFT_BACKTRACE=enable=no
# Scripts and the load generator read /metrics at the address that they test.
export CHIRRUP_ADMIN_LISTEN=${CHIRRUP_ADMIN_LISTEN-listen}
# Tests begin with an empty inbox and without rules.
export CHIRRUP_DEMO_CONTENT=${CHIRRUP_DEMO_CONTENT-false}

failures=0
gateway_pid=
cluster=
pids=()

pass() { printf 'PASS  %s\n' "$*"; }

fail() {
  printf 'FAIL  %s\n' "$*"
  failures=$((failures + 1))
}

# has_metric URL PATTERN: whether a line of a gateway's metrics matches. grep reads all of them: with --quiet it ends at
# the first match, and curl fails when the rest no longer fits into the pipe.
has_metric() { curl --silent "$1/metrics" | grep --extended-regexp "$2" >/dev/null; }

# check NAME COMMAND…: runs it and prints the result.
check() {
  local name=$1 status=0
  shift
  "$@" || status=$?
  if [ $status = 0 ]; then pass "$name"; else fail "$name (status $status)"; fi
}

die() {
  fail "$*"
  exit 1
}

# await SECONDS WHAT COMMAND…: repeats the command ten times a second until it succeeds.
await() {
  local limit=$1 what=$2 begin=$SECONDS
  shift 2
  until "$@" >/dev/null 2>&1; do
    if [ $((SECONDS - begin)) -ge "$limit" ]; then
      printf 'not after %s s: %s\n' "$limit" "$what" >&2
      return 1
    fi
    sleep 0.1
  done
}

# free_port: a port below the kernel's ephemeral ports, of which a connection could take one
# before its server listens.
free_port() {
  "$python" - <<'END'
import random, socket
while True:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", random.randrange(12_000, 32_000)))
        except OSError:
            continue
        print(probe.getsockname()[1])
        break
END
}

is_running() { [ -n "${1:-}" ] && kill -0 "$1" 2>/dev/null; }

# end PID SIGNAL SECONDS: sends the signal, and SIGKILL if the process has not ended in time.
end() {
  is_running "$1" || return 0
  kill "-$2" "$1" 2>/dev/null || true
  if ! await "$3" "the end of process $1" process_is_gone "$1"; then
    kill -KILL "$1" 2>/dev/null || true
  fi
}

# The process has ended, or is a zombie.
process_is_gone() {
  local state
  state=$(ps -o stat= -p "$1" 2>/dev/null) || return 0
  [ "${state:0:1}" = Z ]
}

# new_folder: a folder that PostgreSQL's account may pass through, with a path short enough for a socket.
new_folder() {
  work=$(mktemp -d /tmp/chirrup-e2e.XXXXXX)
  chmod 711 "$work"
  data=$work/data
  log=$work/gateway.log
  port=$(free_port)
  url=http://127.0.0.1:$port
  place=(--data-dir "$data")
}

# start_gateway [OPTION…]: returns when it is ready to serve.
start_gateway() {
  "$chirrup" serve --demo --listen "127.0.0.1:$port" "${place[@]}" "$@" >>"$log" 2>&1 &
  gateway_pid=$!
  pids+=("$gateway_pid")
  if ! await 120 "a gateway that is ready" gateway_answers; then
    tail -n 30 "$log" >&2
    die "the gateway does not start"
  fi
}

gateway_answers() {
  is_running "$gateway_pid" && curl --silent --fail --max-time 10 --output /dev/null "$url/readyz"
}

# stop_gateway: SIGTERM; its status is the exit code of this function.
stop_gateway() {
  local pid=$gateway_pid status=0
  gateway_pid=
  kill -TERM "$pid" 2>/dev/null || true
  await 90 "the gateway's end" process_is_gone "$pid" || kill -KILL "$pid"
  wait "$pid" || status=$?
  return $status
}

# token visitor|operator [COUNT]
token() {
  "$chirrup" token "$1" --workspace demo --count "${2:-1}" "${place[@]}"
}

# A separate PostgreSQL, for faults that the gateway's private one cannot have.
postgres_bin() {
  local folder newest=${POSTGRES_BIN-}
  if [ -n "$newest" ]; then
    printf '%s\n' "$newest"
    return
  fi
  for folder in /usr/lib/postgresql/*/bin /usr/local/pgsql/bin; do
    if [ -x "$folder/initdb" ]; then newest=$folder; fi
  done
  [ -n "$newest" ] && printf '%s\n' "$newest"
}

# initdb and postgres refuse root.
as_postgres() {
  if [ "$(id -u)" = 0 ]; then
    setpriv --reuid=postgres --regid=postgres --init-groups --reset-env "$@"
  else
    "$@"
  fi
}

create_cluster() {
  local bin
  bin=$(postgres_bin) || die "there is no PostgreSQL here"
  cluster=$work/postgres
  mkdir "$cluster"
  [ "$(id -u)" != 0 ] || chown postgres "$cluster"
  (cd "$cluster" && as_postgres "$bin/initdb" --no-sync --no-instructions --encoding UTF8 \
    --locale C.UTF-8 --auth trust --username chirrup --pgdata "$cluster/data") >"$work/initdb.log" ||
    die "initdb failed: $(tail -n 3 "$work/initdb.log")"
  start_cluster
  database="postgresql://chirrup@/postgres?host=$cluster"
  place=(--database-url "$database")
}

# create_login URL: the login of a gateway that owns nothing, before the first migration.
create_login() {
  psql --no-psqlrc --quiet --command 'CREATE ROLE chirrup_reader NOLOGIN;
    CREATE ROLE chirrup_gateway NOLOGIN NOINHERIT IN ROLE chirrup_reader;
    CREATE ROLE chirrup_app LOGIN IN ROLE chirrup_gateway' "$1"
}

# is_unrefused: PostgreSQL of `create_cluster` refused no statement for want of a privilege.
is_unrefused() { ! grep -E 'permission denied|must be owner|row-level security' "$cluster/server.log"; }

start_cluster() {
  (cd "$cluster" && as_postgres "$(postgres_bin)/pg_ctl" start --wait --silent \
    --pgdata "$cluster/data" --log "$cluster/server.log" \
    --options "-k $cluster -c listen_addresses='' ${postgres_options-}") || die "PostgreSQL does not start"
}

# stop_cluster immediate|fast
stop_cluster() {
  (cd "$cluster" && as_postgres "$(postgres_bin)/pg_ctl" stop --wait --silent --mode "$1" \
    --pgdata "$cluster/data")
}

# clean_up [STATUS]: ends with the status, by default that of the last command.
clean_up() {
  local status=${1:-$?} pid
  trap - EXIT
  for pid in "${pids[@]:-}"; do end "$pid" TERM 20; done
  if [ -n "$cluster" ] && [ -e "$cluster/data/postmaster.pid" ]; then
    stop_cluster immediate >/dev/null 2>&1 || true
  fi
  # The private cluster of a gateway that was killed may be about to stop; its process id stands in its folder.
  if [ -n "${data:-}" ] && [ -e "$data/postgres/data/postmaster.pid" ]; then
    end "$(head -n 1 "$data/postgres/data/postmaster.pid")" QUIT 10
  fi
  if [ -n "${work:-}" ]; then
    if [ $status = 0 ] && [ $failures = 0 ]; then
      rm -rf "$work"
    else
      printf 'logs are kept in %s; the end of the gateway'"'"'s:\n' "$work" >&2
      tail -n 8 "$log" 2>/dev/null | cut -c 1-300 >&2 || true
    fi
  fi
  if [ $status = 0 ] && [ $failures != 0 ]; then status=1; fi
  exit $status
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# browser_test NAME FILE OPTION…: a test in Chromium, against a gateway on a PostgreSQL that the test reads and writes. The
# options --shots and --only are the variables SHOTS and ONLY, if they are set.
browser_test() {
  # Empty means playwright's own browser.
  export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}
  new_folder
  create_cluster
  start_gateway
  check "$1" "$python" "$root/Tests/EndToEnd/$2" "${@:3}" --base-url "$url" --database "$database" \
    --psql "$(postgres_bin)/psql" --operator-token "$(token operator)" ${SHOTS:+--shots "$SHOTS"} ${ONLY:+--only "$ONLY"}
  check "the gateway then stops with status 0" stop_gateway
}
