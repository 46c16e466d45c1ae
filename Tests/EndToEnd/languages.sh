#!/usr/bin/env bash
# The console's languages: how one is chosen, a pseudo-language that finds every text without a translation, a
# conversation in German and one in Arabic, from right to left. In a real Chromium, with a private PostgreSQL. Pictures go
# to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"

# Rows, tags and names for the pages to show.
export CHIRRUP_DEMO_CONTENT=true
browser_test "the console's languages" languages_test.py
