#!/usr/bin/env bash
# Responses over plain HTTP. With a URL it checks that gateway, without one a private gateway.
. "$(dirname "$0")/lib.sh"

# answers STATUS PATH [CURL OPTION…]
answers() {
  local status=$1 path=$2 found
  shift 2
  found=$(curl --silent --max-time 30 --output "$work/body" --dump-header "$work/head" \
    --write-out '%{http_code}' "$@" "$url$path") || true
  if [ "$found" = "$status" ]; then
    pass "$path answers $status${*:+ to $*}"
  else
    fail "$path answers $found and not $status${*:+ to $*}"
  fi
}

# has FILE PATTERN WHAT
has() {
  if grep --quiet --ignore-case --extended-regexp "$2" "$work/$1"; then
    pass "… $3"
  else
    fail "… $3"
    head -c 400 "$work/$1" >&2
  fi
}

upgrade=(--http1.1 --header 'Connection: Upgrade' --header 'Upgrade: websocket')
key=(--header 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==')

new_folder
start_gateway

answers 200 /healthz
has body '^ok' "with ok"
answers 200 /readyz
has head '^content-type: application/json' "as JSON"
answers 200 /metrics
has body '^# TYPE [a-z_]+ (counter|gauge|histogram)' "in Prometheus' text format"
for asset in widget.js demo console; do answers 200 "/$asset"; done
has head "^content-security-policy: default-src 'none'" "with a content security policy"
answers 200 /widget.js
has head '^content-type: text/javascript' "as JavaScript"
has head '^etag: ' "with an ETag"
etag=$(sed -n 's/^[Ee][Tt][Aa][Gg]: *\([^\r]*\)\r*$/\1/p' "$work/head")
answers 304 /widget.js --header "If-None-Match: $etag"
answers 200 /widget.js --head
answers 200 /widget.js
cp "$work/body" "$work/plain"
answers 200 /widget.js --compressed --header 'Accept-Encoding: gzip'
has head '^content-encoding: gzip' "compressed"
has head '^vary: accept-encoding' "and names the reason"
check "… and decompresses to the same bytes" cmp "$work/body" "$work/plain"
answers 200 /widget.js --compressed --header "If-None-Match: $etag"
answers 404 /no-such-thing
answers 404 /debug/echo
answers 400 /../../etc/passwd --path-as-is
answers 405 /healthz --request DELETE
has head '^allow: ' "and names the allowed methods"
answers 405 /api/v1/ws "${upgrade[@]}" "${key[@]}" --header 'Sec-WebSocket-Version: 13' --request POST
answers 426 /api/v1/ws
answers 426 /api/v1/ws "${upgrade[@]}" "${key[@]}" --header 'Sec-WebSocket-Version: 8'
has head '^sec-websocket-version: 13' "and names version 13"
answers 400 /api/v1/ws "${upgrade[@]}" --header 'Sec-WebSocket-Version: 13'
answers 401 /api/v1/admin/live-chat/conversations
has head '^content-type: application/problem\+json' "as a problem (RFC 9457)"
check "SIGTERM ends the gateway with 0" stop_gateway
