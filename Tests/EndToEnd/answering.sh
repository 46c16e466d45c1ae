#!/usr/bin/env bash
# An operator's typing is only ever a reply: the console in a real Chromium, with delayed responses of the gateway. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
# Empty means playwright's own browser.
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}

new_folder
start_gateway
check "demo-data fills the workspace" "$chirrup" demo-data "${place[@]}" --conversations 300 --open 200
check "operator create adds a second operator" "$chirrup" operator create "${place[@]}" --workspace demo \
  --email dana@example.com --name Dana --role agent --password "two in one thread" --keep-password
check "answering in a browser" \
  "$python" "$folder/answering_test.py" --base-url "$url" ${SHOTS:+--shots "$SHOTS"}
check "the gateway then stops with status 0" stop_gateway
