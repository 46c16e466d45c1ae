#!/usr/bin/env bash
# crash_postgres.sh [SECONDS [ROUNDS]]: PostgreSQL stops at once, without a checkpoint, in the middle of a load,
# twice, and comes back some seconds later.
# Connections stay open meanwhile, /readyz says 503, and again nothing is lost, duplicated or reordered.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/background_load.sh"

readiness_is() {
  [ "$(curl --silent --max-time 5 --output /dev/null --write-out '%{http_code}' "$url/readyz")" = "$1" ]
}

new_folder
create_cluster
start_gateway
start_load "$port" --visitors 200 --operators 4 --rate 400 --seconds "${1:-25}" --operator-share 0.15
for round in $(seq "${2:-2}"); do
  await_acks 500
  stop_cluster immediate
  check "PostgreSQL gone, round $round: /readyz says 503" await 10 "503" readiness_is 503
  check "the gateway is alive" curl --silent --fail --output /dev/null "$url/healthz"
  # The outage itself: long enough for sends to be answered `unavailable`.
  sleep 6
  start_cluster
  check "PostgreSQL back, round $round: /readyz says 200" await 20 "200" readiness_is 200
done
await_acks 200
conclude "PostgreSQL stopped ${2:-2} times"
noticed "resent messages" "$(figure resent)"
check "the gateway stops in good order afterwards" stop_gateway
