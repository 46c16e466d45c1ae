#!/usr/bin/env bash
# workloads.sh: echo, fan-out and upgrade against one gateway, plain and over TLS, every reply and every seq checked; and
# a comparison of two servers.
# Figures are measured by hand (LoadTests/RESULTS.md): here nothing depends on the machine's speed.
. "$(dirname "$0")/lib.sh"

new_folder
tls_port=$(free_port)
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=127.0.0.1 \
  -addext subjectAltName=IP:127.0.0.1 -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
start_gateway --debug-echo --tls-listen "127.0.0.1:$tls_port" \
  --tls-certificates "$work/cert.pem" --tls-keys "$work/key.pem"
chat=(--chirrup "$chirrup" "${place[@]}")
short=(--seconds 0.3 --warm-up 0.1 --verify --pid "$gateway_pid")
plain=ws://127.0.0.1:$port
secure=wss://127.0.0.1:$tls_port

check "echo" "$chirrup_load" echo "$plain/debug/echo" --in-flight 16 "${short[@]}"
check "echo of long messages" "$chirrup_load" echo "$plain/debug/echo" --size 60000 --in-flight 3 "${short[@]}"
check "echo over TLS, at a rate" "$chirrup_load" echo "$secure/debug/echo" --authority "$work/cert.pem" \
  --rate 500 --in-flight 64 "${short[@]}"
check "a client that never sleeps, and whose waiting is not its work" "$chirrup_load" echo "$plain/debug/echo" \
  --busy-poll --connections 4 --rate 100 --threshold "client_cores < 0.5" "${short[@]}"
check "fan-out of committed messages" "$chirrup_load" fanout "$plain" "${chat[@]}" --subscribers 200 --pending 8 "${short[@]}"
check "fan-out over TLS, at a rate" "$chirrup_load" fanout "$secure" --authority "$work/cert.pem" "${chat[@]}" \
  --subscribers 50 --rate 50 "${short[@]}"
check "upgrades" "$chirrup_load" upgrade "$plain/debug/echo" --connections 1000
check "upgrades, and the chat behind them" "$chirrup_load" upgrade "$plain" "${chat[@]}" --connections 500
refuses() { ! "$@" 2>"$work/said" && grep -q "http 404" "$work/said"; }
check "an address without an echo is said" refuses "$chirrup_load" echo "$plain/nowhere" --connections 3
check "the gateway then stops with status 0" stop_gateway

# A second gateway stands for another server with the same protocol.
cat >"$work/compare.yaml" <<'END'
rounds: 1
servers:
  - name: chirrup
    kind: chirrup
    command: ["{chirrup}", serve, --demo, --loops=1, "--data-dir={scratch}/one", "--listen=127.0.0.1:{port}"]
    ready: http://127.0.0.1:{port}/readyz
    chat: ws://127.0.0.1:{port}
    data-directory: "{scratch}/one"
  - name: other
    kind: plain
    postgres: "{scratch}/two"
    command: ["{chirrup}", serve, --demo, --loops=1, "--data-dir={scratch}/other", "--database-url={database}",
              "--listen=127.0.0.1:{port}"]
    ready: http://127.0.0.1:{port}/readyz
    chat: ws://127.0.0.1:{port}
    tokens: ["{chirrup}", token, "{role}", --workspace, demo, --count, "{count}", --database-url, "{database}"]
work:
  - name: a chat
    kind: chat
    split: true
    options: { visitors: 20, operators: 2, rate: 50, seconds: 2, warm-up: 1 }
    goals: [{ figure: database-cpu, against: other, at-most: 1000 }]
END
check "two chat servers are compared, and their PostgreSQLs" "$chirrup_load" compare --plan "$work/compare.yaml" --check \
  --port "$(free_port)" --chirrup "$chirrup"
