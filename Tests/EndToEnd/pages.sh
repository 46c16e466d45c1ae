#!/usr/bin/env bash
# Login and settings of the console in a real Chromium, with PostgreSQL as the witness. Pictures go to
# the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}

new_folder
create_cluster
start_gateway
check "login and settings in a browser" \
  "$python" "$folder/pages_test.py" --base-url "$url" --database "$database" \
  --psql "$(postgres_bin)/psql" ${SHOTS:+--shots "$SHOTS"}
check "the gateway then stops with status 0" stop_gateway
