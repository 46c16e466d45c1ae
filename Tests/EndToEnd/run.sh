#!/usr/bin/env bash
# The end-to-end tests: private gateways on private data, strangers' clients, crashes, load, browsers.
# `swift build -c release` comes first. With --full the load lasts a minute, and more is broken for longer.
# One part alone: its script, for example Tests/EndToEnd/crash_gateway.sh
set -uo pipefail
cd "$(dirname "$0")"

full=false
[ "${1-}" != --full ] || full=true
python=${CHIRRUP_PYTHON:-python3}
failed=()

part() {
  local name=$1 begin=$SECONDS
  shift
  printf '\n-- %s\n' "$name"
  if "$@"; then
    printf -- '-- %s: passed in %s s\n' "$name" $((SECONDS - begin))
  else
    printf -- '-- %s: FAILED after %s s\n' "$name" $((SECONDS - begin))
    failed+=("$name")
  fi
}

part "http" ./http.sh
part "tls" ./tls.sh
part "clients" ./clients.sh
part "verdict" ./verdict.sh
part "migrations" ./migrate.sh
part "quarantine" ./quarantine.sh
part "pgbouncer" ./pgbouncer.sh
if $full; then
  part "torture" ./torture.sh 20
  part "gateway crash" ./crash_gateway.sh
  part "database crash" ./crash_postgres.sh
  part "load" ./load.sh 60
else
  part "torture" ./torture.sh
  part "gateway crash" ./crash_gateway.sh 10 1
  part "database crash" ./crash_postgres.sh 15 1
  part "load" ./load.sh
fi
part "browser" ./browser.sh

printf '\n'
if [ ${#failed[@]} -gt 0 ]; then
  printf 'end to end: FAILED: %s\n' "${failed[*]}"
  exit 1
fi
printf 'end to end: all passed in %s s\n' $SECONDS
