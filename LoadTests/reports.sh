#!/usr/bin/env bash
# How long the console waits for its lists, searches and reports in a workspace of CONVERSATIONS (100,000) conversations:
# REQUESTS (20) times each, one after the other. Fails if the median of one is above LIMIT ms (300).
. "$(dirname "$0")/../Tests/EndToEnd/lib.sh"

new_folder
create_cluster
export CHIRRUP_DEMO_CONTENT=true CHIRRUP_LIMITS_REQUESTS_PER_MEMBER=100000
start_gateway
check "demo-data fills the workspace" "$chirrup" demo-data "${place[@]}" --conversations "${CONVERSATIONS:-100000}"
check "they are counted" "$chirrup" analytics count "${place[@]}"
check "lists, searches and reports" "$python" "$root/LoadTests/reports.py" --url "$url" --token "$(token operator)" \
  --requests "${REQUESTS:-20}" --limit "${LIMIT:-300}"
check "the gateway then stops with status 0" stop_gateway
