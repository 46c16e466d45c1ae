# Functions of the crash tests and of the test of the verdict: a load in the background, and waits for its progress.
# Sourced after lib.sh, not run.

# start_load PORT OPTION…: a load in the background, compared with the database at its end.
start_load() {
  local port=$1
  shift
  : >"$work/load.log"
  "$chirrup_load" chat --url "ws://127.0.0.1:$port" --chirrup "$chirrup" "${place[@]}" \
    --backoff-seconds 1 --progress-seconds 1 --json "$work/load.json" "$@" \
    >"$work/load.out" 2>"$work/load.log" &
  load_pid=$!
  pids+=("$load_pid")
}

acked() { sed -n 's/.* acked \([0-9]*\) .*/\1/p' "$work/load.log" | tail -n 1; }

load_has_acked() { [ "$(acked || true)" -ge "$1" ] 2>/dev/null; }

# await_acks COUNT: waits for that many more acknowledgements.
await_acks() {
  local goal
  goal=$(acked || true)
  goal=$((${goal:-0} + $1))
  if ! is_running "$load_pid" || ! await 180 "$1 more acks" load_has_acked "$goal"; then
    cat "$work/load.log" "$work/load.out" >&2
    tail -n 20 "$log" >&2
    die "the load does not go on"
  fi
}

# end_load: stops sending, waits for the messages in flight, and compares.
end_load() { kill -TERM "$load_pid"; }

# figure NAME: prints a figure of the load's report.
figure() {
  sed -n "/^  \"figures\"/,/^  }/s/^    \"$1\" : \([0-9.]*\),*$/\1/p" "$work/load.json"
}

# conclude WHAT: checks the load's own verdict.
conclude() {
  local status=0
  wait "$load_pid" || status=$?
  cat "$work/load.out"
  if [ $status = 0 ]; then
    pass "$1: $(figure acked) acknowledged, none lost, duplicated or reordered"
  else
    fail "$1 (chirrup-load ended with $status)"
  fi
}

# noticed WHAT COUNT: a fault that no client felt would prove nothing.
noticed() {
  if [ "${2:-0}" -gt 0 ]; then pass "the fault was felt: $2 $1"; else fail "no $1: the fault was not felt"; fi
}
