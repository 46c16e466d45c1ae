#!/usr/bin/env bash
# The widget in WebKit, the engine of Safari: its main path, against a private gateway. Exits with 77 where WebKitGTK's
# WebDriver or Xvfb is not installed. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
driver=$(command -v WebKitWebDriver || true)
browser=$(ls -d /usr/lib/*/webkit2gtk-4.1/MiniBrowser 2>/dev/null | head -n 1)
if [ -z "$driver" ] || [ -z "$browser" ] || ! command -v Xvfb >/dev/null; then
  echo "WebKit is not installed. On Debian: apt-get install webkit2gtk-driver xvfb"
  exit 77
fi

new_folder
start_gateway
# The server chooses a free display and writes its number.
mkfifo "$work/display"
Xvfb -displayfd 3 -screen 0 1400x1000x24 -nolisten tcp 3>"$work/display" >"$work/xvfb.log" 2>&1 &
pids+=($!)
read -r display <"$work/display"
# The machine has no graphics card.
export DISPLAY=:$display WEBKIT_DISABLE_COMPOSITING_MODE=1 LIBGL_ALWAYS_SOFTWARE=1
check "the widget in WebKit" \
  "$python" "$folder/webkit_test.py" --base-url "$url" --program "$driver,$browser,$(free_port)" --profile "$work/webkit" \
  --operator-token "$(token operator)" ${SHOTS:+--shots "$SHOTS"}
check "the gateway then stops with status 0" stop_gateway
