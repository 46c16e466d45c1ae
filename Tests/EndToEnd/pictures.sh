#!/usr/bin/env bash
# Makes the pictures of the README again, into Tests/EndToEnd/images or the folder SHOTS. Not a test: look at them.
. "$(dirname "$0")/lib.sh"
folder=${SHOTS:-$root/Tests/EndToEnd/images}
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}

new_folder
create_cluster
start_gateway
check "pictures from a fresh demo" "$python" "$root/Tests/EndToEnd/pictures.py" "$url" "$folder"
for picture in "$folder"/*.png; do
  check "$(basename "$picture"), without needless bytes" zopflipng -y "$picture" "$picture" >/dev/null
done
check "the gateway then stops with status 0" stop_gateway
