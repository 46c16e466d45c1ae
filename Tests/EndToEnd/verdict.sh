#!/usr/bin/env bash
# A verifier that never fails proves nothing. Here the database and the wire are tampered with, and
# chirrup-load must end with 1 and name what was done.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/background_load.sh"

new_folder
create_cluster
start_gateway

sql() { "$(postgres_bin)/psql" --quiet --no-psqlrc --command "$1" "$database"; }

# Few clients, so that each of them sends many messages.
few=(--visitors 5 --operators 1 --rate 80 --operator-share 0.1 --seconds 600 --drain-seconds 3)

# convicts WHAT FIGURE: the load must end with 1 and count at least one of them.
convicts() {
  local status=0
  end_load
  wait "$load_pid" || status=$?
  if [ $status = 1 ] && [ "$(figure "$2")" -gt 0 ]; then
    pass "$1: status 1, $(figure "$2") $2"
  else
    cat "$work/load.out"
    fail "$1: status $status, $(figure "$2") $2"
  fi
}

start_load "$port" "${few[@]}"
await_acks 100
sql "DELETE FROM chats WHERE (session_id, seq) IN
  (SELECT session_id, seq FROM chats ORDER BY created_at DESC, seq LIMIT 1)"
convicts "a row is deleted" lost

start_load "$port" "${few[@]}"
await_acks 100
sql "UPDATE chats SET content = content || '!' WHERE (session_id, seq) IN
  (SELECT session_id, seq FROM chats ORDER BY created_at DESC, seq LIMIT 1)"
convicts "a row is changed" mismatched

for fault in drop:holes duplicate:duplicated swap:reordered; do
  proxy_port=$(free_port)
  "$python" "$(dirname "$0")/tamper.py" "$proxy_port" "ws://127.0.0.1:$port/api/v1/ws" "${fault%:*}" \
    >"$work/proxy.out" 2>"$work/proxy.log" &
  pids+=($!)
  await 60 "the proxy" grep --quiet ready "$work/proxy.out" || die "no proxy: $(cat "$work/proxy.log")"
  start_load "$proxy_port" "${few[@]}"
  await_acks 240
  convicts "the wire plays ${fault%:*}" "${fault#*:}"
done
start_load "$port" "${few[@]}"
await_acks 100
end_load
check "the same load without falsification passes" wait "$load_pid"
