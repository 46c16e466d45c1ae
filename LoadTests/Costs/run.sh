#!/usr/bin/env bash
# What a message costs, in figures that do not depend on the machine: instructions and calls of each part, the release
# code of the hot path, calls of a real gateway for each message, memory of an idle connection. The tables are the .txt
# files beside this one; --record writes them anew. They do not disturb each other, so all run at once.
set -uo pipefail
cd "$(dirname "$0")"
export SWIFT_BACKTRACE=enable=no
# What `calls` and `disassembly` look at; what is installed has the runtime linked in (scripts/release).
swift build --configuration release --product chirrup --package-path ../.. --scratch-path ../../.build-shared || exit 1
outputs=$(mktemp -d /tmp/chirrup-costs.XXXXXX)
trap 'rm -rf "$outputs"' EXIT
parts=(instructions disassembly calls memory)
pids=()
for part in "${parts[@]}"; do
  python3 -B "./$part.py" "$@" >"$outputs/$part" 2>&1 &
  pids+=($!)
done
status=0
for index in "${!parts[@]}"; do
  if wait "${pids[index]}"; then word=passed; else word=FAILED status=1; fi
  printf '\n-- %s: %s within %d s\n' "${parts[index]}" "$word" $SECONDS
  cat "$outputs/${parts[index]}"
done
# Of a long log often only the end is kept.
if [ $status != 0 ]; then
  printf "\n"
  grep --no-filename "^FAIL" "$outputs"/* | cut -c 1-300
fi
exit $status
