#!/usr/bin/env bash
# The widget's conversation: teaser, hint at new messages, drafts, a signed visitor's devices, refused identities, cards,
# handover. In a real Chromium, against a gateway on a private PostgreSQL. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
# Empty means playwright's own browser.
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}

new_folder
create_cluster
start_gateway
check "the widget's conversation" \
  "$python" "$folder/widget_talk_test.py" --base-url "$url" --database "$database" --psql "$(postgres_bin)/psql" \
  --operator-token "$(token operator)" ${SHOTS:+--shots "$SHOTS"} ${ONLY:+--only "$ONLY"}
check "the gateway then stops with status 0" stop_gateway
