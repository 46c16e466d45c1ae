#!/usr/bin/env bash
# The worst inputs that a tenant, a visitor or a key can send within the limits, one kind after the other and many at
# once: no turn holds a loop for more than 20 ms of processor time, as chirrup_loop_stall_processor_seconds says.
#
# The limit is on the processor time of a loop's thread, which does not depend on the machine's load, of a release
# build. A build without optimisation needs LIMIT=milliseconds.
. "$(dirname "$0")/lib.sh"

new_folder
create_cluster
# Loopback is exempt from the limits by address, and the operator from that of requests: other tests check them.
export CHIRRUP_LIMITS_REQUESTS_PER_MEMBER=0
start_gateway --loops 2
psql=$(postgres_bin)/psql
check "no input blocks a loop" timeout 400 "$python" "$(dirname "$0")/stalls_test.py" --url "$url" --log "$log" \
  --operator "$(token operator)" --psql "$psql" --database "$database" --limit "${LIMIT:-20}" "$@"
check "SIGTERM ends the gateway with 0" stop_gateway

[ $failures = 0 ]
