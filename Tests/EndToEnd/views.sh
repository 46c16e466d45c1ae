#!/usr/bin/env bash
# Saved views of the list: two operators on one workspace, in a real Chromium, with a private PostgreSQL. Pictures go to
# the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"

browser_test "saved views in a browser" views_test.py
