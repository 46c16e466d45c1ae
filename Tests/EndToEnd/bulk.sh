#!/usr/bin/env bash
# Actions on many conversations and macros in the console: two operators on one workspace, in a real Chromium, with a
# private PostgreSQL. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"

browser_test "bulk actions and macros in a browser" bulk_test.py
