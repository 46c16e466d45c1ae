#!/usr/bin/env bash
# durable.sh: what is acknowledged at saturation and at half of it is stored once, and batching beats single INSERTs.
# The figures are measured by hand (LoadTests/RESULTS.md); the bounds here are wide enough for a busy machine.
. "$(dirname "$0")/lib.sh"

new_folder
start_gateway
check "every ack is stored once, and the gateway is faster than one INSERT a message" \
  "$chirrup_load" durable --url "ws://127.0.0.1:$port" --chirrup "$chirrup" --data-dir "$data" \
  --senders 1000 --rounds 1 --seconds 2 --check --direct-ratio 0 --insert-ratio 1 --ack-milliseconds 0
check "the gateway then stops with status 0" stop_gateway
