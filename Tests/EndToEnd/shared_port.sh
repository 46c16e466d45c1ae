#!/usr/bin/env bash
# shared_port.sh: a second gateway on the same address does not start, and prints the reason, unless it may share it.
. "$(dirname "$0")/lib.sh"

new_folder
create_cluster
start_gateway --loops 2

second() { "$chirrup" serve --listen "127.0.0.1:$port" --loops "$1" "${place[@]}" >"$work/second.out" 2>&1; }
for loops in 1 2; do
  if second $loops; then
    fail "a second gateway with $loops loops on the same address"
  elif grep -q "127.0.0.1:$port is in use by another program or gateway" "$work/second.out"; then
    pass "a second gateway with $loops loops is refused with the reason"
  else
    fail "a second gateway with $loops loops: $(tail -n 3 "$work/second.out")"
  fi
done

first=$gateway_pid
export CHIRRUP_LISTEN_SHARED=true
start_gateway --loops 1
# Both accept connections: each returns its own figures, and only one of them has a single loop.
loops() { curl --silent --max-time 10 "$url/metrics" | grep -c '^chirrup_loop_iterations_total{' || true; }
both() { [ "$(for _ in $(seq 40); do loops; done | sort -u | wc -l)" = 2 ]; }
check "two gateways that share an address both respond" await 30 "both gateways" both
check "the second one stops with status 0" stop_gateway
gateway_pid=$first
check "the first one continues alone" gateway_answers
check "and stops with status 0" stop_gateway
