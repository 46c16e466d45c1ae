#!/usr/bin/env bash
# scrape.sh [CONNECTIONS]: what a scrape of /metrics costs a gateway with 10,000 connections of visitors, each with its
# session: milliseconds until the answer is complete, and of the gateway's processor time. Fails above 5 ms of either.
. "$(dirname "$0")/../Tests/EndToEnd/lib.sh"

connections=${1:-10000}
new_folder
export CHIRRUP_ADMIN_LISTEN=127.0.0.1:$(free_port)
start_gateway --loops 2
"$chirrup_load" idle "${url/http/ws}/api/v1/ws" --subscribe --connections "$connections" --seconds 60 \
  --pid "$gateway_pid" --chirrup "$chirrup" "${place[@]}" >"$work/idle" 2>&1 &
pids+=($!)
open() {
  curl --silent "http://$CHIRRUP_ADMIN_LISTEN/metrics" |
    awk -v least="$connections" '/^chirrup_connections\{/ { n += $2 } END { exit n < least }'
}
await 300 "$connections connections" open || die "$(tail -n 5 "$work/idle")"
check "a scrape costs less than 5 ms" "$python" - "$CHIRRUP_ADMIN_LISTEN" "$gateway_pid" "$connections" <<'END'
import http.client, os, statistics, sys, time
address, process, connections = sys.argv[1], sys.argv[2], sys.argv[3]

def processor():
    total = 0
    for task in os.listdir(f"/proc/{process}/task"):
        total += int(open(f"/proc/{process}/task/{task}/schedstat").read().split()[0])
    return total / 1e6

client = http.client.HTTPConnection(address, timeout=30)
def scrape():
    begin = time.perf_counter()
    client.request("GET", "/metrics")
    body = client.getresponse().read()
    return (time.perf_counter() - begin) * 1000, body

scrape()
rounds = 200
idle = processor()
time.sleep(2)
idle = (processor() - idle) / 2000  # of a millisecond that passes
begin, before = time.perf_counter(), processor()
times = [scrape()[0] for _ in range(rounds)]
passed = (time.perf_counter() - begin) * 1000
cost = (processor() - before - idle * passed) / rounds
body = scrape()[1]
lines = sum(1 for line in body.splitlines() if not line.startswith(b"#"))
middle, late = statistics.median(times), sorted(times)[int(rounds * 0.99)]
print(f"{connections} connections, {lines} series, {len(body)} bytes: {middle:.2f} ms until the answer is complete "
      f"(p99 {late:.2f}), {cost:.2f} ms of the gateway's processor time")
sys.exit(middle >= 5 or cost >= 5)
END
