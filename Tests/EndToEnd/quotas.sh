#!/usr/bin/env bash
# Quotas of visitors over all their sockets and both loops: messages, stored bytes, open conversations, new visitors and requests. Each
# answer names the quota and the time to wait; operators and other visitors are not affected. The settings show the limits.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")

new_folder
export CHIRRUP_LIMITS_SENDS_PER_VISITOR=60 CHIRRUP_LIMITS_STORED_MEBIBYTES_PER_VISITOR=1
export CHIRRUP_LIMITS_CONVERSATIONS_PER_VISITOR=3 CHIRRUP_LIMITS_NEW_VISITORS_PER_WORKSPACE=36
export CHIRRUP_LIMITS_REQUESTS_PER_VISITOR=5
start_gateway --loops 2
token operator >"$work/operator"
check "quotas hold over all sockets" timeout 120 "$python" "$folder/quotas_test.py" --url "$url" --log "$log" \
  --operator "$work/operator"
check "SIGTERM ends the gateway with 0" stop_gateway

export CHIRRUP_LIMITS_SENDS_PER_WORKSPACE=100
start_gateway --loops 2
token operator >"$work/operator"
check "a workspace's quota can be used over one loop, and holds over both" timeout 120 "$python" \
  "$folder/quotas_test.py" --url "$url" --log "$log" --operator "$work/operator" workspace
check "SIGTERM ends the gateway with 0 again" stop_gateway

[ $failures = 0 ]
