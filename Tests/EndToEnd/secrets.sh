#!/usr/bin/env bash
# No secret that a gateway gave out or was given is in clear in the database: each one that is known is searched in a
# dump, as text, in hexadecimal and in base64. The keys that sign tokens, in clear from before credentials_key was set, are
# encrypted by the next start. The identity secrets of a workspace: shown once, rotated with an overlap, over REST and on
# the command line. The gateways log in as a user that owns nothing.
. "$(dirname "$0")/lib.sh"

new_folder
create_cluster
sql() { psql --no-psqlrc --quiet --tuples-only --no-align "$@" "$database"; }
create_login "$database"
export CHIRRUP_MIGRATIONS_URL=$database
place=(--database-url "postgresql://chirrup_app@/postgres?host=$cluster")
unset CHIRRUP_CREDENTIALS_KEY
key_count() { sql -c "SELECT count(*) FROM signing_keys WHERE $1"; }
key_id() { sql -c "SELECT string_agg(DISTINCT key_id, ' ') FROM signing_keys"; }
status_of() {
  curl --silent --max-time 60 --output /dev/null --write-out '%{http_code}' --header "Authorization: Bearer $1" \
    "$2/api/v1/admin/audit-log"
}

# Without the setting: the keys are in clear.
start_gateway
first_gateway=$gateway_pid first_url=$url
check "without credentials_key the keys of tokens are in clear" test "$(key_count "key_id IS NULL AND octet_length(secret) = 32")" = 1
sql -c "SELECT encode(secret, 'hex') || E'\n' || encode(secret, 'base64') FROM signing_keys" >"$work/first_key"
early=$("$chirrup" token operator --workspace demo "${place[@]}" | cut -d '"' -f 4)
check "… and sign" test "$(status_of "$early" "$url")" = 200

# A second gateway with the setting encrypts them; the first one, which cannot read them any longer, goes on.
old_key=$(openssl rand -base64 33)
export CHIRRUP_CREDENTIALS_KEY=$old_key
port=$(free_port)
url=http://127.0.0.1:$port
start_gateway
check "a gateway with credentials_key encrypts them" test "$(key_count "key_id IS NOT NULL AND secret = ''")" = 1
late=$("$chirrup" token operator --workspace demo "${place[@]}" | cut -d '"' -f 4)
check "tokens from before are accepted" test "$(status_of "$early" "$url")" = 200
sleep 5
check "… and new ones, also by the gateway without credentials_key" test "$(status_of "$late" "$first_url")" = 200
check "keys list works without it" env -u CHIRRUP_CREDENTIALS_KEY "$chirrup" keys list "${place[@]}"
# refused COMMAND…: fails without the setting, and names it.
refused() {
  env -u CHIRRUP_CREDENTIALS_KEY "$@" "${place[@]}" >"$work/refusal" 2>&1 && return 1
  grep -q 'encrypted with a credentials_key that is not set' "$work/refusal"
}
check "token without it is refused" refused "$chirrup" token operator --workspace demo
check "… keys rotate" refused "$chirrup" keys rotate --at-once
check "… identity rotate" refused "$chirrup" identity rotate demo
check "… and a start" refused "$chirrup" serve --listen 127.0.0.1:0
check "… which does not show the key" test "$(grep -c -F "$old_key" "$work/refusal")" = 0
check "a wrong one is refused, too" sh -c "! CHIRRUP_CREDENTIALS_KEY=$(openssl rand -base64 33) '$chirrup' token operator --workspace demo ${place[*]@Q} 2>'$work/refusal'"
check "… in plain words" grep -q 'encrypted with a credentials_key that is not among' "$work/refusal"
check "keys rotate makes an encrypted key" "$chirrup" keys rotate --at-once "${place[@]}"
check "… encrypted" test "$(key_count "key_id IS NOT NULL AND secret = ''")" = 2
unreadable() { grep -q 'encrypted with a credentials_key that this gateway does not have' "$log"; }
check "the gateway without credentials_key says that it cannot read it" await 20 "the line" unreadable
ended() { test "$(status_of "$early" "$first_url")" = 401; }
check "… and refuses the ended one" await 20 "the end" ended
kill -TERM "$first_gateway"
await 60 "the end of the first gateway" process_is_gone "$first_gateway"
check "the gateway stops in good order" stop_gateway

# Another credentials_key: the older one only decrypts, and then is gone.
before=$(key_id)
CHIRRUP_CREDENTIALS_KEY=$(openssl rand -base64 33)
printf '%s\n' "$CHIRRUP_CREDENTIALS_KEY" "$old_key" >"$work/keys"
new_key=$CHIRRUP_CREDENTIALS_KEY
unset CHIRRUP_CREDENTIALS_KEY
export CHIRRUP_CREDENTIALS_KEY_FILE=$work/keys
start_gateway
check "a new credentials_key encrypts the keys of tokens anew" test "$(key_id | grep -c -F "$before")" = 0
check "the gateway stops in good order" stop_gateway
unset CHIRRUP_CREDENTIALS_KEY_FILE
export CHIRRUP_CREDENTIALS_KEY=$new_key
start_gateway
check "… and the old one can go" gateway_answers
# As an older version stored it: the next start encrypts it.
sql -c "UPDATE workspaces SET identity_secret = 'is_of_an_older_version'"
check "the gateway stops in good order" stop_gateway
start_gateway

member() { grep --only-matching "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4 || true; }
bearer=$(token operator | member token)
rest() {
  curl --silent --max-time 60 --request "$1" --header "Authorization: Bearer $bearer" \
    --header 'Content-Type: application/json' "$url/api/v1/admin/$2" ${3:+--data "$3"}
}
public_key=$(sql -c "SELECT public_key FROM workspaces WHERE name = 'demo'")
# identity SECRET: the status of a visitor whom the host site has signed with it.
identity() {
  local jwt
  jwt=$("$python" -c 'import base64, hashlib, hmac, json, sys, time
part = lambda value: base64.urlsafe_b64encode(value).rstrip(b"=")
signed = part(b"{\"alg\":\"HS256\"}") + b"." + part(json.dumps({"sub": "7", "exp": int(time.time()) + 600}).encode())
print((signed + b"." + part(hmac.digest(sys.argv[1].encode(), signed, hashlib.sha256))).decode())' "$1")
  curl --silent --max-time 60 --output /dev/null --write-out '%{http_code}' --header 'Content-Type: application/json' \
    --data "{\"workspace\":\"$public_key\",\"identity\":\"$jwt\"}" "$url/api/v1/widget/token"
}

check "a secret in clear was encrypted at the start" test -z "$(sql -c "SELECT identity_secret FROM workspaces")"
check "… and is accepted" test "$(identity is_of_an_older_version)" = 200
first=$(rest POST identity-secrets '{"overlap_hours":1}' | member secret)
check "a new one is shown once" test -n "$first"
rest GET 'identity-secrets?limit=1' >"$work/page"
check "… the list has the newest by its id" test "$(member id <"$work/page")" = "$(sql -c 'SELECT id FROM identity_secrets ORDER BY created_at DESC LIMIT 1')"
next=$(member next_cursor <"$work/page")
check "… and the older one on the next page" test "$(rest GET "identity-secrets?limit=1&cursor=$next" | member id)" = "$(sql -c 'SELECT id FROM identity_secrets ORDER BY created_at LIMIT 1')"
check "… without the secret" test "$(grep -c -F "$first" "$work/page")" = 0
check "… and accepted" test "$(identity "$first")" = 200
check "… beside the old one" test "$(identity is_of_an_older_version)" = 200
check "another secret is refused" test "$(identity is_nothing)" = 403
sql -c "UPDATE identity_secrets SET ends_at = ends_at - interval '1 hour'"
check "after the overlap the old one is refused" test "$(identity is_of_an_older_version)" = 403
check "… the new one is accepted" test "$(identity "$first")" = 200
made=$("$chirrup" identity rotate demo --overlap-hours 0 "${place[@]}")
second=$(member secret <<<"$made")
check "the command line makes one" test "$(identity "$second")" = 200
check "… and without an overlap ends the others" test "$(identity "$first")" = 403
"$chirrup" identity list demo "${place[@]}" >"$work/listed"
check "… lists it" test "$(member identity_secret <"$work/listed")" = "$(member identity_secret <<<"$made")"
check "… alone, without the secret" test "$(grep -c . "$work/listed") $(grep -c -F "$second" "$work/listed")" = '1 0'
check "… ends it" "$chirrup" identity end demo "$(member identity_secret <<<"$made")" "${place[@]}"
check "… and it is refused" test "$(identity "$second")" = 403
check "the audit log has the changes" test "$(rest GET audit-log | grep -o '"identity_secret\.[a-z]*"' | sort | uniq -c | tr -s ' \n' ' ')" = ' 2 "identity_secret.added" 1 "identity_secret.ended" '

# Every secret that is known from here, a line each.
password='a password of the test, 41'
rest POST members "{\"email\":\"noa@example.com\",\"name\":\"Noa\",\"password\":\"$password\"}" >/dev/null
login=$(curl --silent --max-time 60 --cookie-jar "$work/cookies" --header 'Content-Type: application/json' \
  --data "{\"email\":\"noa@example.com\",\"password\":\"$password\"}" "$url/api/v1/auth/login")
visit=$(curl --silent --max-time 60 --header 'Content-Type: application/json' --data "{\"workspace\":\"$public_key\"}" "$url/api/v1/widget/token")
rest PUT credentials/line '{"secret":"a secret of another service"}' >/dev/null
{
  printf '%s\n' is_of_an_older_version "$first" "$second" "$password" "$new_key" "$old_key" 'a secret of another service'
  printf '%s\n' "$bearer" "$(member token <<<"$login")" "$(member token <<<"$visit")" "$(member refresh <<<"$visit")"
  awk '/chirrup/ && NF == 7 { print $7 }' "$work/cookies"
  rest POST api-keys '{"name":"k","scopes":["audit:read"]}' | member key
  rest POST webhooks '{"url":"https://hooks.example.com/"}' | member secret
} >"$work/known"
check "the secrets are known" test "$(grep -c . "$work/known")" -ge 13
"$python" - "$work/known" >"$work/forms" <<'END'
import base64, sys
for line in open(sys.argv[1]).read().splitlines():
    if line:
        # Without the last characters, which depend on what follows.
        print(line, line.encode().hex(), base64.b64encode(line.encode())[:-4].decode(), sep="\n")
END
cat "$work/first_key" >>"$work/forms"
"$(postgres_bin)/pg_dump" "$database" >"$work/dump"
check "the dump has the data" grep -q 'COPY public.identity_secrets' "$work/dump"
check "… every key of tokens encrypted" test "$(key_count "key_id IS NULL OR secret <> ''")" = 0
check "no secret is in the dump" test "$(grep -c -i -F -f "$work/forms" "$work/dump")" = 0
check "… nor in the log" test "$(grep -c -i -F -f "$work/forms" "$log")" = 0
check "… a secret would be found" test "$( (cat "$work/dump"; tail -n 1 "$work/known") | grep -c -i -F -f "$work/forms")" = 1
check "the gateway stops in good order" stop_gateway

# A credentials_key that is lost.
CHIRRUP_CREDENTIALS_KEY=$(openssl rand -base64 33)
check "with another credentials_key nothing starts" sh -c "! '$chirrup' serve --listen 127.0.0.1:0 ${place[*]@Q} >'$work/refusal' 2>&1"
psql --no-psqlrc --quiet --command 'DELETE FROM signing_keys' "$database"
start_gateway
check "without the keys of tokens a gateway makes a new one" test "$(key_count "key_id IS NOT NULL AND secret = ''")" = 1
check "… and refuses the tokens of the lost ones" test "$(status_of "$late" "$url")" = 401
check "the gateway stops in good order" stop_gateway
check "PostgreSQL refused no statement" is_unrefused
