#!/usr/bin/env bash
# Attacks a gateway and prints how many attacks of each class there were, and how many succeeded: none may. README.md
# lists the classes, also those that other tests have. One class alone: Tests/Security/run.sh tenancy
. "$(dirname "$0")/../EndToEnd/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
export PYTHONPATH=$here:$root/Tests/EndToEnd PYTHONDONTWRITEBYTECODE=1
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}

classes=("$@")
if [ ${#classes[@]} = 0 ]; then
  for file in "$here"/*.py; do
    file=$(basename "$file" .py)
    [ "$file" = attacks ] || classes+=("$file")
  done
fi

new_folder
create_cluster
owner_url=$database
create_login "$owner_url"
export CHIRRUP_MIGRATIONS_URL=$owner_url
place=(--database-url "postgresql://chirrup_app@/postgres?host=$cluster")
start_gateway
owner=$(token operator | "$python" -c 'import json, sys; print(json.load(sys.stdin)["token"])')
for class in "${classes[@]}"; do
  # Each class has objects of its own: one class deletes what another needs.
  "$python" "$root/Tests/EndToEnd/openapi_seeds.py" "$url" "$log" "$owner" "$work/$class.json"
  begin=$SECONDS
  check "$class" "$python" "$here/$class.py" --url "$url" --database "$owner_url" --psql "$(postgres_bin)/psql" \
    --chirrup "$chirrup" --seeds "$work/$class.json" --owner "$owner" --log "$log" | tee "$work/$class.out"
  # `check` runs in a subshell here.
  grep -q '^PASS' "$work/$class.out" || failures=$((failures + 1))
  sed -n "s/^RESULT \(.*\)/\1\t$((SECONDS - begin)) s/p" "$work/$class.out" >>"$work/table"
done
check "the gateway then stops in good order" stop_gateway
check "PostgreSQL refused no statement for want of a privilege" is_unrefused
printf '\n%-24s %8s %10s %8s\n' class attacks succeeded time
while IFS=$'\t' read -r name attacks faults took; do
  printf '%-24s %8d %10d %8s\n' "$name" "$attacks" "$faults" "$took"
done <"$work/table"
