#!/usr/bin/env bash
# A visitor's data are exported and erased in the console, by those whose role allows it. In a real Chromium, with
# PostgreSQL as the witness. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"

browser_test "personal data in a browser" personal_data_test.py
