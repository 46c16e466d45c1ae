#!/usr/bin/env bash
# A day of a small shop: two operators and three visitors in five browsers, from the setup link to the message that is
# left in the evening. In a real Chromium, with a private PostgreSQL. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"

export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}
new_folder
create_cluster
"$chirrup" serve --listen "127.0.0.1:$port" "${place[@]}" >"$work/banner" 2>>"$log" &
gateway_pid=$!
pids+=("$gateway_pid")
await 120 "a gateway that is ready" gateway_answers || die "the gateway does not start"
await 10 "its link" grep -q "/setup#" "$work/banner" || die "no link"
check "a day of a shop, in five browsers" "$python" "$root/Tests/EndToEnd/day_test.py" --base-url "$url" \
  --link "$(grep -Eo "$url/setup#[A-Za-z0-9._-]+" "$work/banner" | head -n 1)" --database "$database" \
  --psql "$(postgres_bin)/psql" ${SHOTS:+--shots "$SHOTS"}
check "the gateway then stops with status 0" stop_gateway
