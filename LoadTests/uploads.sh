#!/usr/bin/env bash
# What uploads cost: the gateway's memory and processor time of 1,000 at once, and the p99 of acks beside a link of RATE
# MB/s (12.5) that is full of them, in ROUNDS (5) of SECONDS_EACH (10). Fails above 64 KiB an upload, or 1.5 ×.
. "$(dirname "$0")/../Tests/EndToEnd/lib.sh"

new_folder
create_cluster
export CHIRRUP_ATTACHMENTS_FOLDER=$work/attachments
start_gateway
token operator >"$work/operator.json"
uploads() {
  "$python" "$root/LoadTests/uploads.py" "$@" --url "$url" --operator "$work/operator.json" --log "$log" \
    --gateway "$gateway_pid"
}
check "1,000 uploads at once" uploads storm --mib "${MIB:-1}"
check "the chat beside a full link" uploads chat --rate "${RATE:-12.5}" --rounds "${ROUNDS:-5}" \
  --seconds "${SECONDS_EACH:-10}" --load "$chirrup_load" --chirrup "$chirrup" --socket "${url/http/ws}/api/v1/ws" \
  --folder "$work" --database "$database"
check "the gateway then stops with status 0" stop_gateway
