#!/usr/bin/env bash
# A loop that is stalled by ptrace: the log names it with its activity, and again when it resumes. SIGTERM still ends the
# process and its private PostgreSQL within the drain time.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")

drain=2
new_folder
start_gateway --loops 2 --drain-seconds $drain

# hold: the thread loop-0, until file descriptor 8 is closed.
hold() {
  rm -f "$work/hold" "$work/held"
  mkfifo "$work/hold"
  "$python" "$folder/hold_thread.py" "$gateway_pid" loop-0 <"$work/hold" >"$work/held" 2>&1 &
  holder=$!
  pids+=("$holder")
  exec 8>"$work/hold"
  await 10 "a thread that is held" grep --quiet held "$work/held" || die "$(cat "$work/held")"
}
stall_is_logged() { grep --quiet 'a loop has been stalled for 1[0-9] s doing="[a-zA-Z]' "$log"; }
resumption_is_logged() { grep --quiet 'a loop resumed after [0-9]* s' "$log"; }
# ends_with STATUS
ends_with() {
  local status=0
  stop_gateway || status=$?
  [ "$status" = "$1" ] || { printf 'status %s\n' "$status" >&2; return 1; }
}

hold
check "a loop that is stalled for 10 s is logged with its activity" await 30 "the log line" stall_is_logged
check "… and no other one" [ "$(grep --count 'a loop has been stalled' "$log")" = 1 ]
grep 'a loop has been stalled' "$log"
exec 8>&-
wait "$holder"
check "… and again when it resumes" await 10 "the log line" resumption_is_logged
check "… and the gateway responds" await 10 "an answer" gateway_answers

hold
begin=$SECONDS
check "SIGTERM ends the gateway, with EX_SOFTWARE, although a loop is stalled" ends_with 70
took=$((SECONDS - begin))
# Half a second for the loops, five for the private PostgreSQL to stop, and room for a busy machine.
check "… within its drain time and the time in which PostgreSQL stops ($took s)" [ $took -le $((drain + 15)) ]
check "… and logs it" grep --quiet "stopped without loops that did not end within the drain time loop-0=" "$log"
check "… and the private PostgreSQL has stopped" [ ! -e "$data/postgres/data/postmaster.pid" ]
exec 8>&-

[ $failures = 0 ]
