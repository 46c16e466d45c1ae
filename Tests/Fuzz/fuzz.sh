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
[ ${#targets[@]} -gt 0 ] ||
  targets=(UTF8 MessageDecoder RequestHead ProxyHeader Extensions Inflate Command Engine TLSRecords TLSHello
    Pattern)

# Without this a crash starts Swift's backtracer, which hangs under libFuzzer.
export SWIFT_BACKTRACE=enable=no
# The Swift runtime keeps its metadata for ever; that is no leak.
export ASAN_OPTIONS=detect_leaks=0

build=.build/fuzz
mkdir -p "$build"
flags=(
  -swift-version 6 -package-name chirrup -O -g -sanitize=fuzzer,address -parse-as-library -use-ld=lld
  -I "$build" -I Sources/CZlib -I Sources/COpenSSL
  -enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault
  -enable-upcoming-feature MemberImportVisibility
)

# The modules are compiled here and not by SwiftPM, so that the parsers themselves are instrumented.
# Testable, so that the target of the engine can look at its state.
modules=(Primitives JSON Wire Chat Compression Engine OpenSSL Automation)
# Of the automation only the patterns, which need nothing else.
sources_of() {
  case $1 in
  Automation) printf "Sources/Automation/%s.swift\n" Folding Pattern PatternBudget PatternParser ScalarSet ;;
  *) find "Sources/$1" -name '*.swift' ;;
  esac
}
for module in "${modules[@]}"; do
  swiftc "${flags[@]}" -wmo -enable-testing -module-name "$module" -emit-module \
    -emit-module-path "$build/$module.swiftmodule" -c $(sources_of "$module") -o "$build/$module.o"
done

objects=("${modules[@]/%/.o}")
objects=("${objects[@]/#/$build/}")
# Each target takes one core for its time, so as many run at once as there are cores.
run_target() {
  local target=$1
  mkdir -p "$build/corpus/$target" "Tests/Fuzz/corpus/$target"
  local arguments=(-max_total_time="$seconds" -timeout=10 -max_len=4096 -print_final_stats=1
    -artifact_prefix="$build/$target-")
  [ ! -f "Tests/Fuzz/$target.dict" ] || arguments+=(-dict="Tests/Fuzz/$target.dict")
  if ! "$build/$target" "${arguments[@]}" "$build/corpus/$target" "Tests/Fuzz/corpus/$target" \
    >"$build/$target.log" 2>&1; then
    tail -n 40 "$build/$target.log"
    echo "FAILED: $target, see $build/$target.log"
    return 1
  fi
  printf '== %s, %s s: %s\n' "$target" "$seconds" \
    "$(grep -E 'stat::(number_of_executed_units|average_exec_per_sec|peak_rss_mb)' "$build/$target.log" |
      sed 's/stat:://' | tr -s ' \n' ' ')"
}

for target in "${targets[@]}"; do
  sources=("Tests/Fuzz/$target.swift" Tests/Fuzz/Pace.swift)
  [ ! -f "Tests/Fuzz/${target}World.swift" ] || sources+=("Tests/Fuzz/${target}World.swift")
  swiftc "${flags[@]}" -module-name Fuzz "${sources[@]}" "${objects[@]}" -o "$build/$target"
done
echo "${#targets[@]} targets are built; each runs $seconds s, $(nproc) at a time"

export -f run_target
export build seconds
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'run_target {} || exit 1'
