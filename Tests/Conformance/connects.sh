#!/usr/bin/env bash
# connects.sh [COUNT]: opens and closes that many connections. After a tenth, descriptors and memory must not grow.
set -euo pipefail
export CONNECTS=${1:-100000}
exec "$(dirname "${BASH_SOURCE[0]}")/run.sh" --verbose N07
