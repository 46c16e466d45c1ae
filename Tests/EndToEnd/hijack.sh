#!/usr/bin/env bash
# A page of another site in the browser of an operator who is logged in (fault A06, cross-site WebSocket hijacking):
# it gets no token, and its socket nothing but a refusal; it cannot frame the console (X06), and nobody listens to what
# it posts (X05).
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}

new_folder
start_gateway
check "a foreign page cannot use the operator's login" \
  "$python" "$folder/hijack_test.py" --base-url "$url"
stop_gateway
export CHIRRUP_ALLOWED_ORIGINS=$url
start_gateway
check "nor can it open a socket if the settings list the origins" \
  "$python" "$folder/hijack_test.py" --base-url "$url" --listed
stop_gateway
