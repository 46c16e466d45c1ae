#!/usr/bin/env bash
# load.sh [SECONDS]: 2,000 visitors and 20 operators on one gateway, every message accounted for.
. "$(dirname "$0")/lib.sh"

new_folder
start_gateway
check "2000 visitors, 20 operators, ${1:-15} s" \
  "$chirrup_load" chat --url "ws://127.0.0.1:$port" --chirrup "$chirrup" "${place[@]}" \
  --visitors 2000 --operators 20 --rate 1000 --seconds "${1:-15}"
check "the gateway then stops with status 0" stop_gateway
