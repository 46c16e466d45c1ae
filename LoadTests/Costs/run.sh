#!/usr/bin/env bash
# What a message costs, in figures that do not depend on the machine: instructions and calls of each part, the release
# code of the hot path, calls of a real gateway for each message, memory of an idle connection. The tables are the .txt
# files beside this one; --record writes them anew. All run at once but `calls`: what shares its core with others works
# through its sockets in other turns.
set -uo pipefail
cd "$(dirname "$0")"
export SWIFT_BACKTRACE=enable=no
# What `calls` and `disassembly` look at; what is installed has the runtime linked in (scripts/release).
swift build --configuration release --product chirrup --package-path ../.. --scratch-path ../../.build-shared || exit 1
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

together=(instructions disassembly memory)
pids=()
for part in "${together[@]}"; do
  python3 -B "./$part.py" "$@" >"$outputs/$part" 2>&1 &
  pids+=($!)
done
for index in "${!together[@]}"; do judged "${together[index]}" "${pids[index]}"; done
python3 -B ./calls.py "$@" >"$outputs/calls" 2>&1 &
judged calls $!
# Of a long log often only the end is kept.
if [ $status != 0 ]; then
  printf "\n"
  grep --no-filename "^FAIL" "$outputs"/* | cut -c 1-300
fi
exit $status
