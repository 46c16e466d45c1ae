#!/usr/bin/env bash
# `chirrup import chatwoot` beside a running gateway, killed with SIGKILL at its commits and at random moments, and run
# again: nothing is lost or doubled, a console shows the conversations, and a visitor's messages go on. In a real Chromium,
# with a private PostgreSQL. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"

export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}
new_folder
create_cluster
start_gateway
psql --no-psqlrc --quiet --command "CREATE DATABASE chatwoot" --command "CREATE DATABASE whole" "$database"
psql --no-psqlrc --quiet --file "$root/Tests/Fixtures/legacy/chatwoot.sql" "postgresql://chirrup@/chatwoot?host=$cluster"
"$chirrup" migrate up --database-url "postgresql://chirrup@/whole?host=$cluster" >"$work/migrate" 2>&1 ||
  die "the second database is not migrated"
check "an import that is killed, beside a gateway" "$python" "$root/Tests/EndToEnd/import_test.py" --base-url "$url" \
  --database "$database" --psql "$(postgres_bin)/psql" --operator-token "$(token operator)" --chirrup "$chirrup" \
  --cluster "$cluster" --folder "$work" ${SHOTS:+--shots "$SHOTS"}
check "the gateway then stops with status 0" stop_gateway
