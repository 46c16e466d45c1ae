#!/usr/bin/env bash
# The situations of config/RUNBOOK.md whose cause is the gateway, its surroundings or people: each fault is made, the
# program must say what the page quotes, and the page's commands must end it.
. "$(dirname "$0")/lib.sh"
. "$root/Tests/EndToEnd/runbook.sh" "$@"
client=$root/Tests/EndToEnd/runbook_client.py

new_folder
secure=$(free_port)
admin=http://127.0.0.1:$(free_port)
export CHIRRUP_ADMIN_LISTEN=${admin#http://} CHIRRUP_LISTEN=127.0.0.1:$port CHIRRUP_CONFIG=$work/chirrup.yaml
export CHIRRUP_DATA_DIR=$data
place=()
cat >"$CHIRRUP_CONFIG" <<YAML
loops: 2
drain_seconds: 1
tls: {listen: "127.0.0.1:$secure", certificates: $work/tls.pem, keys: $work/tls.key}
limits: {sends_per_visitor: 100, connections: 1000}
webhooks: {allow_private: true, retry_milliseconds: 300}
YAML

# What the page's commands use.
systemctl() {
  case $* in
    'start chirrup') start_gateway ;;
    'stop chirrup') stop_gateway || true ;;
    'restart chirrup')
      stop_gateway || true
      [ ! -e "$work/credentials_key" ] || export CHIRRUP_CREDENTIALS_KEY_FILE=$work/credentials_key
      start_gateway
      ;;
    'reload chirrup') kill -HUP "$gateway_pid" ;;
    'reload nginx')
      proxy "$passes_upgrade"
      ;;
    *) return 1 ;;
  esac
}
journalctl() { tail -n 30 "$log"; }
certbot() { certificate tls; }
nginx() { command nginx -t -c "$work/nginx.conf"; }

# certificate FILE [OPTION…]: a new one for localhost.
certificate() {
  local file=$1
  shift
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 90 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost -keyout "$work/$file.key" -out "$work/$file.pem" "$@" 2>/dev/null
  chmod 600 "$work/$file.key"
}
member() { grep --only-matching "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4; }
rest() {
  curl --silent --show-error --max-time 30 --request "$1" --header "Authorization: Bearer $bearer" \
    --header 'Content-Type: application/json' "$url/api/v1/admin/$2" ${3:+--data "$3"}
}
socket=ws://127.0.0.1:$port/api/v1/ws
# converse MODE TOKENS [TEXT]: a client in the background, whose words are answers.
converse() {
  "$python" "$client" "$1" "$socket" "$2" >>"$work/answers" 2>&1 &
  pids+=($!)
}
answer_has() { grep --quiet --fixed-strings -- "$1" "$work/answers"; }
login() { "$python" "$client" login "$url" "$@"; }

situation_visitors_wait_for_an_operator() {
  "$python" "$client" say "$socket" "$visitor" "is anybody there?" >"$work/said"
  sees
  echo 'a password of the test, 20' >"$work/typed"
  does "workspace=demo" "email=ada@example.com" "name=Ada"
  converse hold "$(token operator)"
  await 30 "the operator's connection" answer_has open || fail "no operator connects"
  rest POST "live-chat/conversations/$(member session <<<"$visitor")/claim" >"$work/claim"
  over
}

situation_webhooks_do_not_arrive() {
  local receiver hook delivery
  receiver=$(free_port)
  hook=$(rest POST webhooks "{\"url\":\"http://127.0.0.1:$receiver/\"}" | member id)
  rest POST "webhooks/$hook/test" >"$work/test"
  attempted() { has_metric "$admin" '^chirrup_webhooks_attempts_failed_total [1-9]'; }
  await 30 "an attempt" attempted || fail "no attempt"
  answered rest GET "webhooks/$hook/deliveries"
  delivery=$(member id <"$work/answers")
  sees
  "$python" "$client" receive "$receiver" &
  pids+=($!)
  does "token=$bearer" "url=$url" "webhook=$hook" "delivery=$delivery"
  delivered() { answered rest GET "webhooks/$hook/deliveries" && answer_has '"status":"delivered"'; }
  await 30 "the delivery" delivered || fail "no delivery"
  over
}

situation_one_visitor_floods() {
  local flooder
  flooder=$(token visitor)
  converse flood "$flooder"
  sees
  does "workspace=demo" "token=$bearer" "url=$url" "visitor=$(member visitor <<<"$flooder")"
  over
}

situation_somebody_else_uses_an_operators_account() {
  local password='a password of the test, 31' answer
  chirrup operator create --workspace demo --email eve@example.com --name Eve --password "$password" --keep-password \
    >"$work/eve"
  login eve@example.com "wrong, and a guess" >"$work/guess"
  answer=$(login eve@example.com "$password")
  converse hold "${answer#* }"
  await 30 "the thief's connection" answer_has open || fail "the thief does not connect"
  sees
  echo 'a password of the test, 32' >"$work/typed"
  does "email=eve@example.com" "operator=$(member operator <"$work/eve")"
  check "the stolen password is refused" test "$(login eve@example.com "$password" | cut -c 1-3)" = 401
  over
}

situation_an_operator_cannot_log_in() {
  local password='a password of the test, 41'
  chirrup operator create --workspace demo --email noa@example.com --name Noa --password "$password" --keep-password \
    >"$work/noa"
  "$python" "$client" enrol "$url" noa@example.com "$password" >"$work/secret"
  answered login noa@example.com "forgotten, a guess"
  answered login noa@example.com "$password" 000000
  sees
  echo 'a password of the test, 42' >"$work/typed"
  does "email=noa@example.com"
  answered login noa@example.com 'a password of the test, 42'
  over
}

# proxy LINES: nginx at $proxy_port with these lines in its location.
proxy() {
  [ -z "${nginx_pid-}" ] || end "$nginx_pid" TERM 10
  mkdir -p "$work/nginx"
  cat >"$work/nginx.conf" <<NGINX
daemon off;
pid $work/nginx/pid;
error_log $work/nginx/error.log;
events {}
http {
  access_log off;
  client_body_temp_path $work/nginx; proxy_temp_path $work/nginx; fastcgi_temp_path $work/nginx;
  uwsgi_temp_path $work/nginx; scgi_temp_path $work/nginx;
  server {
    listen 127.0.0.1:$proxy_port;
    location / { proxy_pass http://127.0.0.1:$port; proxy_http_version 1.1; $1 }
  }
}
NGINX
  command nginx -c "$work/nginx.conf" 2>>"$work/nginx.log" &
  nginx_pid=$!
  pids+=("$nginx_pid")
  await 20 "nginx" curl --silent --output /dev/null "http://127.0.0.1:$proxy_port/healthz" || die "nginx does not start"
}
passes_upgrade='proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;
  proxy_set_header Host $host:$server_port; proxy_set_header X-Forwarded-For $remote_addr;
  proxy_set_header X-Forwarded-Proto $scheme;'

# upgrade ORIGIN: the status of the handshake of a WebSocket.
upgrade() {
  local answer
  exec 9<>"/dev/tcp/127.0.0.1/$port"
  printf '%s\r\n' 'GET /api/v1/ws HTTP/1.1' 'Host: 127.0.0.1' 'Connection: Upgrade' 'Upgrade: websocket' \
    'Sec-WebSocket-Version: 13' 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' "Origin: $1" '' >&9
  read -r -t 60 answer <&9 || true
  exec 9>&-
  printf '%s\n' "${answer%$'\r'}"
}
upgrade_is() { [[ $(upgrade "$1") == "HTTP/1.1 $2"* ]]; }

situation_pages_load_but_the_chat_stays_offline() {
  command -v nginx >/dev/null || die "nginx is not installed"
  proxy_port=$(free_port)
  doctor_options=(--public-url "http://127.0.0.1:$proxy_port")
  proxy ""
  # The list counts within 5 seconds.
  chirrup workspace origins demo --allow https://old.example.com >"$work/origins"
  sees
  does
  await 30 "the refusal of another site" upgrade_is https://www.example.com 403 || fail "no refusal"
  answered upgrade https://www.example.com
  sees
  does "workspace=demo" "site=https://www.example.com"
  await 30 "the admission" upgrade_is https://www.example.com 101 || fail "no admission"
  answered upgrade https://www.example.com
  over
  doctor_options=()
  chirrup workspace origins demo --any >"$work/origins"
}

situation_new_clients_are_refused() {
  local limit=400 hard
  hard=$(prlimit --pid "$gateway_pid" --nofile --noheadings --output HARD)
  prlimit --pid "$gateway_pid" --nofile=$limit:"$hard"
  mkfifo "$work/crowd"
  "$python" "$client" crowd 127.0.0.1 "$port" $limit <"$work/crowd" >"$work/crowded" 2>&1 &
  pids+=($!)
  exec 8>"$work/crowd"
  await 30 "a crowd" grep --quiet open "$work/crowded" || fail "no crowd: $(cat "$work/crowded")"
  is_short() { tail --bytes=+$((since + 1)) "$log" | grep --quiet 'cannot accept'; }
  await 30 "the shortage" is_short || fail "no shortage"
  exec 8>&-
  sees
  does "process=$gateway_pid" "limit=$hard"
  over
}

situation_the_certificate_expires() {
  sees
  openssl x509 -in "$work/tls.pem" -days -1 -signkey "$work/tls.key" -out "$work/expired.pem" 2>/dev/null
  mv "$work/expired.pem" "$work/tls.pem"
  systemctl reload chirrup
  sees
  does
  doctor_options=(--authority "$work/tls.pem")
  over
  doctor_options=()
}

situation_a_loop_is_held() {
  mkfifo "$work/hold"
  "$python" "$root/Tests/EndToEnd/hold_thread.py" "$gateway_pid" loop-0 <"$work/hold" >"$work/held" 2>&1 &
  pids+=($!)
  exec 8>"$work/hold"
  await 10 "a thread that is held" grep --quiet held "$work/held" || fail "$(cat "$work/held")"
  sees
  does
  exec 8>&-
  over
}

situation_the_gateway_has_ended() {
  kill -KILL "$gateway_pid"
  wait "$gateway_pid" 2>/dev/null || true
  answered curl --silent --show-error "$url/healthz"
  sees
  does
  over
}

situation_the_private_database_is_lost() {
  local backup
  backup=$(find "$work/backups" -mindepth 1 -maxdepth 1 -name 'chirrup-*')
  stop_gateway || fail "the gateway does not stop in good order"
  : >"$data/postgres/data/global/pg_control"
  timeout 120 "$chirrup" serve >>"$log" 2>&1 || true
  sees
  does "folder=$data" "backup=$backup"
  check "the message of before the backup is restored" answer_has 'restored 1 messages in'
  over
}

situation_two_gateways_have_different_keys() {
  local other key
  key=$(openssl rand -base64 33)
  CHIRRUP_CREDENTIALS_KEY=$key CHIRRUP_ADMIN_LISTEN=none "$chirrup" serve \
    --listen "127.0.0.1:$(free_port)" --tls-listen "127.0.0.1:$(free_port)" \
    --database-url "postgresql://chirrup@/chirrup?host=$data/postgres/run" \
    >"$work/other.log" 2>&1 &
  other=$!
  pids+=("$other")
  sees
  printf '%s\n' "$key" >"$work/copy"
  does "copy of the key=$work/copy" "file=$work/credentials_key"
  over
  end "$other" TERM 20
}

certificate tls -days 5
check "lines that are not said are noticed" notices_wrong_lines
start_gateway
visitor=$(token visitor)
bearer=$(token operator | member token)
"$python" "$client" say "$socket" "$visitor" "before the backup" >"$work/said"
"$chirrup" backup "$work/backups" --no-verify >"$work/backup" 2>&1 || fail "no backup: $(tail -n 3 "$work/backup")"
situation visitors-wait-for-an-operator
situation webhooks-do-not-arrive
situation one-visitor-floods
situation somebody-else-uses-an-operators-account
situation an-operator-cannot-log-in
situation pages-load-but-the-chat-stays-offline
situation new-clients-are-refused
situation the-certificate-expires
situation a-loop-is-held
situation the-gateway-has-ended
situation the-private-database-is-lost
situation two-gateways-have-different-keys
check "the gateway then stops with status 0" stop_gateway
