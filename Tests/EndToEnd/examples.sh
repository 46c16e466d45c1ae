#!/usr/bin/env bash
# The clients of config/examples against a gateway that is killed, with its log of messages as the witness: every line is
# stored once, in order; a client that was killed continues; a log that begins again is read again.
. "$(dirname "$0")/lib.sh"
folder=$(cd "$(dirname "$0")" && pwd)

new_folder
create_cluster
start_gateway
key=$(psql --no-psqlrc --quiet --tuples-only --no-align -c "SELECT public_key FROM workspaces WHERE name = 'demo'" "$database")
operator=$(token operator | "$python" -c 'import json, sys; print(json.load(sys.stdin)["token"])')
check "the gateway that made the workspace stops" stop_gateway

# example NAME COMMAND: with a gateway of its own, which the test kills and starts again.
example() {
  check "the example in $1" "$python" "$folder/examples_test.py" --url "$url" --workspace "$key" --operator "$operator" \
    --state "$work/$1.json" --log "$log" --client "$2" \
    --gateway "$chirrup serve --demo --listen 127.0.0.1:$port --database-url $database"
}

# Before node 22 its WebSocket is behind a flag that later versions ignore.
example JavaScript "$node --experimental-websocket $root/config/examples/visitor-terminal.mjs"
example Python "$python -B $root/config/examples/visitor_terminal.py"
