# Installs system packages on Debian and Ubuntu. Sourced by the other scripts.

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "scripts/$(basename "$0"): $*"
  exit 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then env "$@"; else sudo env "$@"; fi
}

have_package() {
  [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Whether the server programs of any PostgreSQL are installed.
have_postgresql() {
  local directory
  for directory in /usr/lib/postgresql/*/bin /usr/local/pgsql/bin /usr/pgsql-*/bin; do
    [ -x "$directory/initdb" ] && return 0
  done
  command -v initdb >/dev/null
}

require_swift() {
  command -v swift >/dev/null ||
    fail "swift is not installed. Swift 6.3 is needed: https://www.swift.org/install/linux/"
  local version
  version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
  case $version in
  [0-5].* | 6.[0-2]) fail "Swift $version is too old: 6.3 is needed, https://www.swift.org/install/linux/" ;;
  esac
}

# resolve_swift_packages: pins every package to its version in scripts/swift-packages.txt, for the next `swift build`.
resolve_swift_packages() {
  local name version
  [ -f Package.resolved ] || swift package resolve >&2 || return 1
  while read -r name version; do
    case $name in '#'*) continue ;; esac
    grep --after-context 8 "\"identity\" : \"$name\"" Package.resolved | grep --quiet "\"version\" : \"$version\"" ||
      swift package resolve "$name" --version "$version" >&2 || return 1
  done <scripts/swift-packages.txt
}

# install_packages PACKAGE…: installs the missing ones. `postgresql` means any PostgreSQL server.
install_packages() {
  local package missing=()
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    require_elsewhere "$@"
    return
  fi
  for package; do
    if [ "$package" = postgresql ]; then
      have_postgresql || missing+=(postgresql)
    else
      have_package "$package" || missing+=("$package")
    fi
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    fail "packages are missing, and sudo is not available. Run as root: apt-get install ${missing[*]}"
  fi
  say "Installing system packages: ${missing[*]}"
  as_root apt-get update -q >&2 ||
    say "apt-get update failed; trying with the existing package lists."
  # Debian's postgresql package creates and starts a cluster. Chirrup runs a private one, so a setting
  # prevents it during this installation.
  local setting=/etc/postgresql-common/createcluster.d/chirrup-installs.conf
  as_root mkdir -p "$(dirname $setting)"
  printf 'create_main_cluster = false\n' | as_root tee $setting >/dev/null
  local status=0
  as_root DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
    apt-get install -q -y --no-install-recommends "${missing[@]}" >&2 || status=$?
  as_root rm -f $setting
  [ $status = 0 ] || fail "apt-get could not install ${missing[*]} (see above)"
}

# Without apt: lists the missing packages and fails.
require_elsewhere() {
  local package missing=()
  for package; do
    case $package in
    libssl-dev) pkg-config --exists 'openssl >= 3' 2>/dev/null || missing+=("OpenSSL 3 with headers") ;;
    libpq-dev) pkg-config --exists 'libpq >= 14' 2>/dev/null || missing+=("libpq 14 with headers") ;;
    zlib1g-dev) pkg-config --exists zlib 2>/dev/null || missing+=("zlib with headers") ;;
    libcurl4-openssl-dev) pkg-config --exists 'libcurl >= 7.66' 2>/dev/null || missing+=("libcurl with headers") ;;
    libturbojpeg0-dev) pkg-config --exists 'libturbojpeg >= 2.1' 2>/dev/null || missing+=("libjpeg-turbo with headers") ;;
    libpng-dev) pkg-config --exists 'libpng16' 2>/dev/null || missing+=("libpng 1.6 with headers") ;;
    libwebp-dev) pkg-config --exists libwebp 2>/dev/null || missing+=("libwebp with headers") ;;
    libgif-dev) [ -e /usr/include/gif_lib.h ] || missing+=("giflib with headers") ;;
    libgmime-3.0-0) ldconfig -p 2>/dev/null | grep -q libgmime-3.0.so.0 || missing+=("GMime 3") ;;
    postgresql) have_postgresql || missing+=("a PostgreSQL 14 server") ;;
    python3-venv) python3 -c 'import venv, ensurepip' 2>/dev/null || missing+=("Python 3 with venv") ;;
    binutils) command -v objcopy >/dev/null || missing+=("binutils") ;;
    node-typescript) command -v tsc >/dev/null || missing+=("TypeScript's compiler") ;;
    mmdebstrap | buildah | faketime | dpkg-dev | debhelper | help2man | lintian) ;; # optional: tests that need it are skipped
    chromium) [ -n "$(find_chromium)" ] || missing+=("Chromium") ;;
    *) command -v "$package" >/dev/null || missing+=("$package") ;;
    esac
  done
  [ ${#missing[@]} = 0 ] ||
    fail "this system has no apt. Install these, then start again: $(printf '%s; ' "${missing[@]}")"
}

find_chromium() {
  command -v chromium || command -v chromium-browser || command -v google-chrome || true
}
