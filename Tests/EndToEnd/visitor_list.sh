#!/usr/bin/env bash
# The list of who is on the site: filters with counts, order, keyboard, phone, a full list, and pages that mean harm. In a
# real Chromium, with a private PostgreSQL. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"

browser_test "the list of visitors in a browser" visitor_list_test.py
