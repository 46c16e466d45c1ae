#!/usr/bin/env bash
# crash_postgres.sh [ROUNDS]: PostgreSQL stops at once, without a checkpoint, in the middle of a load,
# twice, and comes back some seconds later.
# Connections stay open meanwhile, /readyz returns 503, and again nothing is lost, duplicated or reordered.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/background_load.sh"

readiness_is() {
  [ "$(curl --silent --max-time 20 --output /dev/null --write-out '%{http_code}' "$url/readyz")" = "$1" ]
}

new_folder
create_cluster
start_gateway
start_load "$port" --visitors 200 --operators 4 --rate 400 --seconds 900 --operator-share 0.15
rounds=${1:-2}
for round in $(seq "$rounds"); do
  await_acks 500
  stop_cluster immediate
  check "PostgreSQL gone, round $round: /readyz returns 503" await 60 "503" readiness_is 503
  check "the gateway is alive" curl --silent --fail --output /dev/null "$url/healthz"
  # The outage is long enough for sends to be answered `unavailable`.
  sleep 6
  start_cluster
  check "PostgreSQL back, round $round: /readyz returns 200" await 120 "200" readiness_is 200
done
await_acks 200
end_load
conclude "PostgreSQL stopped $rounds times"
noticed "resent messages" "$(figure resent)"
check "the gateway then stops with status 0" stop_gateway
