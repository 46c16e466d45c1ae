#!/usr/bin/env bash
# What a hardened deployment relies on: metrics at an address of their own, HSTS and the headers of pages, secrets from
# files and from systemd, and a gateway started as root that becomes another user.
CHIRRUP_ADMIN_LISTEN=
. "$(dirname "$0")/lib.sh"
unset CHIRRUP_ADMIN_LISTEN

status() { curl --silent --insecure --max-time 10 --output "$work/body" --dump-header "$work/head" --write-out '%{http_code}' "$@"; }
header() { grep --quiet --ignore-case --extended-regexp "$1" "$work/head"; }
lacks() { ! header "$1"; }
logged() { grep --quiet "$1" "$log"; }

new_folder
create_cluster
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 \
  -keyout "$work/key.pem" -out "$work/certificate.pem" 2>/dev/null
secure=$(free_port) admin=$(free_port)
tls=(--tls-listen "127.0.0.1:$secure" --tls-certificates "$work/certificate.pem" --tls-keys "$work/key.pem")
start_gateway "${tls[@]}" --admin-listen "127.0.0.1:$admin"

check "/metrics is at admin_listen" test "$(status "http://127.0.0.1:$admin/metrics")" = 200
check "… with figures" grep -q '^chirrup_up{' "$work/body"
check "… and probes" test "$(status "http://127.0.0.1:$admin/readyz")" = 200
check "… not at listen" test "$(status "$url/metrics")" = 404
check "… nor at tls.listen" test "$(status "https://127.0.0.1:$secure/metrics")" = 404
for path in /console /widget.js /api/v1/openapi.json /api/v1/ws /; do
  check "admin_listen does not serve $path" test "$(status "http://127.0.0.1:$admin$path")" = 404
done
check "admin_listen takes no login" test "$(status --request POST --data '{}' "http://127.0.0.1:$admin/api/v1/auth/login")" = 404

check "the console over TLS" test "$(status "https://127.0.0.1:$secure/console")" = 200
check "… has HSTS" header '^strict-transport-security: max-age=31536000'
check "… and a Permissions-Policy" header '^permissions-policy: .*camera=\(\)'
check "… and COOP" header '^cross-origin-opener-policy: same-origin'
check "… and CORP" header '^cross-origin-resource-policy: same-origin'
check "an error of the API over TLS" test "$(status "https://127.0.0.1:$secure/api/v1/nothing")" = 404
check "… has HSTS" header '^strict-transport-security: max-age='
check "the console in plain text" test "$(status "$url/console")" = 200
check "… has no HSTS" lacks '^strict-transport-security:'
check "the widget's script" test "$(status "$url/widget.js")" = 200
check "… may be embedded by other origins" header '^cross-origin-resource-policy: cross-origin'
check "without credentials_key the log says who can read the secrets" logged 'credentials_key is not set'
if [ "$(id -u)" = 0 ]; then check "running as root is in the log" logged 'runs as root'; fi
check "the gateway stops in good order" stop_gateway

# The default address is taken: a second gateway starts all the same.
: >"$log"
export CHIRRUP_TLS_HSTS_SECONDS=0
start_gateway "${tls[@]}" --admin-listen none
check "hsts_seconds 0 sends no HSTS" test "$(status "https://127.0.0.1:$secure/console")" = 200
check "… none" lacks '^strict-transport-security:'
check "admin_listen none: no metrics at all" test "$(status "$url/metrics")" = 404
check "the gateway stops in good order" stop_gateway
unset CHIRRUP_TLS_HSTS_SECONDS

# Secrets from files.
: >"$log"
(umask 077 && openssl rand -base64 33 >"$work/new_key" && openssl rand -base64 33 >"$work/old_key" &&
  cat "$work/new_key" "$work/old_key" >"$work/keys" && printf '%s\n' "$database" >"$work/database_url")
place=()
export CHIRRUP_CREDENTIALS_KEY_FILE=$work/keys CHIRRUP_DATABASE_URL_FILE=$work/database_url
start_gateway --admin-listen none
check "secrets come from files that variables name" gateway_answers
check "… and the log does not complain" test "$(grep -c 'credentials_key is not set' "$log")" = 0
check "… nor shows them" test "$(grep -c -F -f "$work/new_key" "$log")" = 0
check "the gateway stops in good order" stop_gateway
unset CHIRRUP_CREDENTIALS_KEY_FILE CHIRRUP_DATABASE_URL_FILE

: >"$log"
mkdir -m 700 "$work/credentials"
cp "$work/keys" "$work/credentials/credentials_key"
cp "$work/database_url" "$work/credentials/database_url"
export CREDENTIALS_DIRECTORY=$work/credentials
start_gateway --admin-listen none
check "secrets come from systemd's credentials" gateway_answers
check "… and the log does not complain" test "$(grep -c 'credentials_key is not set' "$log")" = 0
check "the gateway stops in good order" stop_gateway
unset CREDENTIALS_DIRECTORY

refuses() { "$chirrup" serve --listen "127.0.0.1:$port" >"$work/refusal" 2>&1 && return 1; grep -q "$1" "$work/refusal"; }
export CHIRRUP_CREDENTIALS_KEY_FILE=$work/nothing
check "a missing file stops the start, with its path" refuses "$work/nothing cannot be read: No such file"
: >"$work/nothing"
check "… so does an empty one" refuses "$work/nothing is empty"
CHIRRUP_CREDENTIALS_KEY=$(cat "$work/new_key")
export CHIRRUP_CREDENTIALS_KEY
check "… and a secret that is given twice" refuses 'CHIRRUP_CREDENTIALS_KEY and CHIRRUP_CREDENTIALS_KEY_FILE are both set'
unset CHIRRUP_CREDENTIALS_KEY CHIRRUP_CREDENTIALS_KEY_FILE

# What a release consists of.
if [ -e "$root/.build/release/chirrup.product/Objects.LinkFileList" ]; then
  check "scripts/sbom lists what is linked" "$root/scripts/sbom"
  for part in swift-log swift-configuration libssl3 libpq5; do
    check "… with $part and its version" grep -qE "\"pkg:(swift|deb)/[^\"]*$part@[0-9]" "$root/.build/release/chirrup.cdx.json"
  done
  check "… no package of the load generator" test "$(grep -c hdrhistogram "$root/.build/release/chirrup.cdx.json")" = 0
  check "… the licences" grep -q 'Apache License' "$root/.build/release/LICENSES.txt"
  sums() { (cd "$root/.build/release" && sha256sum --check --quiet SHA256SUMS); }
  check "… and checksums" sums
fi

# Root becomes another user, with a private database.
if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1; then
  : >"$log"
  place=(--data-dir "$data")
  export CHIRRUP_USER=nobody
  port=$((RANDOM % 400 + 600)) url=http://127.0.0.1:$port
  start_gateway --admin-listen none
  of() { awk -v name="$1:" '$1 == name { print $2 }' "/proc/$2/status"; }
  check "started as root, the gateway is another user" test "$(of Uid "$gateway_pid")" = "$(id -u nobody)"
  check "… in every thread" test -z "$(cat /proc/"$gateway_pid"/task/*/status | awk -v wanted="$(id -u nobody)" '$1 == "Uid:" && ($2 != wanted || $3 != wanted || $4 != wanted)')"
  check "… without groups of root" test "$(of Gid "$gateway_pid")" = "$(id -g nobody)"
  check "… and listens below 1024" gateway_answers
  check "… with no other capability" test "$(of CapEff "$gateway_pid")" = 0000000000000400
  server=$(head -n 1 "$data/postgres/data/postmaster.pid")
  check "the private PostgreSQL is the same user" test "$(of Uid "$server")" = "$(id -u nobody)"
  check "… without capabilities" test "$(of CapEff "$server")" = 0000000000000000
  check "the log names no root" test "$(grep -c 'runs as root' "$log")" = 0
  check "the gateway stops in good order, with its PostgreSQL" stop_gateway
  CHIRRUP_USER=nobody-of-that-name
  check "a user that does not exist stops the start" refuses 'there is no user nobody-of-that-name'
  unset CHIRRUP_USER
fi
