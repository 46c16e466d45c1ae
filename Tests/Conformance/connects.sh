#!/usr/bin/env bash
# So many connections come and go: connects.sh [COUNT]. Descriptors and memory must be flat after the first tenth.
set -euo pipefail
export CONNECTS=${1:-100000}
exec "$(dirname "${BASH_SOURCE[0]}")/run.sh" --verbose N07
