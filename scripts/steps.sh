# Functions for the steps of scripts/test that take more than one command. Sourced by each step's shell.
# `outputs` is the folder for their output.
. scripts/packages.sh

# at_once COMMAND…: runs lines of shell in parallel. The output of failed ones comes last. Status 77 of a line: its tools
# are not available.
at_once() {
  local index status=0 ended begin=$SECONDS pids=() failed=()
  for ((index = 1; index <= $#; index++)); do
    bash -c "${!index}" >"$outputs/at-once-$index" 2>&1 &
    pids+=($!)
  done
  for ((index = 1; index <= $#; index++)); do
    ended=0
    wait "${pids[index - 1]}" || ended=$?
    case $ended in
    0)
      cat "$outputs/at-once-$index"
      printf -- '-- %s: passed within %d s\n\n' "${!index}" $((SECONDS - begin))
      ;;
    77)
      cat "$outputs/at-once-$index"
      printf -- '-- %s: not tried, see above\n\n' "${!index}"
      ;;
    *)
      status=1
      failed+=("$index")
      ;;
    esac
  done
  for index in "${failed[@]}"; do
    cat "$outputs/at-once-$index"
    printf -- '-- %s: FAILED\n\n' "${!index}"
  done
  return $status
}

prepare() {
  require_swift
  install_packages libssl-dev libpq-dev zlib1g-dev libcurl4-openssl-dev libturbojpeg0-dev libpng-dev libwebp-dev \
    libgif-dev libgmime-3.0-0 postgresql pgbouncer python3-venv openssl strace valgrind binutils mmdebstrap buildah \
    testssl.sh sslscan nginx-light haproxy faketime dpkg-dev debhelper help2man lintian
  resolve_swift_packages && install_python_packages && install_chromium && install_firefox && install_webkit &&
    install_node && install_mariadb && unpack_glewlwyd && unpack_promtool && unpack_clamd &&
    unpack_exim && unpack_dovecot
}

# An identity provider for Tests/EndToEnd/oidc.sh. It is unpacked and not installed: its installation would create a
# service and start it. Other systems than Debian have no such package.
unpack_glewlwyd() {
  local folder=.venv/glewlwyd libraries
  [ ! -x $folder/usr/bin/glewlwyd ] || return 0
  apt-cache show glewlwyd >/dev/null 2>&1 || return 0
  mapfile -t libraries < <(apt-cache depends glewlwyd | sed -n 's/^ *Depends: \(lib.*\)/\1/p')
  install_packages "${libraries[@]}" glewlwyd-common && mkdir -p $folder &&
    (cd $folder && apt-get download -q glewlwyd && dpkg -x glewlwyd_*.deb .)
}

# promtool, for Tests/EndToEnd/metrics.sh: unpacked for the same reasons.
unpack_promtool() {
  local folder=.venv/prometheus
  [ ! -x $folder/usr/bin/promtool ] || return 0
  apt-cache show prometheus >/dev/null 2>&1 || return 0
  mkdir -p $folder && (cd $folder && apt-get download -q prometheus && dpkg -x prometheus_*.deb . && rm prometheus_*.deb)
}

# clamd, for Tests/EndToEnd/attachments_storage.sh: unpacked, because its installation would start a service that fetches
# the signatures of all viruses.
unpack_clamd() {
  local folder=.venv/clamav libraries
  [ ! -x $folder/usr/sbin/clamd ] || return 0
  apt-cache show clamav-daemon >/dev/null 2>&1 || return 0
  mapfile -t libraries < <(apt-cache depends clamav-daemon | sed -n 's/^ *Depends: \(libclamav.*\)/\1/p')
  install_packages "${libraries[@]}" && mkdir -p $folder &&
    (cd $folder && apt-get download -q clamav-daemon && dpkg -x clamav-daemon_*.deb . && rm clamav-daemon_*.deb)
}

# The mail server of Tests/EndToEnd/mail.sh: unpacked, since its package replaces the system's own mail server.
unpack_exim() {
  local folder=.venv/exim
  [ ! -x $folder/usr/sbin/exim4 ] || return 0
  apt-cache show exim4-daemon-light >/dev/null 2>&1 || return 0
  install_packages libidn12 libgnutls-dane0 && mkdir -p $folder &&
    (cd $folder && apt-get download -q exim4-base exim4-daemon-light && for package in exim4-*.deb; do
      dpkg -x "$package" . && rm "$package"
    done)
}

# The mailbox of Tests/EndToEnd/replies.sh: unpacked, because its installation would start a service.
unpack_dovecot() {
  local folder=.venv/dovecot libraries
  [ ! -x $folder/usr/sbin/dovecot ] || return 0
  apt-cache show dovecot-imapd >/dev/null 2>&1 || return 0
  mapfile -t libraries < <(apt-cache depends dovecot-core | sed -n 's/^ *Depends: \(lib.*\)/\1/p')
  install_packages "${libraries[@]}" && mkdir -p $folder &&
    (cd $folder && apt-get download -q dovecot-core dovecot-imapd && for package in dovecot-*.deb; do
      dpkg -x "$package" . && rm "$package"
    done)
}

install_python_packages() {
  cmp -s scripts/requirements.txt .venv/requirements.txt && return
  python3 -m venv --clear .venv &&
    .venv/bin/pip install --quiet --disable-pip-version-check -r scripts/requirements.txt &&
    cp scripts/requirements.txt .venv/requirements.txt
}

# Debian's package; on Ubuntu, which has none, playwright's.
install_chromium() {
  [ -z "$(find_chromium)" ] || return 0
  if apt-cache show chromium >/dev/null 2>&1; then
    install_packages chromium
  else
    .venv/bin/playwright install --with-deps chromium
  fi
}

# Debian's package. Where there is none, Tests/EndToEnd/firefox.sh uses an installed Firefox or is skipped.
install_firefox() {
  ! apt-cache show firefox-esr >/dev/null 2>&1 || install_packages firefox-esr
}

# WebKitGTK with its WebDriver, for Tests/EndToEnd/webkit.sh, which is skipped where there is none.
install_webkit() {
  ! apt-cache show webkit2gtk-driver >/dev/null 2>&1 || install_packages webkit2gtk-driver xvfb
}

# For Tests/EndToEnd/import_live_helper_chat.sh: the programs without a service. Other systems than Debian name their
# packages with a version; there the test is skipped unless MariaDB is installed.
install_mariadb() {
  ! apt-cache show mariadb-server-core >/dev/null 2>&1 ||
    install_packages mariadb-server-core mariadb-client-core
}

# Playwright's node, for machines whose own has no WebSocket client.
install_node() {
  local has_websocket='process.exit(globalThis.WebSocket ? 0 : 1)'
  node --experimental-websocket -e "$has_websocket" 2>/dev/null ||
    ln -sf "$(dirname "$(.venv/bin/python -c 'import playwright; print(playwright.__file__)')")/driver/node" \
      .venv/bin/node
}

# Checks the browser's sources, and that the committed build is current. Skipped where the tools are not available.
browser_files() {
  (install_packages esbuild zopfli brotli node-typescript eslint node-qrcode-generator) || return 77
  scripts/web --check
}

# Time limits of one test, and of all. On an idle machine with two cores all take 5 minutes, with the address sanitizer
# seven. All tests start at once and wait for their turn, so a test's time is that of the whole run on a slow machine.
test_minutes=40 tests_minutes=85
# Tests that run at a time. With all 1,600 at once a task that slept for 2 ms was resumed minutes later, and under the
# thread sanitizer they took 700 s instead of 440 s.
tests_at_once=16

# Omits the lines about starting tests. After a failure it repeats all issues, and the message of a crash.
unit_tests() {
  local output=$outputs/unit-tests colour=$'(\e\\[[0-9;]*m)?' status=0
  scripts/within --each-test $((60 * test_minutes)) $((60 * tests_minutes)) "the unit tests" \
    swift test --experimental-maximum-parallelization-width $tests_at_once "$@" 2>&1 |
    tee "$output" |
    { grep --line-buffered --invert-match --extended-regexp "^$colour(◇|↳)" || true; } || status=$?
  [ $status != 0 ] || return 0
  printf '\n'
  grep --after-context=3 --extended-regexp 'Fatal error|ERROR: AddressSanitizer|WARNING: ThreadSanitizer' "$output" |
    head -n 12 || true
  grep --after-context=1 --extended-regexp "^$colour✘.*recorded an issue" "$output" | tail -n 14 || true
  tail -n 3 "$output"
  return $status
}

# sanitized_tests KIND FOLDER. Without leak detection, because the Swift runtime never frees its metadata.
sanitized_tests() {
  ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS="suppressions=$PWD/Tests/thread-sanitizer.txt" \
    unit_tests --sanitize="$1" --scratch-path "$2" --skip-build "${@:3}"
}

# all_builds LINE…: builds of what --full runs, at once, so that two cores are busy to the end: 2,000 s of processor time
# in 1,048 s. Without the index, a tenth less, SwiftPM does not find the tests.
all_builds() {
  at_once "$@" "Tests/Conformance/autobahn.sh fetch || true"
}
