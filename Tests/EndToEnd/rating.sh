#!/usr/bin/env bash
# A conversation is rated: the form in the widget at many sizes, and its comment in the console. In a real Chromium,
# with PostgreSQL as the witness. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"

browser_test "ratings in a browser" rating_test.py
