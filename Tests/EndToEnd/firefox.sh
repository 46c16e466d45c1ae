#!/usr/bin/env bash
# The widget in Firefox, over WebDriver BiDi: its main path, against a private gateway. Exits with 77 without Firefox.
# Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
firefox=${FIREFOX-$(command -v firefox-esr || command -v firefox || true)}
if [ -z "$firefox" ]; then
  echo "Firefox is not installed. On Debian: apt-get install firefox-esr"
  exit 77
fi

new_folder
start_gateway
check "the widget in Firefox" \
  "$python" "$folder/firefox_test.py" --base-url "$url" --program "$firefox" --profile "$work/firefox" \
  --operator-token "$(token operator)" ${SHOTS:+--shots "$SHOTS"}
check "the gateway then stops with status 0" stop_gateway
