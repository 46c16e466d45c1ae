#!/usr/bin/env bash
# The outboxes of widget and console in a real Chromium, which is killed, disconnected, cleared and misled, with
# PostgreSQL as the witness: everything once, in order. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}

new_folder
create_cluster
# The test starts the gateway, since it also kills it, and stops and starts PostgreSQL by these.
export cluster
export -f as_postgres postgres_bin start_cluster stop_cluster die fail
check "outboxes in a browser" \
  "$python" "$folder/outbox_test.py" --chirrup "$chirrup" --database "$database" --port "$port" \
  --folder "$work" --psql "$(postgres_bin)/psql" ${SHOTS:+--shots "$SHOTS"} ${ONLY:+--only "$ONLY"}
