#!/usr/bin/env bash
# What a new demo shows: conversations, canned replies, rules, a menu, a colleague. In a real Chromium, with a private
# PostgreSQL. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"

export CHIRRUP_DEMO_CONTENT=true
browser_test "a new demo" demo_test.py
