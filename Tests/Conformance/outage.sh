#!/usr/bin/env bash
# PostgreSQL is away for so long (ten minutes) under load: outage.sh [SECONDS [SESSIONS [MESSAGES A SECOND]]]
# Says what the connections, the gateway's memory and the clients did meanwhile, and compares all with the tables.
set -euo pipefail
export OUTAGE_SECONDS=${1:-600} OUTAGE_SESSIONS=${2:-100} OUTAGE_RATE=${3:-200}
exec "$(dirname "${BASH_SOURCE[0]}")/run.sh" --verbose R06a
