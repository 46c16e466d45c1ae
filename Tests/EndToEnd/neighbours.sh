#!/usr/bin/env bash
# Noisy neighbours: 64 parallel searches of one agent in a workspace with 60,000 conversations change another workspace's
# REST requests and visitors' tokens by less than twice at the median, and the acknowledgements of its messages by nothing
# that can be told from chance. Ratios of one run, quiet and loud times in turns, so that the speed of the machine
# does not matter. CONVERSATIONS and ROUNDS make it larger.
#
# PostgreSQL runs on the same machine: a search may use one core, so one with a single core cannot pass.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")

new_folder
create_cluster
start_gateway --loops 2
"$chirrup" workspace create Quiet "${place[@]}" >"$work/quiet"
"$chirrup" operator create "${place[@]}" --workspace Quiet --email quiet@example.com --name Quinn --role agent \
  --password "nothing to hear here" --keep-password
"$chirrup" token operator --workspace Quiet "${place[@]}" >"$work/operator"
"$chirrup" token operator --workspace demo "${place[@]}" >"$work/loud"
check "demo-data fills the loud workspace" \
  "$chirrup" demo-data "${place[@]}" --conversations "${CONVERSATIONS:-60000}" --open 400
check "a loud workspace does not slow a quiet one" timeout 400 "$python" "$folder/neighbours_test.py" --url "$url" \
  --workspace "$work/quiet" --operator "$work/operator" --loud "$work/loud" --rounds "${ROUNDS:-5}"
check "SIGTERM ends the gateway with 0" stop_gateway

[ $failures = 0 ]
