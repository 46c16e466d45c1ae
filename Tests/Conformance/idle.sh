#!/usr/bin/env bash
# The memory of an idle connection, over 10,000 of them: plain, tls, deflate or tls-deflate (without a name, all four).
# `scripts/release` comes first.
set -euo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
python=$folder/../../.venv/bin/python
[ -x "$python" ] || python=python3
ulimit -n "$(ulimit -Hn)"
exec "$python" -B "$folder/idle.py" "$@"
