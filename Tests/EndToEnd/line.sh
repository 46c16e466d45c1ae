#!/usr/bin/env bash
# The LINE channel against a platform of this test (line_platform.py), which LINE's own SDK checks first: texts both
# ways, events that come again, wrong signatures, all kinds of messages, limits, refusals, lost answers, a platform that
# is down, kill -9 of the gateway in the middle of 200 messages each way, and friends of `chirrup import line-oa`.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
platform_port=$(free_port)
export CHIRRUP_CHANNELS_LINE_API_URL=http://127.0.0.1:$platform_port
# Links to files.
export CHIRRUP_PUBLIC_URL=https://chat.example.test
export CHIRRUP_CHANNELS_LINE_DATA_URL=http://127.0.0.1:$platform_port
# The pictures of menus are on this machine too.
export CHIRRUP_WEBHOOKS_ALLOW_PRIVATE=true
# A lease is the time limit and 5 s.
export CHIRRUP_WEBHOOKS_TIMEOUT_SECONDS=2

new_folder
create_cluster
start_gateway
# not_logged PATTERN: in the gateway's log.
not_logged() { ! grep -E "$1" "$log"; }

check "the LINE channel" "$python" "$folder/line_test.py" --base-url "$url" --database "$database" \
  --psql "$(postgres_bin)/psql" --operator-token "$(token operator)" --chirrup "$chirrup" --listen "127.0.0.1:$port" \
  --gateway "$gateway_pid" --log "$log" --platform-port "$platform_port"
check "no token, secret or text of a person is in the log" not_logged 'secret-of-|token-of-|hello from LINE'
check "no statement was refused" is_unrefused
