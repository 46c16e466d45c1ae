#!/usr/bin/env bash
# Analytics of many conversations: figures, comparisons, ratings and files against the database, at many sizes, with the
# keyboard. In a real Chromium, with a private PostgreSQL. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}

new_folder
create_cluster
start_gateway
check "demo-data fills the workspace" \
  "$chirrup" demo-data --database-url "$database" --conversations "${CONVERSATIONS:-3000}" --open 60
check "analytics in a browser" \
  "$python" "$folder/analytics_test.py" --base-url "$url" --database "$database" \
  --psql "$(postgres_bin)/psql" --chirrup "$chirrup" ${SHOTS:+--shots "$SHOTS"}
check "the gateway then stops with status 0" stop_gateway
