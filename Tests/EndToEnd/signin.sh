#!/usr/bin/env bash
# Signing in: limits, passwords and passkeys, against the real gateway; see signin_test.py and signin_passkey_test.py;
# and in a browser, see signin_browser_test.py.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}

new_folder
create_cluster
start_gateway
check "signing in" \
  "$python" "$folder/signin_test.py" --base-url "$url" --database "$database" \
  --psql "$(postgres_bin)/psql" --chirrup "$chirrup" --log "$log"
check "passkeys" \
  "$python" "$folder/signin_passkey_test.py" --base-url "$url" --database "$database" \
  --psql "$(postgres_bin)/psql" --chirrup "$chirrup" --log "$log"
check "signing in, in a browser" \
  "$python" "$folder/signin_browser_test.py" --base-url "$url" --database "$database" \
  --psql "$(postgres_bin)/psql" --chirrup "$chirrup" ${SHOTS:+--shots "$SHOTS"}
check "the gateway stops in good order afterwards" stop_gateway
