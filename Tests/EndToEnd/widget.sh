#!/usr/bin/env bash
# The widget besides the conversation: languages, forms, cards, menu, JavaScript API. In a real Chromium, against a
# gateway on a private PostgreSQL; SQL sets up the workspace. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"

browser_test "the widget in a browser" widget_test.py
