#!/usr/bin/env bash
# postgres_killed.sh: PostgreSQL itself is killed with SIGKILL while databases move in, at exact commits (wire.py). After
# its recovery `up` completes the move, or `down` reverts it.
. "$(dirname "$0")/lib.sh"

new_folder
create_cluster
PATH=$(postgres_bin):$PATH
check "a database outlives the death of its server" \
  "$python" -B "$root/Tests/EndToEnd/postgres_killed.py" --server "$cluster" --chirrup "$chirrup" \
  --start "$(postgres_bin)/pg_ctl start --wait --silent --pgdata $cluster/data --log $cluster/server.log"
