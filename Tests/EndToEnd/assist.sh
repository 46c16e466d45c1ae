#!/usr/bin/env bash
# Drafts for operators: a real console in Chromium, a private PostgreSQL, and two endpoints that speak OpenAI's protocol:
# one of this test with ordered faults, which the official client accepts, and fakellm, which others have written.
# Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"

# The endpoints run here.
export CHIRRUP_WEBHOOKS_ALLOW_PRIVATE=true
not_logged() { ! grep -E "$1" "$log"; }

browser_test "drafts of an endpoint" assist_test.py
check "no key, prompt or answer is in the log" not_logged 'VERYSECRETKEY|Rotterdam|bicycle|parcel'
check "no statement was refused" is_unrefused

[ $failures = 0 ]
