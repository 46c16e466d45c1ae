#!/usr/bin/env bash
# The reports of a load: a run by a profile, its JSON, its page in a real browser, a comparison of two runs; a missed
# threshold and an invalid profile. The page goes to the folder SHOTS as well, if it is set.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
# Empty means playwright's own browser.
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}

new_folder
start_gateway
smoke=$root/LoadTests/Scenarios/smoke.yaml

# load OPTION…: the profile's run against this gateway; the options override the profile.
load() {
  "$chirrup_load" chat --profile "$smoke" --url "ws://127.0.0.1:$port" --chirrup "$chirrup" "${place[@]}" "$@"
}

# ends STATUS WHAT COMMAND…
ends() {
  local wanted=$1 what=$2 status=0
  shift 2
  "$@" >"$work/out" 2>&1 || status=$?
  if [ $status = "$wanted" ]; then pass "$what: status $status"; else
    cat "$work/out"
    fail "$what: status $status, not $wanted"
  fi
}

check "a run by the profile \`smoke\`" \
  load --json "$work/one.json" --html "$work/report.html"
ends 3 "a threshold that cannot be kept" \
  load --seconds 2 --threshold 'ack_p50_ms < 0' --json "$work/two.json" --html "$work/missed.html"
ends 0 "two runs are compared" \
  "$chirrup_load" diff "$work/one.json" "$work/two.json" --html "$work/diff.html"
printf 'options: {visitor: 3}\n' >"$work/wrong.yaml"
ends 64 "a profile with an unknown option" "$chirrup_load" chat --profile "$work/wrong.yaml"
if grep --quiet 'wrong.yaml:1: chat has no option visitor; did you mean visitors?' "$work/out"; then
  pass "and suggests the right word"
else
  fail "it does not suggest the right word: $(cat "$work/out")"
fi
check "the JSON and the pages" "$python" "$folder/report_test.py" ${SHOTS:+--shots "$SHOTS"} \
  "$work/one.json" "$work/report.html" "$work/missed.html" "$work/diff.html"
check "the gateway then stops with status 0" stop_gateway
