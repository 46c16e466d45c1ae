#!/usr/bin/env bash
# Single sign-on (OpenID Connect) at the real gateway: with a provider that lies, see oidc_test.py; and in a browser with
# glewlwyd, a provider that we did not write, see oidc_glewlwyd_test.py.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}
# The providers are on this machine.
export CHIRRUP_WEBHOOKS_ALLOW_PRIVATE=true

new_folder
create_cluster
# The gateway owns nothing, as in an installation with roles of its own.
create_login "$database"
export CHIRRUP_MIGRATIONS_URL=$database
place=(--database-url "postgresql://chirrup_app@/postgres?host=$cluster")
start_gateway
check "single sign-on with a provider that lies" \
  "$python" "$folder/oidc_test.py" --base-url "$url" --database "$database" \
  --psql "$(postgres_bin)/psql" --chirrup "$chirrup" --log "$log"
# scripts/test unpacks it.
glewlwyd=${GLEWLWYD-$root/.venv/glewlwyd}
if [ -x "$glewlwyd/usr/bin/glewlwyd" ]; then
  check "single sign-on with glewlwyd, in a browser" \
    "$python" "$folder/oidc_glewlwyd_test.py" --base-url "$url" --database "$database" --chirrup "$chirrup" \
    --glewlwyd "$glewlwyd" --provider-port "$(free_port)" ${SHOTS:+--shots "$SHOTS"}
else
  printf 'glewlwyd is not tried: its package of Debian is not here\n'
fi
check "the gateway stops in good order afterwards" stop_gateway
check "PostgreSQL refused no statement for want of a privilege" is_unrefused
