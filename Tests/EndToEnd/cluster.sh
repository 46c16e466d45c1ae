#!/usr/bin/env bash
# cluster.sh: three gateways on one database behind HAProxy, under load. All three are restarted in turn, and one is
# killed with -9. Nothing acknowledged may be missing, nothing stored twice, no subscriber may see a hole; the longest
# acknowledgement is reported. On a quiet machine it is below 1 s; the limit here leaves room for a busy one. A client
# that reconnects during a restart must not meet an error of the proxy.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/background_load.sh"

ack_limit_ms=5000
new_folder
create_cluster
front=$(free_port)
declare -A ports gateways

# gateway NUMBER: starts it, and waits until HAProxy sends it connections.
gateway() {
  port=${ports[$1]}
  url=http://127.0.0.1:$port
  start_gateway --loops 2 --drain-seconds 4
  gateways[$1]=$gateway_pid
  await 60 "gateway $1 at the proxy" proxy_says "$1" UP || die "HAProxy does not see gateway $1"
}
# proxy_says NUMBER STATE
proxy_says() {
  curl --silent --max-time 10 "http://127.0.0.1:$front/proxy;csv" | grep "^gateways,g$1,.*,$2," >/dev/null
}
# The proxy's own errors count as responses of its backend.
no_errors() {
  curl --silent --max-time 10 "http://127.0.0.1:$front/proxy;csv" | awk -F , '
    NR == 1 { for (column = 1; column <= NF; column++) if ($column == "hrsp_5xx") errors = column }
    $1 == "gateways" && $2 == "BACKEND" { found = 1; count = $errors }
    END { if (count) print count " errors of the proxy"; exit !(found && errors && count == 0) }'
}

for number in 1 2 3; do
  ports[$number]=$(free_port)
done
cat >"$work/haproxy.cfg" <<END
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  timeout tunnel 1h
  retries 3
  option redispatch 1
  retry-on conn-failure
frontend public
  bind 127.0.0.1:$front
  stats enable
  stats uri /proxy
  default_backend gateways
backend gateways
  balance leastconn
  option httpchk GET /readyz
  default-server check inter 200ms fall 2 rise 1 observe layer4 on-error fail-check
  server g1 127.0.0.1:${ports[1]}
  server g2 127.0.0.1:${ports[2]}
  server g3 127.0.0.1:${ports[3]}
END
haproxy -db -f "$work/haproxy.cfg" >"$work/haproxy.log" 2>&1 &
pids+=($!)
await 30 "HAProxy" curl --silent --fail --output /dev/null "http://127.0.0.1:$front/proxy;csv" ||
  die "HAProxy does not start: $(tail -n 3 "$work/haproxy.log")"
for number in 1 2 3; do gateway $number; done

start_load "$front" --visitors 120 --operators 6 --rate 200 --seconds 900 --operator-share 0.2
await_acks 300
for number in 1 2 3; do
  gateway_pid=${gateways[$number]}
  check "gateway $number drains under load and ends with status 0" stop_gateway
  gateway $number
  await_acks 100
done
check "no client met an error of the proxy during a restart" no_errors
kill -KILL "${gateways[2]}"
wait "${gateways[2]}" 2>/dev/null || true
await_acks 200
gateway 2
await_acks 200
end_load
conclude "three gateways, each restarted, one killed"
noticed "reconnects" "$(figure reconnects)"
longest=$(figure ack_max_ms)
if awk -v longest="$longest" -v limit=$ack_limit_ms 'BEGIN { exit !(longest > 0 && longest < limit) }'; then
  pass "the longest acknowledgement took $longest ms"
else
  fail "the longest acknowledgement took ${longest:-no} ms; at most $ack_limit_ms"
fi
for number in 1 2 3; do
  gateway_pid=${gateways[$number]}
  check "gateway $number then stops with status 0" stop_gateway
done
