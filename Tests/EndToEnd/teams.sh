#!/usr/bin/env bash
# Teams: an administrator makes them, a visitor chooses one, its member gets the conversation and transfers it to another
# team. In a real Chromium, with a private PostgreSQL. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"

browser_test "teams in a browser" teams_test.py
