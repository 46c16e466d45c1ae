#!/usr/bin/env bash
# The widget within the pages of its hosts: a body that is replaced, transforms and dialogs, forced colours, print, small
# windows. In a real Chromium, against a gateway on a private PostgreSQL. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
# Empty means playwright's own browser.
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}

new_folder
create_cluster
start_gateway
check "the widget in its hosts' pages" \
  "$python" "$folder/widget_host_test.py" --base-url "$url" --database "$database" --psql "$(postgres_bin)/psql" \
  --operator-token "$(token operator)" ${SHOTS:+--shots "$SHOTS"} ${ONLY:+--only "$ONLY"}
check "the gateway then stops with status 0" stop_gateway
