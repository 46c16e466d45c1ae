#!/usr/bin/env bash
# crash_gateway.sh [ROUNDS]: the gateway is killed with -9 in the middle of a load, three times, then
# drained, and started again on the same data each time. Nothing acknowledged may be missing, nothing stored twice,
# no subscriber may see a hole.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/background_load.sh"

new_folder
start_gateway
start_load "$port" --visitors 200 --operators 4 --rate 400 --seconds 900 --operator-share 0.15
rounds=${1:-3}
for round in $(seq "$rounds"); do
  await_acks 500
  kill -KILL "$gateway_pid"
  wait "$gateway_pid" 2>/dev/null || true
  start_gateway
  pass "kill -9, round $round: ready again on the same data"
done
await_acks 500
check "SIGTERM under load: drained, status 0" stop_gateway
start_gateway
await_acks 200
end_load
conclude "the gateway killed $rounds times, drained once"
noticed "reconnects" "$(figure reconnects)"
check "the gateway then stops with status 0" stop_gateway
