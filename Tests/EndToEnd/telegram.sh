#!/usr/bin/env bash
# The Telegram channel against a platform of this test (telegram_platform.py), which a client library checks first, and
# each update and call afterwards: texts both ways, updates that come again, wrong secrets, all kinds of messages, hostile
# updates, buttons, long texts, files, refusals, lost answers, a platform that is down, and kill -9 of the gateway in the
# middle of messages each way. The bot's token, which is in each URL, is nowhere else.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
platform_port=$(free_port)
export CHIRRUP_CHANNELS_TELEGRAM_API_URL=http://127.0.0.1:$platform_port
# Links to files.
export CHIRRUP_PUBLIC_URL=https://chat.example.test
# A lease is the time limit and 5 s.
export CHIRRUP_WEBHOOKS_TIMEOUT_SECONDS=5

new_folder
create_cluster
start_gateway
token_file=$work/bot-token
# not_logged PATTERN: in the gateway's log.
not_logged() { ! grep -E "$1" "$log"; }

check "the Telegram channel" "$python" "$folder/telegram_test.py" --base-url "$url" --database "$database" \
  --psql "$(postgres_bin)/psql" --operator-token "$(token operator)" --chirrup "$chirrup" --listen "127.0.0.1:$port" \
  --gateway "$gateway_pid" --log "$log" --platform-port "$platform_port" --token-file "$token_file"
check "no token, secret or text of a person is in the log" \
  not_logged "$(cut -d : -f 2 "$token_file")|secret-of-|hello from Telegram"
check "no statement was refused" is_unrefused
