#!/usr/bin/env bash
# The widget within the pages of its hosts: a body that is replaced, transforms and dialogs, forced colours, print, small
# windows. In a real Chromium, against a gateway on a private PostgreSQL. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"

browser_test "the widget in its hosts' pages" widget_host_test.py
