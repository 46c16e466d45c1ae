#!/usr/bin/env bash
# shapes.sh [OPTION…]: databases of other systems move in, are killed, and move out (shapes.py, whose options it takes).
# POSTGRES_BIN: the programs of another PostgreSQL. --record: also writes the table in config/MOVING-IN.md.
. "$(dirname "$0")/lib.sh"

arguments=()
for argument; do
  arguments+=("$argument")
  [ "$argument" != --record ] || arguments+=("$root/config/MOVING-IN.md")
done
new_folder
# A process that is killed loses nothing by this, only a machine.
postgres_options='-c fsync=off -c full_page_writes=off -c max_wal_size=4GB'
create_cluster
PATH=$(postgres_bin):$PATH
pass "$(postgres --version)"
check "every database is adopted and given back, or refused unchanged" \
  "$python" -B "$root/Tests/EndToEnd/shapes.py" --server "$cluster" --chirrup "$chirrup" "${arguments[@]}"
