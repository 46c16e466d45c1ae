#!/usr/bin/env bash
# A gateway under a service manager (sd_notify(3)): the messages while it waits for its database, starts, reloads, stalls
# and stops, and the private PostgreSQL, which does not answer in its place.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")

new_folder
messages=$work/messages

# manage NAME [OPTION…]: a gateway with a service manager that wants a sign of life every 3 s.
manage() {
  local name=$1
  shift
  : >"$messages"
  "$python" "$folder/service_manager.py" "$name" 3000000 "$chirrup" serve --listen "127.0.0.1:$port" \
    "${place[@]}" --drain-seconds 1 "$@" >>"$messages" 2>>"$log" &
  manager=$!
  pids+=("$manager")
  await 30 "the gateway's process" grep --quiet ' PID=' "$messages"
  gateway_pid=$(sed -n 's/.* PID=//p' "$messages")
}
got() { grep --quiet --extended-regexp "^[0-9.]+ $1" "$messages"; }
count() { grep --count --extended-regexp "^[0-9.]+ $1" "$messages" || true; }
# in_order LINE…: the first of each came in this order.
in_order() {
  local last=0 number line
  for line; do
    number=$(grep --line-number --max-count 1 --extended-regexp "^[0-9.]+ $line" "$messages" | cut -d : -f 1)
    [ "${number:-0}" -gt "$last" ] || return 1
    last=$number
  done
}
is_answered() { curl --silent --fail --max-time 5 --output /dev/null "$url/healthz"; }
# gone: the manager has passed on the gateway's status 0.
gone() {
  kill -TERM "$manager"
  await 60 "the end of the gateway" process_is_gone "$manager"
  wait "$manager"
}

# An outage: nothing listens at this database's socket yet.
create_cluster
stop_cluster fast
manage "$work/notify" --loops 2
check "waiting for the database is a status with the reason" \
  await 30 "the status" got 'STATUS=waiting for the database: .*(connection|No such file)'
check "… and prolongs the time limit of the start" got 'EXTEND_TIMEOUT_USEC=30000000'
check "… before it is ready" [ "$(count READY=1)" = 0 ]
start_cluster
check "READY=1 comes once the database answers" await 60 "READY=1" got READY=1
check "… when the gateway listens" is_answered
check "… after the migrations, which are a status" in_order 'STATUS=applying migrations: ' READY=1 STATUS=serving
signs=$(count WATCHDOG=1)
more_signs() { [ "$(count WATCHDOG=1)" -ge $((signs + 2)) ]; }
check "WATCHDOG=1 comes while every loop turns" await 10 "two signs of life" more_signs

kill -HUP "$gateway_pid"
reloaded() { [ "$(count READY=1)" = 2 ]; }
check "SIGHUP: READY=1 again" await 10 "the end of the reload" reloaded
check "… after RELOADING=1 with the time" in_order RELOADING=1 'MONOTONIC_USEC=[0-9]{6,}$'

mkfifo "$work/hold"
"$python" "$folder/hold_thread.py" "$gateway_pid" loop-1 <"$work/hold" >"$work/held" 2>&1 &
holder=$!
pids+=("$holder")
exec 8>"$work/hold"
await 10 "a thread that is held" grep --quiet held "$work/held" || die "$(cat "$work/held")"
await 30 "the log line" grep --quiet 'a loop has been stalled' "$log"
signs=$(count WATCHDOG=1)
sleep 4
check "a stalled loop ends the signs of life" [ "$(count WATCHDOG=1)" = "$signs" ]
exec 8>&-
wait "$holder"
check "… until it turns again" await 10 "two signs of life" more_signs
check "SIGTERM ends it with 0" gone
check "… after STOPPING=1" in_order READY=1 STOPPING=1 STATUS=draining

# The private PostgreSQL of Debian sends READY=1 itself if it inherits the variable.
place=(--data-dir "$data")
manage "@chirrup-$port"
check "with a private PostgreSQL and an abstract name READY=1 comes too" await 60 "READY=1" got READY=1
postmaster=$(head -n 1 "$data/postgres/data/postmaster.pid")
check "… which PostgreSQL does not send" [ -z "$(tr '\0' '\n' <"/proc/$postmaster/environ" | grep -E '^(NOTIFY|WATCHDOG)')" ]
check "… and which came once" [ "$(count READY=1)" = 1 ]
check "SIGTERM ends it with 0" gone

[ $failures = 0 ]
