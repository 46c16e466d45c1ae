#!/usr/bin/env bash
# The costs of a message in figures that do not depend on the machine: instructions and calls of each part, the release
# code of the hot path, calls of a real gateway per message, memory of an idle connection, instructions of a heartbeat of
# a visitor who only watches, and the source files on the way of a message. The .txt files in this folder are the
# recorded tables; --record rewrites them. `calls` runs alone, because load on the cores changes how many messages the
# gateway finds in one loop iteration. The other parts run in parallel.
set -uo pipefail
cd "$(dirname "$0")"
export SWIFT_BACKTRACE=enable=no
./build.sh || exit 1
outputs=$(mktemp -d /tmp/chirrup-costs.XXXXXX)
trap 'rm -rf "$outputs"' EXIT
status=0

# judged PART PID
judged() {
  local word=passed
  wait "$2" || word=FAILED status=1
  printf '\n-- %s: %s within %d s\n' "$1" "$word" $SECONDS
  cat "$outputs/$1"
}

together=(instructions disassembly memory files heartbeats)
pids=()
for part in "${together[@]}"; do
  python3 -B "./$part.py" "$@" >"$outputs/$part" 2>&1 &
  pids+=($!)
done
for index in "${!together[@]}"; do judged "${together[index]}" "${pids[index]}"; done
python3 -B ./calls.py "$@" >"$outputs/calls" 2>&1 &
judged calls $!
# Repeats the failures, since a long log may be cut at the start.
if [ $status != 0 ]; then
  printf "\n"
  grep --no-filename "^FAIL" "$outputs"/* | cut -c 1-300
fi
exit $status
