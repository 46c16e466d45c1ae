#!/usr/bin/env bash
# The Autobahn suite (RFC 6455 and RFC 7692) against the gateway's echo, plain or over TLS.
#
#     Tests/Conformance/autobahn.sh [quick|standard|full|CASES] [--tls [--compact]] [--binary PATH] [--report FOLDER]
#     Tests/Conformance/autobahn.sh fetch
#
# quick is everything but limits and compression, standard adds the limits and a part of compression, full is all
# 517 cases; CASES are patterns like 12.1.*,9.*. It fails unless every case is OK or INFORMATIONAL, and prints the
# count of every behaviour. Exit status 77: the suite could not be fetched, so nothing was tried.
#
# The suite runs on Python 2.7 only, which current systems do not have. The first use fetches that from Debian 11 and
# the suite from PyPI into a folder of its own (AUTOBAHN_HOME, by default in ~/.cache; 110 MB), without root and without
# changing the system; later uses need no network.
set -euo pipefail

folder=$(cd "$(dirname "$0")" && pwd)
home=${AUTOBAHN_HOME:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/chirrup-autobahn}
# The source of the suite; a change of it installs the suite again.
recipe=1
python=$folder/../../.venv/bin/python
[ -x "$python" ] || python=python3

debian_packages=(
  python2.7 python2.7-minimal libpython2.7-minimal libpython2.7-stdlib libpython2.7-dev libffi7 libssl1.1 libreadline8
)
# Wheels that build the packages below them, in their last version for Python 2.
builders=(pip==20.3.4 setuptools==44.0.0 wheel==0.36.2)
# In this order: building some of them needs the ones before.
first=(incremental==16.10.1 six==1.16.0)
libraries=(
  txaio==2.1.0 zope.interface==4.6.0 constantly==15.1.0 attrs==21.4.0 Automat==20.2.0 hyperlink==21.0.0 PyHamcrest==1.10.1
  idna==2.10 enum34==1.1.10 ipaddress==1.0.23 cffi==1.15.1 pycparser==2.21 pyasn1==0.5.1 pyasn1-modules==0.3.0
  cryptography==3.3.2 pyOpenSSL==19.1.0 service_identity==18.1.0 jinja2==2.11.3 markupsafe==1.1.1 Werkzeug==1.0.1
  klein==17.10.0 typing==3.10.0.0 unittest2==1.1.0 argparse==1.4.0 traceback2==1.4.0 linecache2==1.0.0 autobahn==0.10.9
)
suite=(wsaccel==0.6.2 ujson==1.35 autobahntestsuite==25.10.1)

say() { printf 'autobahn.sh: %s\n' "$*" >&2; }

# A private apt: its own lists and state, the system's keys, the mirror that the system uses.
fetch_python() {
  local place=$1 mirror
  command -v apt-get >/dev/null && command -v dpkg >/dev/null || return 1
  mirror=$(grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null |
    head -n 1 | tr -d ' ') || true
  mkdir -p "$place"/{apt/parts,apt/lists/partial,apt/archives/partial,debs,root}
  : >"$place/apt/status"
  printf 'deb [signed-by=%s] %s bullseye main\n' /usr/share/keyrings/debian-archive-keyring.gpg \
    "${mirror:-http://deb.debian.org/debian}" >"$place/apt/sources"
  local options=(
    -q -q
    -o "Dir::Etc::SourceList=$place/apt/sources" -o "Dir::Etc::SourceParts=$place/apt/parts"
    -o "Dir::Etc::Preferences=/dev/null" -o "Dir::Etc::PreferencesParts=$place/apt/parts"
    -o "Dir::State=$place/apt" -o "Dir::State::Lists=$place/apt/lists" -o "Dir::State::status=$place/apt/status"
    -o "Dir::Cache=$place/apt" -o "Dir::Cache::archives=$place/apt/archives"
    -o "APT::Sandbox::User=$(id -un)" -o "Acquire::Languages=none"
  )
  apt-get "${options[@]}" update && (cd "$place/debs" && apt-get "${options[@]}" download "${debian_packages[@]}") || return 1
  local package
  for package in "$place"/debs/*.deb; do dpkg --extract "$package" "$place/root"; done
  rm -rf "$place/apt" "$place/debs"
}

# python2 ARGUMENT…: runs the fetched Python 2 with its own libraries, without the user's.
python2() {
  LD_LIBRARY_PATH=$home/root/usr/lib/x86_64-linux-gnu:$home/root/lib/x86_64-linux-gnu PYTHONHOME=$home/root/usr \
    PYTHONNOUSERSITE=1 PYTHONWARNINGS=ignore PYTHONPATH=${path2:-$home/site} "$home/root/usr/bin/python2.7" "$@"
}

# install PACKAGE…: installs into the suite's folder, with the pip of the fetched wheels.
install() {
  local headers=$home/root/usr/include
  path2=$home/site:$(echo "$home"/wheels/pip-*.whl) CC=${CC:-cc} \
    CPATH=$headers:$headers/python2.7:$headers/x86_64-linux-gnu \
    python2 -c 'import sys; from pip._internal.cli.main import main; sys.exit(main(sys.argv[1:]))' install --quiet \
    --disable-pip-version-check --no-python-version-warning --no-warn-script-location --no-build-isolation --no-deps \
    --upgrade --target "$home/site" "$@"
}

install_suite() {
  say "first use: fetching Python 2.7 and the suite into $home"
  rm -rf "$home"
  mkdir -p "$home/wheels"
  fetch_python "$home" || return 1
  python3 -m venv "$home/venv" || return 1
  "$home/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$home/wheels" \
    "${builders[@]}" || return 1
  install "$home"/wheels/setuptools-*.whl "$home"/wheels/wheel-*.whl && install "${first[@]}" &&
    install "${libraries[@]}" || return 1
  # zope is a namespace package without a file, which Python 2 does not find.
  touch "$home/site/zope/__init__.py"
  install Twisted==19.10.0 && install "${suite[@]}" || return 1
  rm -rf "$home/venv" "$home/wheels"
  (cd "$home" && python2 -c "import autobahntestsuite.wstest") >/dev/null || return 1
  echo "$recipe" >"$home/ready"
}

if [ "$(cat "$home/ready" 2>/dev/null)" != "$recipe" ] && ! install_suite; then
  say "the suite could not be fetched (see above): it needs apt-get, the archive of Debian 11, PyPI and a C compiler once."
  exit 77
fi
# With `fetch`, nothing is run.
[ "${1-}" != fetch ] || exit 0
export AUTOBAHN_LIBRARIES=$home/root/usr/lib/x86_64-linux-gnu:$home/root/lib/x86_64-linux-gnu
export AUTOBAHN_HOME=$home
exec "$python" -B "$folder/autobahn_suite.py" "$@"
