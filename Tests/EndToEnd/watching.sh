#!/usr/bin/env bash
# Visitors of a site at two gateways on one database: an operator at one sees the visitors of the other and begins a
# conversation with them; the country that a trusted proxy sends; what a flood of beacons gets; a gateway that is killed.
. "$(dirname "$0")/lib.sh"

new_folder
create_cluster
# A client at 127.0.0.2 is the proxy; every other one is an untrusted peer.
export CHIRRUP_TRUSTED_PROXIES=127.0.0.2 CHIRRUP_COUNTRY_HEADER=CF-IPCountry
start_gateway --loops 1
first=$url first_pid=$gateway_pid
port=$(free_port)
url=http://127.0.0.1:$port
start_gateway --loops 1
check "visitors at two gateways" "$python" "$root/Tests/EndToEnd/watching_test.py" --first "$first" --second "$url" \
  --first-pid "$first_pid" --database "$database" --psql "$(postgres_bin)/psql" --operator-token "$(token operator)"
check "the other gateway then stops with status 0" stop_gateway
