#!/usr/bin/env bash
# The demo widget and the console in a real Chromium, against a private gateway. Pictures go to the folder
# SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
# Empty means playwright's own browser.
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}

new_folder
start_gateway
check "widget and console in a browser" \
  "$python" "$folder/browser_test.py" --base-url "$url" ${SHOTS:+--shots "$SHOTS"}
check "the gateway then stops with status 0" stop_gateway
