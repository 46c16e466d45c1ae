#!/usr/bin/env bash
# Incomplete TLS handshakes (faults T02, T04): COUNT (15,000) connections in two waves. Each costs the gateway
# less than 2 KiB, visitors are served meanwhile, and after their end the process is as large as before.
. "$(dirname "$0")/lib.sh"

count=${1:-15000}
processes=4
new_folder
secure=$(free_port)
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj "/CN=localhost" \
  -addext "subjectAltName=DNS:localhost" -keyout "$work/key.pem" -out "$work/chain.pem" 2>/dev/null
chmod 600 "$work/key.pem"
ulimit -n "$(ulimit -Hn)"
# Each client process holds its share, and the gateway all of them.
[ "$(ulimit -n)" = unlimited ] || [ "$(ulimit -n)" -ge $((count + 1000)) ] || count=$(($(ulimit -n) - 1000))

# Loopback is not exempt here, so that the limit of handshakes by address applies to the flood.
export CHIRRUP_LIMITS_EXEMPT_ADDRESSES=none CHIRRUP_LIMITS_CONNECTIONS_PER_ADDRESS=0 \
  CHIRRUP_LIMITS_CONNECTS_PER_ADDRESS=0
start_gateway --loops 2 --tls-listen "127.0.0.1:$secure" --tls-certificates "$work/chain.pem" --tls-keys "$work/key.pem"

# memory: prints the memory of the process, in KiB, without the pages of its program, which it reads as it needs them.
memory() { awk '/^RssAnon:/ { print $2 }' "/proc/$gateway_pid/status"; }
# figure NAME: prints a figure, summed over the loops.
figure() {
  curl --silent --max-time 30 "$url/metrics" | awk -v name="chirrup_$1{" 'index($1, name) == 1 { sum += $2 } END { print sum + 0 }'
}
visit() { timeout 300 "$python" "$(dirname "$0")/tls_flood.py" visit "$secure" "$1" 127.0.0.9; }
opened() { [ "$(cat "$work"/flood.* | grep --count open)" = $processes ]; }
is_gone() {
  local sockets
  sockets=$(figure sockets) && [ "$sockets" -lt 50 ]
}
is_small() { [ $(($(memory) - before)) -le 32768 ]; }
between() { [ "$1" -le "$2" ] && [ "$2" -le "$3" ]; }
# sample: the most handshakes under way, and the largest growth of the process, of the wave so far.
sample() {
  local under_way growth
  under_way=$(figure tls_handshakes_under_way) || under_way=0
  [ "$under_way" -le "$most" ] || most=$under_way
  growth=$(($(memory) - before))
  [ "$growth" -le "$grown" ] || grown=$growth
  sleep 0.1
}

check "visitors connect before the flood" visit 30
before=$(memory)
wave_number=0
for wave in first second; do
  wave_number=$((wave_number + 1))
  rm -f "$work"/flood.*
  mkfifo "$work/hold.$wave"
  floods=()
  for ((number = 0; number < processes; number++)); do
    "$python" "$(dirname "$0")/tls_flood.py" flood "$secure" $((count / processes)) \
      "127.0.$wave_number.$((number + 1))" <"$work/hold.$wave" >"$work/flood.$number" &
    floods+=($!)
    pids+=($!)
  done
  # The pipe stays open for as long as it is written to.
  exec 8>"$work/hold.$wave"
  most=0
  grown=0
  begin=$SECONDS
  until { opened && [ "$most" -gt 0 ]; } || [ $((SECONDS - begin)) -gt 300 ]; do sample; done
  check "$wave wave: $count connections are opened" opened
  check "… and visitors from other addresses connect" visit 5
  # A loop posts its figures every half second.
  for ((turn = 0; turn < 15; turn++)); do sample; done
  # 100 of each address. The two loops post their figures in their own time.
  check "… handshakes are in progress, 400 at most (seen: $most)" between 1 "$most" $((2 * 100 * processes))
  # Beside what those take, 48 KiB each at most (seen: 45).
  check "… and each other socket costs less than 2 KiB (the process grew by $grown KiB)" \
    between 0 "$grown" $((2 * count + 48 * 100 * processes))
  exec 8>&-
  for pid in "${floods[@]}"; do wait "$pid" || true; done
  check "… the flood ends" await 120 "the end of the flood's sockets" is_gone
  check "… and the process's memory is within 32 MiB of before" await 60 "a small process" is_small
  printf 'memory: %s KiB before, %s KiB after the %s wave\n' "$before" "$(memory)" "$wave"
done
check "visitors connect after the flood" visit 30
check "SIGTERM ends the gateway with 0" stop_gateway

[ $failures = 0 ]
