#!/usr/bin/env bash
# Attachments of widget and console in a real Chromium: button, paste and drag, a reload in the middle of an upload,
# refusals, the viewer, downloads, the keyboard. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"

browser_test "attachments in a browser" attachments_browser_test.py
