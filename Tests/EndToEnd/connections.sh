#!/usr/bin/env bash
# Why was this visitor disconnected? The console, the command line and the log answer, in a real Chromium.
# Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
# Empty means playwright's own browser.
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}
admin=127.0.0.1:$(free_port)
export CHIRRUP_ADMIN_LISTEN=$admin CHIRRUP_LOG_FORMAT=json CHIRRUP_LOG_ACCESS=true

new_folder
create_cluster
create_login "$database"
place=(--database-url "${database/chirrup@/chirrup_app@}")
CHIRRUP_MIGRATIONS_URL=$database start_gateway
check "connections in a browser" \
  "$python" "$folder/connections_test.py" --base-url "$url" --database "$database" --psql "$(postgres_bin)/psql" \
  --operator-token "$(token operator)" ${SHOTS:+--shots "$SHOTS"}

connections() { "$chirrup" connections "$@" "${place[@]}" 2>&1; }
check "the command line lists the kick of the browser" grep -q "4003 by kick: seen twice" <(connections list --state ended)
check "a connection that no one has is not found" grep -q "No gateway that answered has" \
  <(connections show 019ac000-0000-7000-8000-000000000000)

# kicked ID: the client of this connection is disconnected by the command line.
kicked() {
  local id
  id=$(connections list --state open --json | head -n 1 | sed -E 's/.*"id":"([0-9a-f-]{36})".*/\1/')
  connections kick "$id" --reason "from the shell" >/dev/null && connections show "$id" | grep -q "reason: from the shell"
}
"$python" - "$url" "$(token visitor)" <<'END' &
import asyncio, json, sys
import websockets

async def stay(url, visit):
    async with websockets.connect(url.replace("http", "ws") + "/api/v1/ws", subprotocols=["chirrup.v1"]) as socket:
        await socket.send(json.dumps({"type": "hello", "ref": "h", "token": visit["token"]}))
        try:
            while True:
                await socket.recv()
        except websockets.ConnectionClosed as closed:
            sys.exit(0 if closed.rcvd.code == 4003 else 1)

asyncio.run(stay(sys.argv[1], json.loads(sys.argv[2])))
END
client=$!
pids+=("$client")
check "the command line disconnects a client" await 20 "a kick" kicked
check "the client got 4003" wait "$client"

# A client that says something again and again until it is disconnected, at most 60 s.
"$python" - "$url" "$(token visitor)" "$work/talking" <<'END' &
import asyncio, json, sys, uuid
import websockets

async def talk(url, visit, target):
    session = visit["session"]
    # Nobody takes the answers: with a limit the library would stop reading before the close frame.
    async with websockets.connect(url.replace("http", "ws") + "/api/v1/ws", subprotocols=["chirrup.v1"],
                                  max_queue=None) as socket:
        await socket.send(json.dumps({"type": "hello", "ref": "h", "token": visit["token"],
                                      "subscribe": [{"session": session, "tail": 3, "ref": "s"}]}))
        welcome = json.loads((await socket.recv()).split("\n")[0])
        with open(target, "w") as file:
            file.write(welcome["connection"] + "\n")
        try:
            for _ in range(200):
                await socket.send(json.dumps({"type": "send", "ref": "r", "session": session, "id": str(uuid.uuid4()),
                                              "body": "secret words"}))
                await asyncio.sleep(0.3)
        except websockets.ConnectionClosed as closed:
            sys.exit(0 if closed.rcvd.code == 4003 else 1)
        sys.exit("nobody has disconnected this client")

asyncio.run(talk(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]))
END
client=$!
pids+=("$client")
check "a client talks" await 20 "the id of a connection" test -s "$work/talking"
talking=$(cat "$work/talking")
timeout 60 "$chirrup" connections trace "$talking" --json "${place[@]}" >"$work/trace" 2>&1 &
tracer=$!
pids+=("$tracer")
check "a trace shows what the client sends and gets" \
  await 20 "an acknowledgement in the trace" grep -q '"type":"ack"' "$work/trace"
check "its reason is given with the kick" connections kick "$talking" --reason "traced enough"
check "the client got 4003" wait "$client"
check "the trace ends with its connection" wait "$tracer"
check "a trace has no text and no token" "$python" - "$work/trace" <<'END'
import json, sys

text = open(sys.argv[1]).read()
assert "secret" not in text and "eyJ" not in text, text
*lines, last = [json.loads(line) for line in text.splitlines()]
assert last == {"ended": "the connection ended"}, last
assert {"received", "sent", "ended"} <= {line.get("kind") for line in lines}, lines
sends = [line for line in lines if line.get("type") == "send"]
assert sends and all(line["kind"] == "received" and line["bytes"] > 50 for line in sends), lines
assert any(line.get("reason") == "traced enough (kick)" and line["code"] == "4003" for line in lines), lines
END
check "the audit log has the trace" test "$("$(postgres_bin)/psql" "$database" --no-align --tuples-only --command \
  "SELECT count(*) FROM audit_log WHERE action = 'connection.traced' AND details ->> 'connection' = '$talking'")" = 1
check "a trace of nobody is refused" grep -q "no open or recently ended" \
  <(connections trace 019ac000-0000-7000-8000-000000000000)
check "strangers get no answer at admin_listen" \
  test "$(curl --silent --output /dev/null --write-out '%{http_code}' "http://$admin/connections")" = 401
check "the public address has no such path" \
  test "$(curl --silent --output /dev/null --write-out '%{http_code}' "$url/connections")" = 404
check "the gateway stops in good order" stop_gateway
check "every line of the log is JSON" "$python" -c '
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert lines and all(set(line) >= {"at", "level", "message"} for line in lines), lines
ended = [line for line in lines if line["message"] == "connection ended"]
assert ended and all(type(line["code"]) is int and type(line["duration_ms"]) is int for line in ended), ended
assert any(line["closed_by"] == "kick" and line["reason"] == "from the shell" for line in ended), ended
requests = [line for line in lines if line["message"] == "request"]
assert any(line["status"] == 101 and line["connection"] for line in requests), "see the log"
assert any(line.get("route") == "/api/v1/admin/connections/{id}/disconnect" for line in requests), "see the log"
assert all(type(line["duration_ms"]) is int and not {"?", "="} & set(line.get("path", "")) for line in requests), "see the log"
assert "eyJ" not in open(sys.argv[1]).read()
' "$log"
