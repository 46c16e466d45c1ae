#!/usr/bin/env bash
# Many clients in two processes: disconnected by a reset or by a kill -9 of the gateway, slow ones beside
# others, a growing number, and idle ones. A falsified delivery is found in each process, and no process is left.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/background_load.sh"

new_folder
start_gateway
gateway=(--url "ws://127.0.0.1:$port" --chirrup "$chirrup" "${place[@]}" --json "$work/load.json")
small=(--visitors 60 --operators 2 --calm-seconds 1 --processes 2)

check "all clients reconnect after a reset, and no message is lost" \
  "$chirrup_load" storm "${gateway[@]}" "${small[@]}" --rounds 2
if [ "$(figure reconnects)" -ge 120 ] && [ "$(figure lost)" = 0 ]; then
  pass "the reset had an effect: $(figure reconnects) reconnects"
else
  fail "$(figure reconnects) reconnects, $(figure lost) lost"
fi
check "all clients reconnect after kill -9 of the gateway" \
  "$chirrup_load" storm --how kill --chirrup "$chirrup" "${small[@]}" --rounds 1
check "slow readers next to others" \
  "$chirrup_load" slow "${gateway[@]}" --rooms 4 --followers 50 --rate 40 --turns 1 --seconds 2 --processes 2
check "a growing number of connections" \
  "$chirrup_load" growth "${gateway[@]}" --followers 20 --sizes 40,120 --rate 40 --seconds 1 --rest-seconds 1 --idle-seconds 1 \
  --processes 2
"$chirrup" token visitor --workspace demo --count 20 "${place[@]}" >"$work/tokens"
check "idle connections, each with its session" \
  "$chirrup_load" idle "ws://127.0.0.1:$port/api/v1/ws" --tokens "$work/tokens" --subscribe --connections 300 \
  --pid "$gateway_pid" --seconds 1 --processes 2

# A verifier that never fails proves nothing. (A delivery that is left out may come again with the reconnect that follows.)
for lie in double-delivery:duplicated; do
  status=0
  "$chirrup_load" storm "${gateway[@]}" "${small[@]}" --rounds 1 --tamper "${lie%:*}" >"$work/load.out" 2>&1 || status=$?
  if [ $status = 1 ] && [ "$(figure "${lie#*:}")" -gt 0 ]; then
    pass "${lie%:*} in one process of two: status 1, $(figure "${lie#*:}") ${lie#*:}"
  else
    cat "$work/load.out"
    fail "${lie%:*}: status $status"
  fi
done

# The workers end when their parent is killed.
"$chirrup_load" storm "${gateway[@]}" "${small[@]}" --calm-seconds 600 >"$work/load.out" 2>&1 &
parent=$!
pids+=("$parent")
members() { pgrep --parent "$parent" --full load-worker; }
two_members() { [ "$(members | wc -l)" = 2 ]; }
await 30 "two processes" two_members || die "no members: $(cat "$work/load.out")"
children=$(members)
kill -KILL "$parent"
gone() { local child; for child in $children; do ! kill -0 "$child" 2>/dev/null || return 1; done; }
if await 10 "the end of the members" gone; then
  pass "no process outlives a killed parent"
else
  fail "processes $children outlive their parent"
fi
