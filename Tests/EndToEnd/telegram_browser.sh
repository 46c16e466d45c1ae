#!/usr/bin/env bash
# Telegram in the console: a real Chromium, and the platform of telegram.sh. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"
platform_port=$(free_port)
export CHIRRUP_CHANNELS_TELEGRAM_API_URL=http://127.0.0.1:$platform_port

browser_test "Telegram in the console" telegram_browser_test.py --platform-port "$platform_port"
