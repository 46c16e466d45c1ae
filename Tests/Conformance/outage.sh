#!/usr/bin/env bash
# outage.sh [SECONDS [SESSIONS [MESSAGES A SECOND]]]: stops PostgreSQL under load, for ten minutes by default.
# Prints closed connections, the gateway's memory and the clients' figures, and compares the messages with the tables.
set -euo pipefail
export OUTAGE_SECONDS=${1:-600} OUTAGE_SESSIONS=${2:-100} OUTAGE_RATE=${3:-200}
exec "$(dirname "${BASH_SOURCE[0]}")/run.sh" --verbose R06a
