#!/usr/bin/env bash
# The tables of bad inputs against the release build, or the rows and tables that are named: run.sh F16 H.
# See README.md; --binary PATH tries another build, --list names the rows.
set -euo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
python=$folder/../../.venv/bin/python
[ -x "$python" ] || python=python3
# A row of the network table holds 15,000 connections.
ulimit -n "$(ulimit -Hn)"
export SWIFT_BACKTRACE=enable=no
# If it is killed, scripts/within ends its gateways.
exec "$folder/../../scripts/within" 7200 "the tables" "$python" -B "$folder/run.py" "$@"
