#!/usr/bin/env bash
# TLS with other implementations, the openssl command and Python's ssl, against a private gateway.
. "$(dirname "$0")/lib.sh"

new_folder
secure=$(free_port)

# certificate FILE NAME: a self-signed one for a name, with its key.
certificate() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj "/CN=$2" \
    -addext "subjectAltName=DNS:$2" -keyout "$work/$1.key" -out "$work/$1.pem" 2>/dev/null
  chmod 600 "$work/$1.key"
}

# client [OPTION…]: an openssl client that sends nothing.
client() { openssl s_client -connect "127.0.0.1:$secure" "$@" </dev/null 2>&1; }

# prints PATTERN WHAT [OPTION…]: the client's output matches.
prints() {
  local pattern=$1 what=$2
  shift 2
  client "$@" >"$work/client" || true
  if grep --quiet --extended-regexp "$pattern" "$work/client"; then
    pass "$what"
  else
    fail "$what"
    tail -n 20 "$work/client" >&2
  fi
}

# refused NAME PATTERN OPTION…: a gateway that does not start, and prints the reason.
refused() {
  local name=$1 pattern=$2 status=0
  shift 2
  timeout 60 "$chirrup" serve --listen none --tls-listen "127.0.0.1:$secure" "${place[@]}" "$@" \
    >"$work/refusal" 2>&1 || status=$?
  if [ $status != 0 ] && [ $status != 124 ] && grep --quiet --extended-regexp "$pattern" "$work/refusal"; then
    pass "$name is refused at the start"
  else
    fail "$name is refused at the start (status $status)"
    tail -n 5 "$work/refusal" >&2
  fi
}

certificate first localhost
certificate second chat.example.com
openssl x509 -in "$work/first.pem" -days -1 -signkey "$work/first.key" -out "$work/expired.pem" 2>/dev/null

refused "a missing certificate" "cannot be read: No such file" --tls-certificates "$work/none.pem"
refused "an expired certificate" "has expired" --tls-certificates "$work/expired.pem" --tls-keys "$work/first.key"
refused "a foreign key" "does not belong" --tls-certificates "$work/first.pem" --tls-keys "$work/second.key"

chmod 644 "$work/second.key"
start_gateway --debug-echo --tls-listen "127.0.0.1:$secure" --tls-certificates "$work/first.pem" \
  --tls-keys "$work/first.key" --tls-certificates "$work/second.pem" --tls-keys "$work/second.key"
check "a key that others can read is warned about" grep --quiet "is readable by other users" "$log"

prints 'New, TLSv1\.3' "TLS 1.3"
prints 'Protocol *: TLSv1\.2' "TLS 1.2" -tls1_2
prints 'ECDHE-ECDSA-.*(GCM|CHACHA20)' "TLS 1.2 with forward secrecy and authenticated encryption" -tls1_2
prints 'alert (protocol version|handshake failure|internal error)|no protocols available' "TLS 1.1 gets an alert" \
  -tls1_1 -cipher DEFAULT@SECLEVEL=0
prints 'alert handshake failure' "CBC ciphers get an alert" -tls1_2 -cipher ECDHE-ECDSA-AES256-SHA384
prints 'ALPN protocol: http/1.1' "ALPN http/1.1" -alpn h2,http/1.1
prints 'no application protocol' "ALPN of others gets an alert" -alpn h2
prints 'subject=CN = chat.example.com' "a name has its certificate" -servername chat.example.com
prints 'subject=CN = localhost' "an unknown name has the first" -servername nobody.test
prints 'subject=CN = localhost' "no name has the first" -noservername

for version in tls1_2 tls1_3; do
  # The ticket of TLS 1.3 comes after the handshake, so the client sends a request first.
  printf 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' |
    openssl s_client -connect "127.0.0.1:$secure" -$version -ign_eof -sess_out "$work/ticket" >"$work/client" 2>&1 || true
  check "an answer over $version" grep --quiet '^HTTP/1.1 200' "$work/client"
  prints '^Reused' "resumption over $version" -$version -sess_in "$work/ticket"
done

# printed PATTERN: waits until the client has printed it; the next check fails if it did not.
printed() { await 30 "$1 from openssl" grep --quiet --ignore-case --extended-regexp "$1" "$work/client" || true; }

# The client ends with its input, which therefore stays open until the expected text is printed.
: >"$work/client"
{
  printed '^---$'
  printf 'R\n'
  printed 'no renegotiation'
} | openssl s_client -connect "127.0.0.1:$secure" -tls1_2 >"$work/client" 2>&1 || true
check "renegotiation is refused" grep --quiet --ignore-case 'no renegotiation' "$work/client"

for letter in K k; do
  : >"$work/client"
  {
    printed '^---$'
    printf '%s\n' $letter
    printed 'KEYUPDATE'
    printf 'GET /healthz HTTP/1.1\nHost: localhost\nConnection: close\n\n'
    printed '^HTTP/1.1 '
  } | openssl s_client -connect "127.0.0.1:$secure" -tls1_3 -crlf >"$work/client" 2>&1 || true
  check "an answer after a key update ($letter)" grep --quiet '^HTTP/1.1 200' "$work/client"
done

# RFC 6066 §4: the client takes no record of more than 512 bytes, and the page has 4 KiB and more.
fragments() {
  printf 'GET /widget.js HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' |
    timeout 60 openssl s_client -connect "127.0.0.1:$secure" -tls1_3 -maxfraglen 512 -ign_eof >"$work/client" 2>&1 || true
  curl --silent --max-time 30 --output "$work/whole" "$url/widget.js"
  grep --quiet '^HTTP/1.1 200' "$work/client" && [ "$(wc -c <"$work/client")" -gt "$(wc -c <"$work/whole")" ]
}
check "max_fragment_length is respected" fragments

check "plain HTTP on the TLS port gets a 400" grep --quiet '^HTTP/1.1 400' \
  <(curl --silent --include --max-time 30 "http://127.0.0.1:$secure/healthz")

check "a Python client sends, disconnects and resumes" "$python" "$(dirname "$0")/tls_client.py" "$secure"

# The same with records of our own.
stop_gateway
export CHIRRUP_TLS_COMPACT_RECORDS=true
start_gateway --debug-echo --tls-listen "127.0.0.1:$secure" --tls-certificates "$work/first.pem" \
  --tls-keys "$work/first.key" --tls-certificates "$work/second.pem" --tls-keys "$work/second.key"
check "compact records: max_fragment_length is respected" fragments
check "compact records: a Python client sends, disconnects and resumes" "$python" "$(dirname "$0")/tls_client.py" "$secure"
unset CHIRRUP_TLS_COMPACT_RECORDS

certificate first renewed.example.com
kill -HUP "$gateway_pid"
kill -HUP "$gateway_pid"
renewed() { client | grep --quiet 'subject=CN = renewed.example.com'; }
check "SIGHUP loads the new certificate" await 60 "the new certificate" renewed
echo broken >"$work/first.pem"
kill -HUP "$gateway_pid"
check "an invalid one is logged" await 60 "the log" grep --quiet "nothing was changed: the certificate" "$log"
check "… and changes nothing" renewed
check "… and the gateway drains" stop_gateway

[ $failures = 0 ]
