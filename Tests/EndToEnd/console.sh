#!/usr/bin/env bash
# The console with two operators in it and some hundred conversations, in a real Chromium, against a private
# gateway. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
# Empty means playwright's own browser.
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}
conversations=${CONVERSATIONS:-300}

new_folder
start_gateway
check "demo-data fills the workspace" \
  "$chirrup" demo-data "${place[@]}" --conversations "$conversations" --open 60
check "operator create adds a second operator" "$chirrup" operator create "${place[@]}" --workspace demo \
  --email dana@example.com --name "Dana <b>K</b>" --role agent --password "two in one thread" --keep-password
check "the console in a browser" \
  "$python" "$folder/console_test.py" --base-url "$url" ${SHOTS:+--shots "$SHOTS"}
check "emoji in the composer" \
  "$python" "$folder/emoji_test.py" --base-url "$url" ${SHOTS:+--shots "$SHOTS"}
check "the gateway then stops with status 0" stop_gateway
