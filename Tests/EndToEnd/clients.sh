#!/usr/bin/env bash
# Two third-party clients use the gateway: PyPI's websockets, also compressed, and node's WebSocket.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")

new_folder
start_gateway
check "client of PyPI websockets" \
  "$python" "$folder/client_websockets.py" "ws://127.0.0.1:$port/api/v1/ws" "$(token visitor)" "$(token operator)"
# Before node 22 its WebSocket is behind a flag that later versions ignore.
check "client of node" \
  "$node" --experimental-websocket "$folder/client_node.mjs" "ws://127.0.0.1:$port/api/v1/ws" \
  "$(token visitor)" "$(token operator)"
check "the gateway then stops with status 0" stop_gateway
# Each kind of compression has a gateway, since it is negotiated before the hello.
for keeps in no yes; do
  CHIRRUP_COMPRESSION_CONTEXT_TAKEOVER=$keeps start_gateway --debug-echo
  check "compressed messages, context kept: $keeps" "$python" "$folder/client_deflate.py" \
    "ws://127.0.0.1:$port" "$(token visitor)" "$(token operator)" $keeps
  check "… and the gateway stops" stop_gateway
done
