#!/usr/bin/env bash
# WIDGETS (100,000) widgets on this machine, each a visitor of its own with a session of its own, over as many gateways as
# the descriptors require: every connection is held, every message of those that speak is acknowledged and delivered
# once, and nothing is left behind. Needs a release build, root for the kernel's figures, and FLOOR MiB (5,120) that stay
# available. Fails above BYTES (12,000) of the machine's memory a widget. Other options of `chirrup-load million` follow.
. "$(dirname "$0")/../Tests/EndToEnd/lib.sh"

widgets=${WIDGETS:-100000}
new_folder
pids_of() { pgrep --full --count "listen 127\.1\.0\.[0-9]*:" || true; }
status=0
"$chirrup_load" million --chirrup "$chirrup" --widgets "$widgets" --step "${STEP:-$(((widgets + 2) / 3))}" \
  --floor-mebibytes "${FLOOR:-5120}" --json "$work/report.json" "$@" || status=$?
check "the run ends with status 0" [ "$status" = 0 ]
check "the report agrees" "$python" - "$work/report.json" "$widgets" "${BYTES:-12000}" <<'END'
import json, sys
report, widgets, most = json.load(open(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
figures = report["figures"]
wrong = [name for name in ("lost", "duplicated", "reordered", "holes", "mismatched", "refused", "unacknowledged")
         if figures.get(name) != 0]
assert report["verdict"] == "passed" and not wrong, (report["verdict"], wrong, report["problems"])
assert figures["connections"] == widgets, figures["connections"]
assert figures["acked"] == figures["sent"] > 0, (figures["acked"], figures["sent"])
# Both tabs of a speaker get each message.
assert figures["delivered"] == 2 * figures["acked"], (figures["delivered"], figures["acked"])
assert figures["heartbeats"] > widgets / 2, figures["heartbeats"]
assert figures["machine_bytes_per_widget"] < most, figures["machine_bytes_per_widget"]
END
check "no gateway is left" [ "$(pids_of)" = 0 ]
