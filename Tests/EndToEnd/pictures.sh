#!/usr/bin/env bash
# Makes the pictures of the README again, into Tests/EndToEnd/images or the folder SHOTS. Not a test: look at them. The
# system needs fonts for Arabic, Japanese and Thai, such as fonts-noto-core and fonts-noto-cjk, and the package zopfli.
. "$(dirname "$0")/lib.sh"
folder=${SHOTS:-$root/Tests/EndToEnd/images}
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}

# repack FILE: the same pixels in fewer bytes.
repack() { zopflipng -y "$1" "$1" >/dev/null; }

new_folder
create_cluster
start_gateway
check "pictures from a fresh demo" "$python" "$root/Tests/EndToEnd/pictures.py" "$url" "$folder"
check "the gateway then stops with status 0" stop_gateway
for picture in "$folder"/*.png; do
  check "$(basename "$picture"), without needless bytes" repack "$picture"
done
