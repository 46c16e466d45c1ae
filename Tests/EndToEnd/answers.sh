#!/usr/bin/env bash
# Automatic answers of Assist to visitors while no operator is available: a real gateway, which is killed, visitors over
# sockets, and the endpoint of assist.sh.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")

# The endpoint runs here.
export CHIRRUP_WEBHOOKS_ALLOW_PRIVATE=true

not_logged() { ! grep -E "$1" "$log"; }

new_folder
create_cluster
# The test starts the gateway, since it also kills it.
check "automatic answers" \
  "$python" "$folder/answers_test.py" --chirrup "$chirrup" --database "$database" --port "$port" --folder "$work" \
  --psql "$(postgres_bin)/psql" ${ONLY:+--only "$ONLY"}
check "no key, prompt or answer is in the log" not_logged 'VERYSECRETKEY|Rotterdam|bicycle|parcel'
check "no statement was refused" is_unrefused

[ $failures = 0 ]
