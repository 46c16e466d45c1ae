#!/usr/bin/env bash
# Change without a stop: SIGHUP and `chirrup reload` take over a changed configuration, or refuse it as a whole. The
# database's password changes while messages flow, and none is lost.
. "$(dirname "$0")/lib.sh"
folder=$(cd "$(dirname "$0")" && pwd)

new_folder
create_cluster
create_login "$database"
sql() { psql --no-psqlrc --quiet --tuples-only --no-align --command "$1" "$database"; }
sql "ALTER ROLE chirrup_app PASSWORD 'first secret'"
# From here on the gateway's login needs its password.
sed -i '1i local all chirrup_app scram-sha-256' "$cluster/data/pg_hba.conf"
sql "SELECT pg_reload_conf()" >"$work/reload.out"

admin=127.0.0.1:$(free_port)
secret=$work/database_url
config=$work/chirrup.yaml
# secret PASSWORD: the file of the gateway's URL.
secret() { printf 'postgresql://chirrup_app:%s@/postgres?host=%s\n' "${1// /%20}" "$cluster" >"$secret"; }
# configure [LINE…]: the file of settings; the last line of a key is the one that counts.
configure() { printf '%s\n' "admin_listen: $admin" "drain_seconds: 1" "$@" >"$config"; }
unset CHIRRUP_ADMIN_LISTEN
export CHIRRUP_DATABASE_URL_FILE=$secret CHIRRUP_CONFIG=$config
secret 'first secret'
configure 'loops: 2' 'limits: {sends_per_visitor: 0}'
place=()
CHIRRUP_MIGRATIONS_URL=$database start_gateway
reload() { "$chirrup" reload "$@" 2>&1; }
# got TEXT COMMAND…: the output contains the text.
got() {
  local text=$1
  shift
  "$@" >"$work/out" 2>&1 || true
  grep --quiet --fixed-strings -- "$text" "$work/out" || { cat "$work/out" >&2; return 1; }
}
logged() { grep --quiet --fixed-strings -- "$1" "$log"; }
status_of() { curl --silent --max-time 60 --output /dev/null --write-out '%{http_code}' "$@"; }
# upgrade ORIGIN: the status of an upgrade.
upgrade() {
  local answer
  exec 9<>"/dev/tcp/127.0.0.1/$port"
  printf '%s\r\n' 'GET /api/v1/ws HTTP/1.1' 'Host: 127.0.0.1' 'Connection: Upgrade' 'Upgrade: websocket' \
    'Sec-WebSocket-Version: 13' 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' "Origin: $1" '' >&9
  read -r -t 60 answer <&9 || true
  exec 9>&-
  [[ $answer =~ ^HTTP/1.1\ ([0-9]+) ]] && printf '%s' "${BASH_REMATCH[1]}"
}
# each_loop ORIGIN STATUS: connections on all loops get this status.
each_loop() {
  local _
  for _ in 1 2 3 4 5 6 7 8; do
    [ "$(upgrade "$1")" = "$2" ] || return 1
  done
}
fails() { ! "$@"; }

check "an unchanged configuration changes nothing" got "Reloaded: 0 used now, 0 after a restart." reload
check "any origin may connect" each_loop https://two.test 101

# A conversation for the whole test.
token visitor >"$work/visit"
"$python" "$folder/reload_client.py" "$url" "$(cat "$work/visit")" "$work/stop" >"$work/client" 2>&1 &
client=$!
pids+=("$client")
# sent: the number of messages that were sent.
sent() { tail -n 1 "$work/client" | cut -d ' ' -f 2; }
more() { [ "$(sent)" -ge "$1" ]; }
check "messages flow" await 60 "the first acknowledgements" more 20

configure 'loops: 3' 'allowed_origins: https://one.test' 'log: {level: debug}' 'limits: {sends_per_visitor: 0}'
check "--check lists what would change" got "allowed_origins: * → https://one.test" reload --check
check "… and what waits" grep --quiet "waits for a restart: loops: 2 → 3" "$work/out"
check "… each once" test "$(grep --count "→" "$work/out")" = 3
check "… and changes nothing" each_loop https://two.test 101
check "reload takes it over" got "Reloaded: 2 used now, 1 after a restart." reload
check "the origins apply on every loop" each_loop https://two.test 403
check "… of the listed one too" each_loop https://one.test 101
check "the log has each change" logged "setting=allowed_origins"
check "… and the log has lines of level info, such as the ends of connections" grep --quiet ' info connection ended ' "$log"
check "as JSON" got '"setting":"loops"' reload --json

configure 'allowed_origins: https://three.test' 'limits: {connections: many}' 'colour: blue'
check "a wrong file is refused" fails reload
check "… with the message of serve" got 'limits.connections (' reload
check "… and each problem" grep --quiet "colour: unknown setting" "$work/out"
"$chirrup" serve >"$work/serve.out" 2>&1 || true
check "… which serve prints too" \
  test "$(grep 'limits.connections' "$work/serve.out")" = "$(grep 'limits.connections' "$work/out")"
before=$(wc -l <"$log")
kill -HUP "$gateway_pid"
refused() { tail -n +"$((before + 1))" "$log" | grep --quiet "invalid, so nothing was changed"; }
check "SIGHUP logs the refusal" await 20 "the refusal" refused
check "… and nothing is taken over" each_loop https://three.test 403
check "… of what was used before" each_loop https://one.test 101

configure 'loops: 2' 'log: {level: warning}' 'trusted_proxies: 127.0.0.1' 'limits: {sends_per_visitor: 0}'
kill -HUP "$gateway_pid"
any_origin() { [ "$(upgrade https://two.test)" = 101 ]; }
check "SIGHUP takes a right file over" await 20 "any origin again" any_origin
before=$(wc -l <"$log")
any_origin
check "… with its level of the log: lines of level info have ended" fails grep --quiet ' info ' \
  <(sleep 1; tail -n +"$((before + 1))" "$log")

# The old password does not work any longer; the open connections go on.
sql "ALTER ROLE chirrup_app PASSWORD 'second secret'"
secret 'wrong secret'
before=$(wc -l <"$log")
kill -HUP "$gateway_pid"
unusable() { tail -n +"$((before + 1))" "$log" | grep --quiet "nothing was changed.*password authentication failed"; }
check "a wrong password is refused, and the old connections stay" await 30 "the refusal" unusable
secret 'second secret'
backends() { sql "SELECT string_agg(pid::text, ' ' ORDER BY pid) FROM pg_stat_activity WHERE usename = 'chirrup_app'"; }
old=$(backends)
check "the right one is taken over" got "database_url: changed" reload
replaced() {
  local now pid
  now=" $(backends) "
  for pid in $old; do [[ $now != *" $pid "* ]] || return 1; done
}
check "every connection to PostgreSQL is replaced" await 20 "new connections" replaced
check "messages flow on" await 60 "more messages" more $(($(sent) + 20))
check "the log has no secret" fails grep --quiet --extended-regexp '(first|second|wrong)( |%20)secret' "$log"

# The window of maintenance needs PostgreSQL to be checked.
configure 'loops: 2' 'log: {level: warning}' 'limits: {sends_per_visitor: 0}' 'maintenance: {window: "02:00-02:00"}'
check "a window without a duration is refused" got 'maintenance.window (' reload
check "… with the accepted values" grep --quiet 'such as 02:00-05:00 Europe/Berlin' "$work/out"
configure 'loops: 2' 'log: {level: warning}' 'limits: {sends_per_visitor: 0}' 'maintenance: {window: "02:00-05:00 Berlin"}'
check "a window in an unknown time zone is refused" got 'PostgreSQL knows no time zone "Berlin"' reload --check
configure 'loops: 2' 'log: {level: warning}' 'limits: {sends_per_visitor: 0}' \
  'maintenance: {window: "22:30-04:00 Europe/Berlin", conversation_days: 3650}'
check "a right one is taken over" got 'maintenance.window: none → 22:30-04:00 Europe/Berlin' reload
check "… with the days" grep --quiet 'maintenance.conversation_days: 0 → 3650' "$work/out"

touch "$work/stop"
check "no message was lost, doubled or refused, over one connection" wait "$client"
tail -n 1 "$work/client"
check "strangers cannot reload" test "$(status_of --request POST "http://$admin/reload")" = 401
check "… and the public address has no such path" test "$(status_of --request POST "$url/reload")" = 404
check "the gateway is ready" test "$(status_of "$url/readyz")" = 200

# A database that takes connections and never answers.
silent=$(free_port)
"$python" -c 'import socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    kept = []
    while True:
        kept.append(server.accept())
        print("accepted", flush=True)' "$silent" >"$work/silent" &
pids+=($!)
tries() { wc -l <"$work/silent"; }
is_open() { (exec 9<>"/dev/tcp/127.0.0.1/$silent"); }
await 20 "a silent server" is_open && await 20 "its line" test -s "$work/silent" || die "there is no silent server"
tries=$(tries)
printf 'postgresql://chirrup_app@127.0.0.1:%s/postgres?connect_timeout=600\n' "$silent" >"$secret"
kill -HUP "$gateway_pid"
is_tried() { [ "$(tries)" -gt "$tries" ]; }
check "a database that does not answer is tried" await 30 "the attempt" is_tried
check "… and the gateway serves meanwhile" test "$(status_of "$url/readyz")" = 200
before=$SECONDS
check "it stops in good order, and does not wait for that database" stop_gateway
check "… at once" test $((SECONDS - before)) -lt 60
check "… and says that nothing was changed" logged "nothing was changed: the gateway stops"
