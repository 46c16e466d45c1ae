#!/usr/bin/env bash
# The queue and the operators behind it, as visitors see them: positions and estimates, an operator who disappears, a
# conversation that rests. In a real Chromium, with a private PostgreSQL. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
# Empty means playwright's own browser.
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}

new_folder
create_cluster
start_gateway
check "the queue in a browser" \
  "$python" "$folder/queue_test.py" --base-url "$url" --database "$database" --psql "$(postgres_bin)/psql" \
  --operator-token "$(token operator)" ${SHOTS:+--shots "$SHOTS"} ${ONLY:+--only "$ONLY"}
check "the gateway then stops with status 0" stop_gateway
