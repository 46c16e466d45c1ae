#!/usr/bin/env bash
# Fuzzes the parsers that read what strangers send, each for SECONDS, with AddressSanitizer and in release mode:
# in Swift a trap is a crash, so every unchecked sum or index on a peer's data would end the whole gateway.
#
#     Tests/Fuzz/fuzz.sh SECONDS [TARGET…]
#
# A target is a file of this folder without its extension; without any, all of them run. New inputs are kept
# under .build/fuzz; the small corpora beside this file only give each run a start. The exit status is not
# zero when a target crashed; the input that did it is named last and stays in .build/fuzz.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${1:?usage: Tests/Fuzz/fuzz.sh SECONDS [TARGET…]}
shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(UTF8 MessageDecoder RequestHead Command)

# Without this a crash starts Swift's backtracer, which hangs under libFuzzer.
export SWIFT_BACKTRACE=enable=no
# The Swift runtime keeps its metadata for ever; that is no leak.
export ASAN_OPTIONS=detect_leaks=0

build=.build/fuzz
mkdir -p "$build"
flags=(
  -swift-version 6 -O -g -sanitize=fuzzer,address -parse-as-library -use-ld=lld -I "$build"
  -enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault
  -enable-upcoming-feature MemberImportVisibility
)

# The modules are compiled here and not by SwiftPM, so that the parsers themselves are instrumented.
for module in Primitives Wire Chat; do
  swiftc "${flags[@]}" -wmo -module-name "$module" -emit-module \
    -emit-module-path "$build/$module.swiftmodule" -c Sources/$module/*.swift -o "$build/$module.o"
done

status=0
for target in "${targets[@]}"; do
  swiftc "${flags[@]}" -module-name Fuzz "Tests/Fuzz/$target.swift" "$build"/{Primitives,Wire,Chat}.o \
    -o "$build/$target"
  mkdir -p "$build/corpus/$target" "Tests/Fuzz/corpus/$target"
  arguments=(-max_total_time="$seconds" -timeout=10 -max_len=4096 -print_final_stats=1
    -artifact_prefix="$build/$target-")
  [ ! -f "Tests/Fuzz/$target.dict" ] || arguments+=(-dict="Tests/Fuzz/$target.dict")
  echo "== $target, $seconds s"
  if ! "$build/$target" "${arguments[@]}" "$build/corpus/$target" "Tests/Fuzz/corpus/$target" \
    >"$build/$target.log" 2>&1; then
    status=1
    tail -n 40 "$build/$target.log"
    echo "FAILED: $target, see $build/$target.log"
    continue
  fi
  grep -E 'stat::(number_of_executed_units|average_exec_per_sec|peak_rss_mb)' "$build/$target.log"
done
exit $status
