#!/usr/bin/env bash
# Two visitors are merged in the console while both write; their browsers go on, before and after a reload. In a real
# Chromium, with PostgreSQL as the witness. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"

browser_test "a merge of visitors in a browser" merge_test.py
