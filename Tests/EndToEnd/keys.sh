#!/usr/bin/env bash
# The keys that sign tokens, on two gateways of one database: a rotation logs nobody out, the old key ends after the
# overlap, and a key that leaked ends at once, with its connections, on both. Every kind of token that is signed.
. "$(dirname "$0")/lib.sh"
folder=$(cd "$(dirname "$0")" && pwd)

new_folder
create_cluster
sql() { psql --no-psqlrc --quiet --tuples-only --no-align "$@" "$database"; }
start_gateway
first=$url
port=$(free_port)
url=http://127.0.0.1:$port
start_gateway
second=$url

# member NAME: of the JSON on standard input, the first one; nothing without.
member() { grep --only-matching "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4 || true; }
password=$(sed -n 's/.*demo@example.com \/ \([a-z0-9-]*\).*/\1/p' "$log" | head -n 1)
[ -n "$password" ] || die "the demo's password is not in the log"
public_key=$(sql -c "SELECT public_key FROM workspaces WHERE name = 'demo'")
post() { curl --silent --max-time 60 --request POST --header 'Content-Type: application/json' "$@"; }
login() {
  post --cookie-jar "$work/cookies" --data "{\"email\":\"demo@example.com\",\"password\":\"$password\"}" \
    "$first/api/v1/auth/login"
}
# widget [REFRESH]: a new visitor, or the one with this refresh secret.
widget() {
  post --data "{\"workspace\":\"$public_key\"${1:+,\"refresh\":\"$1\"}}" "$first/api/v1/widget/token"
}

# take NAME: one token of every kind into NAME.KIND.
kinds=(operator visitor login widget)
take() {
  local kind
  token operator | member token >"$work/$1.operator"
  token visitor | member token >"$work/$1.visitor"
  login | member token >"$work/$1.login"
  widget >"$work/$1.answer"
  member token <"$work/$1.answer" >"$work/$1.widget"
  for kind in "${kinds[@]}"; do [ -s "$work/$1.$kind" ] || die "no token of the kind $kind"; done
}
# kid NAME.KIND: the kid of a token, nothing without.
kid() {
  "$python" -c 'import base64, json, sys
header = sys.stdin.read().split(".")[0]
print(json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4))).get("kid", ""))' <"$work/$1"
}
# rest GATEWAY NAME.KIND: the status of a request with the token.
rest() {
  local call=(GET "$1/api/v1/admin/live-chat/conversations")
  case $2 in *.visitor | *.widget) call=(PUT "$1/api/v1/widget/profile" --data '{}') ;; esac
  curl --silent --max-time 60 --output /dev/null --write-out '%{http_code}' --request "${call[@]}" \
    --header 'Content-Type: application/json' --header "Authorization: Bearer $(cat "$work/$2")"
}
answers() {
  local status
  status=$(rest "$1" "$2")
  [ "$status" = "$3" ] || { echo "the status is $status" >&2; return 1; }
}
socket() { "$python" "$folder/keys_client.py" "$1" "${2/http/ws}/api/v1/ws" "$(cat "$work/$3")"; }
# all NAME STATUS WORD: the answers to the tokens over REST and over the WebSocket, on both gateways.
all() {
  local gateway kind
  for gateway in "$first" "$second"; do
    for kind in "${kinds[@]}"; do
      check "… $1 $kind at $gateway: $2" answers "$gateway" "$1.$kind" "$2"
      check "… over the WebSocket: $3" test "$(socket try "$gateway" "$1.$kind")" = "$3"
    done
  done
}
refused() {
  local gateway
  for gateway in "$first" "$second"; do [ "$(rest "$gateway" "$1.operator")" = 401 ] || return 1; done
}
keys() { "$chirrup" keys "$@" "${place[@]}"; }
fails() { ! "$@" >/dev/null 2>&1; }
states() { keys list | sed 's/.*"state":"\([^"]*\)".*/\1/' | tr '\n' ','; }
are() { [ "$(states)" = "$1" ]; }

take old
check "tokens of the first key have no kid, as before keys were rotated" test -z "$(kid old.operator)$(kid old.widget)"
pass "tokens of the first key are accepted:"
all old 200 welcome

check "keys rotate makes a key" keys rotate
check "… keys list shows no secret" test "$(keys list | grep -c -i secret)" = 0
check "… the key does not sign yet" are 'signs,not yet in use,'
take early
check "… tokens are still of the first key" test -z "$(kid early.login)"
check "… no second one before it signs" fails keys rotate
check "… then it signs" await 60 "the new key" are 'accepted,signs,'
take new
for kind in "${kinds[@]}"; do
  check "a new token of the kind $kind names the new key" test -n "$(kid "new.$kind")"
done
pass "in the overlap tokens of both keys are accepted:"
all old 200 welcome
all new 200 welcome

# hold NAME GATEWAY: connections with its tokens, whose words go into held.NAME.KIND.
hold() {
  local kind
  for kind in "${kinds[@]}"; do
    socket hold "$2" "$1.$kind" >"$work/held.$1.$kind" &
    pids+=($!)
  done
}
# held NAME WORD: whether it was said by all of them.
held() {
  local kind
  for kind in "${kinds[@]}"; do grep -qx "$2" "$work/held.$1.$kind" || return 1; done
}
hold old "$second"
hold new "$first"
check "connections with tokens of the old key are open" await 20 "the welcomes" held old welcome
check "… and with tokens of the new one" await 20 "the welcomes" held new welcome

# The overlap is over: as if a day had passed.
sql -c "UPDATE signing_keys SET ends_at = now() WHERE id = 'tokens'"
check "the old key ends on both gateways within seconds" await 20 "the end" refused old
pass "after it tokens of the old key are refused, those of the new one are not:"
all old 401 4203
all new 200 welcome
check "the old key's connections were closed with 4204" await 20 "the codes" held old 4204
check "… those of the new one stay" test "$(cat "$work"/held.new.* | grep -vxc welcome)" = 0

# A key leaks in the middle of a rotation.
check "another rotation begins" keys rotate
pending=$(keys list | tail -n 1 | member key)
check "the key that signs cannot be ended" fails keys end "$(kid new.login)"
check "… nor one that does not exist" fails keys end nothing
check "keys rotate --at-once does not wait for its turn" keys rotate --at-once
check "all others end on both gateways within seconds" await 20 "the end" refused new
take last
all new 401 4203
all last 200 welcome
check "their connections were closed with 4204" await 20 "the codes" held new 4204
check "the key that had not begun has ended too" \
  test "$(keys list | grep "\"$pending\"" | grep -c '"state":"ended"')" = 1

# What browsers keep is not signed: they return by themselves.
check "a visitor returns to the conversation by the refresh secret" \
  test "$(widget "$(member refresh <"$work/new.answer")" | member session)" = "$(member session <"$work/new.answer")"
post --cookie "$work/cookies" --header "Origin: $first" "$first/api/v1/auth/token" | member token >"$work/renewed.login"
check "an operator gets a new token by the cookie" test "$(rest "$second" renewed.login)" = 200
check "… of the new key" test "$(kid renewed.login)" = "$(kid last.login)"

# A replaced key is ended by its id.
check "keys rotate makes one more" keys rotate
signs_anew() {
  token operator | member token >"$work/next.operator"
  [ "$(kid next.operator)" != "$(kid last.operator)" ]
}
check "… which signs" await 60 "the next key" signs_anew
take next
check "keys end ends the one before" keys end "$(kid last.login)"
check "… on both gateways within seconds" await 20 "the end" refused last
check "… over the WebSocket" test "$(socket try "$first" last.widget)" = 4203
for gateway in "$first" "$second"; do
  check "… those of the next one are accepted at $gateway" test "$(rest "$gateway" next.operator)" = 200
  check "… over the WebSocket" test "$(socket try "$gateway" next.widget)" = welcome
done
secrets() { sql -c "SELECT encode(secret, 'base64') FROM signing_keys UNION SELECT encode(secret, 'hex') FROM signing_keys"; }
check "no key is in the log" test "$(secrets | grep -c -F -f - "$log")" = 0
check "the second gateway stops in good order" stop_gateway
