#!/usr/bin/env bash
# Socket activation (sd_listen_fds(3)) with systemd's own systemd-socket-activate, which keeps the sockets open: a gateway
# is restarted under it while connections come in, and none is refused. Status 77: the program is missing.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")

command -v systemd-socket-activate >/dev/null || { echo "not tried: there is no systemd-socket-activate"; exit 77; }
new_folder
create_cluster

# activate NAMES ADDRESS…: the sockets stay with a shell, which starts a gateway, and the next one when that has ended.
activate() {
  local names=$1 address arguments=()
  shift
  for address; do arguments+=(--listen "$address"); done
  # shellcheck disable=SC2016
  systemd-socket-activate "${arguments[@]}" --fdname "$names" "${passed[@]}" bash -c '
    trap "rm -f \"$1/again\"" TERM
    while :; do
      bash -c "LISTEN_PID=\$\$ exec \"\$@\"" - "${@:2}" &
      echo $! >"$1/pid"
      wait $! && [ -e "$1/again" ] || exit
    done' - "$work" "$chirrup" serve --drain-seconds 1 --admin-listen none "${place[@]}" >>"$log" 2>&1 &
  manager=$!
  pids+=("$manager")
}
passed=()
for name in $(compgen -e | grep -E '^(CHIRRUP|SWIFT|PATH)' | grep -v ADMIN_LISTEN) TMPDIR; do passed+=(--setenv "$name"); done

activate http "127.0.0.1:$port"
touch "$work/again"
# The first connection starts the gateway, and waits for it.
check "a connection starts the gateway and is served" curl --silent --fail --max-time 60 --retry 3 --retry-connrefused \
  --output /dev/null "$url/healthz"
ready() { curl --silent --fail --max-time 10 --output /dev/null "$url/readyz"; }
await 60 "a gateway that is ready" ready
gateway_pid=$(cat "$work/pid")
check "the gateway listens on the socket that it has inherited" grep --quiet "addresses=\[127.0.0.1:$port\]" "$log"

"$python" "$folder/activation_clients.py" "$port" "$work/stop" >"$work/clients" 2>&1 &
clients=$!
pids+=("$clients")
await 30 "the first answers" grep --quiet answered "$work/clients"
first=$gateway_pid
kill -TERM "$first"
other() { [ "$(cat "$work/pid")" != "$first" ] && ready; }
check "another gateway serves after a restart" await 60 "the next gateway" other
touch "$work/stop"
check "no connection of those made meanwhile was refused or lost" wait "$clients"
tail -n 1 "$work/clients"

kill -TERM "$manager"
kill -TERM "$(cat "$work/pid")"
await 30 "the end of the gateway" process_is_gone "$(cat "$work/pid")"

# refused NAMES TEXT [OPTION…]: a gateway that does not start, with the reason.
refused() {
  local names=$1 text=$2
  port=$(free_port)
  : >"$log"
  activate_once "$names" "${@:3}"
  await 20 "the reason" grep --quiet --fixed-strings -- "$text" "$log" || { tail -n 5 "$log"; return 1; }
}
activate_once() {
  systemd-socket-activate --listen "${2-127.0.0.1:$port}" --fdname "$1" "${@:3}" "${passed[@]}" "$chirrup" serve \
    --admin-listen none "${place[@]}" >>"$log" 2>&1 &
  pids+=($!)
  await 20 "a listening socket" connected "${2-127.0.0.1:$port}"
}
connected() {
  case $1 in
  /*) "$python" -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$1" ;;
  *) "$python" -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)' "${1##*:}" ;;
  esac
}
check "a socket with another name is refused with the names that are known" \
  refused web "Set FileDescriptorName= in its socket unit to one of: http, https, admin"
check "a socket that is not of TCP is refused" refused http \
  "descriptor 3 (http) of the service manager is not a listening TCP socket" "$work/unix"

[ $failures = 0 ]
