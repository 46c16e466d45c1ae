#!/usr/bin/env bash
# The share of a core that visitors cost who only watch: VISITORS browsers (10,000) with a page open and no chat, whose
# heartbeats come at the pace that the gateway gives, for SECONDS (60). Fails above LIMIT percent (2).
. "$(dirname "$0")/../Tests/EndToEnd/lib.sh"

new_folder
create_cluster
start_gateway --loops 1
psql --no-psqlrc --quiet --command "INSERT INTO system_settings (workspace_id, key, value)
  SELECT id, 'watching', '{\"enabled\":true}' FROM workspaces ON CONFLICT (workspace_id, key) DO UPDATE
  SET value = excluded.value" "$database"
key=$(psql --no-psqlrc --tuples-only --no-align --command "SELECT public_key FROM workspaces LIMIT 1" "$database")
sleep 3
check "watching visitors" "$python" "$root/LoadTests/watching.py" --url "$url" --key "$key" --pid "$gateway_pid" \
  --visitors "${VISITORS:-10000}" --seconds "${SECONDS_MEASURED:-60}" --limit "${LIMIT:-2}"
check "the gateway then stops with status 0" stop_gateway
