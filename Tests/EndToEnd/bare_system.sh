# Makes bare systems of this machine's release, from this machine's own package sources. Sourced after lib.sh.

not_here() {
  printf 'not tried: %s\n' "$*"
  exit 77
}

# The words behind `apt-get install` on the line of README.md that names what the program needs.
needed_packages() {
  sed -n 's/^apt-get install --no-install-recommends \([a-z0-9.+ -]*\)\( *#.*\)\?$/\1/p' "$root/README.md"
}

# The distribution's own sources as apt has them here, a line of sources.list for each part.
package_sources() {
  apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' "Origin: $1" |
    sort --unique
}

# make_system directory|tar TARGET [PACKAGE…]: the smallest system with these packages.
make_system() {
  local format=$1 target=$2 codename origin
  shift 2
  [ "$(id -u)" = 0 ] || not_here "only root may make a system and enter it"
  command -v mmdebstrap >/dev/null || not_here "there is no mmdebstrap"
  # shellcheck source=/dev/null
  codename=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
  # shellcheck source=/dev/null
  origin=$(. /etc/os-release && printf '%s' "${ID^}")
  package_sources "$origin" >"$work/sources"
  [ -s "$work/sources" ] || not_here "apt knows no package source of $origin"
  mmdebstrap --quiet --variant=minbase --format="$format" --dpkgopt=force-unsafe-io --keyring=/usr/share/keyrings \
    ${1:+--include="$(printf '%s' "$*" | tr ' ' ',')"} "$codename" "$target" - <"$work/sources" >"$work/mmdebstrap.log" 2>&1 ||
    not_here "the system could not be made: $(tail -n 3 "$work/mmdebstrap.log")"
}
