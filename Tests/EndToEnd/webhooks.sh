#!/usr/bin/env bash
# Webhooks: two gateways on one database deliver to a receiver that fails 30 % of the time, and one of them is killed
# with -9 in the middle. Every event of every conversation arrives in order, and once if repeated ids are ignored.
# Forbidden addresses get no request.
. "$(dirname "$0")/lib.sh"
folder=$(cd "$(dirname "$0")" && pwd)

new_folder
create_cluster
export CHIRRUP_WEBHOOKS_TIMEOUT_SECONDS=1 CHIRRUP_WEBHOOKS_RETRY_MILLISECONDS=100
export CHIRRUP_WEBHOOKS_ALLOW_PRIVATE=true
sql() { psql --no-psqlrc --quiet --tuples-only --no-align "$@" "$database"; }

start_gateway
first_pid=$gateway_pid
first=$url
port=$(free_port)
url=http://127.0.0.1:$port
start_gateway

receiver_port=$(free_port)
"$python" "$folder/webhook_receiver.py" "$receiver_port" "$work/taken" 2>"$work/receiver.log" &
pids+=($!)
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 \
  -keyout "$work/key.pem" -out "$work/certificate.pem" 2>/dev/null
cat "$work/key.pem" >>"$work/certificate.pem"
secure_port=$(free_port)
"$python" "$folder/webhook_receiver.py" "$secure_port" "$work/secure" "$work/certificate.pem" 2>>"$work/receiver.log" &
pids+=($!)

# rest METHOD GATEWAY PATH [JSON]: prints the response; fails as curl does.
rest() {
  curl --silent --fail-with-body --max-time 10 --request "$1" --header "Authorization: Bearer $bearer" \
    --header 'Content-Type: application/json' "$2/api/v1/admin/$3" ${4:+--data "$4"}
}
# status METHOD PATH [JSON]: prints the status of a request to the second gateway.
status() {
  curl --silent --max-time 10 --output "$work/answer" --write-out '%{http_code}' --request "$1" \
    --header "Authorization: Bearer $bearer" --header 'Content-Type: application/json' \
    "$url/api/v1/admin/$2" ${3:+--data "$3"}
}
# member NAME: prints the first member with this name in the JSON of standard input, at any depth.
member() { grep --only-matching "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4; }
receives() { curl --silent --output /dev/null "http://127.0.0.1:$receiver_port/"; }
await 5 "the receiver" receives

sql -c "UPDATE memberships SET role = 'agent'"
bearer=$(token operator | member token)
check "an agent cannot create a webhook" \
  test "$(status POST webhooks "{\"url\":\"http://127.0.0.1:$receiver_port/\"}")" = 403
sql -c "UPDATE memberships SET role = 'owner'"
bearer=$(token operator | member token)
made=$(rest POST "$first" webhooks "{\"url\":\"http://127.0.0.1:$receiver_port/\"}") || die "no webhook: $made"
hook=$(member id <<<"$made")
member secret <<<"$made" >"$work/taken.secret"
check "its secret is returned once" test "$(rest GET "$first" webhooks | grep -c whsec_)" = 0
check "… and is not in the database" test "$(sql -c "SELECT count(*) FROM webhooks
  WHERE position('whsec_'::bytea IN secret_ciphertext) > 0 OR secret_key_id <> 'signing'")" = 0

# Operators write in conversations through either gateway.
token visitor 8 >/dev/null
mapfile -t sessions < <(sql -c "SELECT id FROM chat_sessions ORDER BY id")
write() { rest POST "$1" "live-chat/conversations/$2/messages" "{\"body\":\"$3\"}" >/dev/null; }
# An operator may have five at once.
for session in "${sessions[@]:0:4}"; do
  rest POST "$first" "live-chat/conversations/$session/claim" >/dev/null || die "a claim was refused"
done
for number in 1 2 3 4 5; do
  for session in "${sessions[@]}"; do
    write "$first" "$session" "one $number" &
    write "$url" "$session" "two $number" &
    wait $! || fail "a message was refused"
  done
done
kill -KILL "$first_pid"
wait "$first_pid" 2>/dev/null || true
pass "kill -9 of the first gateway, with $(sql -c "SELECT count(*) FROM webhook_deliveries
  WHERE status = 'pending'") deliveries waiting and $(sql -c "SELECT count(*) FROM webhook_deliveries
  WHERE lease IS NOT NULL") under way"
for session in "${sessions[@]}"; do
  for number in 1 2 3; do write "$url" "$session" "three $number" || die "a message was refused"; done
  rest POST "$url" "live-chat/conversations/$session/close" >/dev/null || die "it was not closed"
done

expected() {
  sql --field-separator ' ' -c "SELECT id, 0, 'conversation.created' FROM chat_sessions
    UNION ALL SELECT session_id, seq, CASE kind WHEN 'event' THEN 'conversation.' || (payload ->> 'event')
      ELSE 'message.created' END FROM chats
    UNION ALL SELECT NULL, 0, 'visitor.created' FROM visitors" | sed 's/^ /- /'
}
settled() { [ "$(sql -c "SELECT count(*) FROM webhook_deliveries WHERE status <> 'delivered'")" = 0 ]; }
check "everything is delivered" await 30 "no pending delivery" settled
check "… every event, in order, without duplicates" \
  "$python" "$folder/webhooks_check.py" "$work/taken" < <(expected)
counted() { has_metric "$url" "^chirrup_webhooks_$1 [1-9]"; }
check "… and counted" counted delivered_total
check "… with the failed attempts" counted attempts_failed_total
check "the delivery log has them, with their attempts" \
  test "$(rest GET "$url" "webhooks/$hook/deliveries?status=delivered&limit=5" | grep -o '"attempts":' | wc -l)" = 5
check "a receiver with Stripe's library takes the last one, and refuses changed and replayed ones" \
  "$python" "$folder/webhook_replay.py" "$work/taken"
errors=$(sql -c "SELECT DISTINCT last_error FROM webhook_deliveries WHERE last_error IS NOT NULL")
check "errors have the kind of failure and the status, nothing of the body (1)" grep -qx 'HTTP 500' <<<"$errors"
check "… (2)" test -z "$(grep -E 'x{3}|y{3}|[Ff]ollowed: |/' <<<"$errors")"
again=$(rest GET "$url" "webhooks/$hook/deliveries?limit=1" | member id)
came() { [ "$(grep -c "^$again " "$work/taken")" -gt "$1" ]; }
before=$(grep -c "^$again " "$work/taken")
rest POST "$url" "webhooks/$hook/deliveries/$again/redeliver" >/dev/null
check "a delivery can be sent again, under its id" await 10 "the same id" came "$before"

# Addresses that get no request.
for address in 168.63.129.16 169.254.169.254 '[fd00:ec2::254]' 100.100.100.200 '[::ffff:169.254.169.254]'; do
  check "the metadata service at $address is refused, in private networks too" \
    test "$(status POST webhooks "{\"url\":\"http://$address/latest/meta-data\"}")" = 400
done
sql -c "UPDATE webhooks SET url = 'http://169.254.169.254/latest/meta-data' WHERE id = '$hook'"
rest POST "$url" "webhooks/$hook/test" >/dev/null
refused() { sql -c "SELECT last_error FROM webhook_deliveries WHERE status <> 'delivered'" | grep -q "$1"; }
check "… and not connected to, if the database has it" await 10 "its refusal" refused 'not public'
sql -c "UPDATE webhooks SET url = 'http://127.0.0.1:$receiver_port/' WHERE id = '$hook'"
secure=$(rest POST "$url" webhooks "{\"url\":\"https://127.0.0.1:$secure_port/\"}" | member id)
rest POST "$url" "webhooks/$secure/test" >/dev/null
complains() { rest GET "$url" "webhooks/$1/deliveries" | grep -q "\"last_error\":\"[^\"]*$2"; }
check "a server without a trusted certificate gets no request" await 10 "the error" complains "$secure" certificate
check "… nothing" test ! -s "$work/secure"
rest DELETE "$url" "webhooks/$secure" >/dev/null
check "a gateway with webhooks stops with status 0" stop_gateway
CHIRRUP_WEBHOOKS_ALLOW_PRIVATE=false start_gateway
check "without allow_private an address of this machine is refused" \
  test "$(status PATCH "webhooks/$hook" '{"url":"http://127.0.0.1/"}')" = 400
sql -c "UPDATE webhooks SET url = 'http://localhost:$receiver_port/'"
seen=$(wc -l <"$work/taken")
rest POST "$url" "webhooks/$hook/test" >/dev/null
check "… and a name of such an address is not connected to" await 10 "the error" complains "$hook" 'public internet'
check "… not once" test "$(wc -l <"$work/taken")" = "$seen"
check "the audit log has the changes" test "$(sql -c "SELECT count(DISTINCT action) FROM audit_log
  WHERE action IN ('webhook.created', 'webhook.deleted')")" = 2
check "the receiver logged no error" test ! -s "$work/receiver.log"
check "the gateway then stops with status 0" stop_gateway
