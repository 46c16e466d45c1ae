#!/usr/bin/env bash
# The console on slow, lost and foreign networks, and as an installed application: what a login loads and how long the
# first list takes, an upgrade under an open console, the loss of the network, and the application on a phone. In a real
# Chromium, with a private PostgreSQL. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
# Empty means playwright's own browser.
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}

new_folder
create_cluster
start_gateway
check "demo-data fills the workspace" "$chirrup" demo-data "${place[@]}" --conversations 300 --open 150
check "the console everywhere" "$python" "$folder/console_everywhere_test.py" --base-url "$url" \
  --database "$database" --psql "$(postgres_bin)/psql" --operator-token "$(token operator)" \
  ${SHOTS:+--shots "$SHOTS"} ${ONLY:+--only "$ONLY"}
check "the gateway then stops with status 0" stop_gateway

[ $failures = 0 ]
