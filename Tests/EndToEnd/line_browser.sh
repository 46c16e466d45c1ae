#!/usr/bin/env bash
# LINE in the console: a real Chromium, and the platform of line.sh. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"
platform_port=$(free_port)
export CHIRRUP_CHANNELS_LINE_API_URL=http://127.0.0.1:$platform_port
export CHIRRUP_CHANNELS_LINE_DATA_URL=http://127.0.0.1:$platform_port
# LINE takes links to files at a public address only.
export CHIRRUP_PUBLIC_URL=https://chat.example.test

browser_test "LINE in the console" line_browser_test.py --platform-port "$platform_port"
