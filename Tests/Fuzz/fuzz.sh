#!/usr/bin/env bash
# Fuzzes the parsers of untrusted input, each for SECONDS, with AddressSanitizer and in release mode. In Swift a trap ends
# the process, so an unchecked sum or index on a peer's data could end the whole gateway.
#
#     Tests/Fuzz/fuzz.sh SECONDS [TARGET…]
#
# A target is a file of this folder without its extension; by default all run. New inputs are kept in .build/fuzz; the
# small corpora beside this file are only starting points. The exit status is not zero when a target crashed. Its log
# names the input, which stays in .build/fuzz.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${1:?usage: Tests/Fuzz/fuzz.sh SECONDS [TARGET…]}
shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] ||
  targets=(UTF8 MessageDecoder RequestHead ProxyHeader Extensions Inflate Command Engine TLSRecords TLSHello
    Pattern ChannelEvents Mail)

# Swift's backtracer hangs under libFuzzer.
export SWIFT_BACKTRACE=enable=no
# The Swift runtime never frees its metadata.
export ASAN_OPTIONS=detect_leaks=0

build=.build/fuzz
mkdir -p "$build"
flags=(
  -swift-version 6 -package-name chirrup -O -g -sanitize=fuzzer,address -parse-as-library -use-ld=lld
  -I "$build" -I Sources/CZlib -I Sources/COpenSSL -I Sources/CLinux -I Sources/CConfinement -I Sources/CGMime
  -enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault
  -enable-upcoming-feature MemberImportVisibility
)

# The modules are compiled here and not by SwiftPM, so that they are instrumented, and with testing enabled, so that the
# target Engine can check the engine's state.
modules=(Primitives JSON Wire Chat Compression Engine OpenSSL Automation Kernel Confinement Texts MailParsing Channels)
# Without their dependencies, of Automation only the patterns, and of Channels only what reads events.
sources_of() {
  case $1 in
  Automation) printf "Sources/Automation/%s.swift\n" Folding Pattern PatternBudget PatternParser ScalarSet ;;
  Channels)
    printf "Sources/Channels/%s.swift\n" ChannelTypes ChannelText Line/LineEvents Telegram/TelegramMessages \
      Telegram/TelegramUpdates
    echo Tests/Fuzz/Platforms.swift
    ;;
  *) find "Sources/$1" -name '*.swift' ;;
  esac
}
for module in "${modules[@]}"; do
  swiftc "${flags[@]}" -wmo -enable-testing -module-name "$module" -emit-module \
    -emit-module-path "$build/$module.swiftmodule" -c $(sources_of "$module") -o "$build/$module.o"
done

objects=("${modules[@]/%/.o}")
objects=("${objects[@]/#/$build/}")
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

build_target() {
  local target=$1 sources=("Tests/Fuzz/$1.swift" Tests/Fuzz/Pace.swift)
  [ ! -f "Tests/Fuzz/${target}World.swift" ] || sources+=("Tests/Fuzz/${target}World.swift")
  swiftc $target_flags -module-name Fuzz "${sources[@]}" $target_objects -o "$build/$target"
}

# for_each_target FUNCTION: calls it for each target, as many at a time as there are cores. Each uses one core.
for_each_target() {
  printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c "$1 {} || exit 1"
}

export -f run_target build_target
# An array cannot be exported.
export build seconds target_flags="${flags[*]}" target_objects="${objects[*]}"
for_each_target build_target
echo "${#targets[@]} targets are built; each runs $seconds s, $(nproc) at a time"
for_each_target run_target
