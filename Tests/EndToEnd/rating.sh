#!/usr/bin/env bash
# A conversation is rated: the form in the widget at many sizes, and its comment in the console. In a real Chromium,
# with PostgreSQL as the witness. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
# Empty means playwright's own browser.
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}

new_folder
create_cluster
start_gateway
check "ratings in a browser" \
  "$python" "$folder/rating_test.py" --base-url "$url" --database "$database" --psql "$(postgres_bin)/psql" \
  --operator-token "$(token operator)" ${SHOTS:+--shots "$SHOTS"} ${ONLY:+--only "$ONLY"}
check "the gateway then stops with status 0" stop_gateway
