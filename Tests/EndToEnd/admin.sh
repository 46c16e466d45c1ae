#!/usr/bin/env bash
# The administrator's pages: analytics, webhooks with a real receiver, credentials, messages, own account, and every
# settings page without a server. In a real Chromium. Pictures go to the folder SHOTS, if it
# is set.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}
# The receiver is on this machine.
export CHIRRUP_WEBHOOKS_ALLOW_PRIVATE=true CHIRRUP_WEBHOOKS_RETRY_MILLISECONDS=100

new_folder
create_cluster
start_gateway
receiver_port=$(free_port)
"$python" "$folder/webhook_receiver.py" "$receiver_port" "$work/taken" 2>"$work/receiver.log" &
pids+=("$!")
check "analytics, webhooks and API keys in a browser" \
  "$python" "$folder/admin_test.py" --base-url "$url" --database "$database" \
  --psql "$(postgres_bin)/psql" --chirrup "$chirrup" --taken "$work/taken" \
  --receiver "http://127.0.0.1:$receiver_port" ${SHOTS:+--shots "$SHOTS"}
check "the gateway then stops with status 0" stop_gateway
