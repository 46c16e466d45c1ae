#!/usr/bin/env bash
# Push messages to operators: a real console in Chromium turns them on, two gateways on one database send them, and a
# push service of this test receives them, with clients of others: http-ece decrypts, py-vapid verifies. Faults of the
# push service, kill -9 of a gateway, and everything that ends a subscription. Pictures go to the folder SHOTS, if set.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}
# The push service runs here. A lease is the time limit and 5 s.
export CHIRRUP_WEBHOOKS_ALLOW_PRIVATE=true CHIRRUP_WEBHOOKS_RETRY_MILLISECONDS=300
export CHIRRUP_WEBHOOKS_TIMEOUT_SECONDS=2

new_folder
create_cluster
start_gateway
first_pid=$gateway_pid
port=$(free_port)
url=http://127.0.0.1:$port
start_gateway
# not_logged PATTERN: in the log of both gateways.
not_logged() { ! grep -E "$1" "$log"; }

check "push messages" "$python" "$folder/push_test.py" --base-url "$url" --database "$database" \
  --psql "$(postgres_bin)/psql" --operator-token "$(token operator)" --other-gateway "$first_pid" \
  ${SHOTS:+--shots "$SHOTS"} ${ONLY:+--only "$ONLY"}
check "no address of a push service, key or text of a visitor is in the logs" \
  not_logged '/push/|p256dh|Is anybody there|My order'
check "no statement was refused" is_unrefused
check "the gateway then stops with status 0" stop_gateway

[ $failures = 0 ]
