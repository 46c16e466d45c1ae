#!/usr/bin/env bash
# Large data in the console: thousands of conversations, 10,000 messages in one of them, words of 10,000
# letters, two operators who write at once. In a real Chromium, with PostgreSQL as the witness. Pictures go to the
# folder SHOTS, if it is set; CONVERSATIONS=100000 makes it as large as the issue says.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}

new_folder
create_cluster
start_gateway
check "demo-data fills the workspace" \
  "$chirrup" demo-data "${place[@]}" --conversations "${CONVERSATIONS:-3000}" --open 120
check "operator create adds a second operator" "$chirrup" operator create "${place[@]}" --workspace demo \
  --email dana@example.com --name Dana --role agent --password "two in one thread" --keep-password
check "long lists in a browser" \
  "$python" "$folder/list_test.py" --base-url "$url" --database "$database" \
  --psql "$(postgres_bin)/psql" ${SHOTS:+--shots "$SHOTS"}
check "the gateway then stops with status 0" stop_gateway
