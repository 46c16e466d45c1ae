#!/usr/bin/env bash
# The API reference (/api) in a real Chromium: search, deep links, keyboard, and requests with a key that is stored
# nowhere. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}

new_folder
start_gateway
check "the API reference in a browser" \
  "$python" "$folder/reference_test.py" --base-url "$url" --log "$log" \
  --operator-token "$(token operator | "$python" -c 'import json, sys; print(json.load(sys.stdin)["token"])')" \
  --visitor "$(token visitor)" ${SHOTS:+--shots "$SHOTS"}
check "the gateway then stops with status 0" stop_gateway
