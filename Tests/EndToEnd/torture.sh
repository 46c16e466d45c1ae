#!/usr/bin/env bash
# torture.sh [CYCLES [OPTION…]]: gateway, PostgreSQL and connections are killed, stopped, frozen, cut and reset under
# load; every ack, every row and every subscriber's view must agree. Then results are falsified, which the verifier must find.
# SEED=… repeats the faults of an earlier run.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/background_load.sh"

new_folder
cycles=${1:-3}
shift || true

# torture NAME OPTION…: runs in a separate folder, by which left processes are found and ended.
torture() {
  data=$work/$1
  shift
  mkdir "$data"
  chmod 711 "$data"
  "$chirrup_load" torture --chirrup "$chirrup" --data-dir "$data" --json "$work/load.json" "$@"
}

check "$cycles cycles of faults" torture faults --cycles "$cycles" "$@"
noticed "reconnects" "$(figure reconnects)"
noticed "links cut or reset" "$(figure links_broken)"
noticed "deflated messages" "$(figure inflated)"

# convicts LIE FIGURE: the run must end with status 1 and count the falsification.
convicts() {
  local status=0
  torture "$1" --cycles 1 --sessions 3 --operators 2 --only "reset clients" --tamper "$1" >"$work/$1.out" || status=$?
  if [ $status = 1 ] && [ "$(violation "$2")" -gt 0 ]; then
    pass "a falsification is found: $1: $(violation "$2") $2"
  else
    cat "$work/$1.out"
    fail "a falsification is not found: $1: status $status, $(violation "$2") $2"
  fi
}

# violation KIND[|KIND]: how many of them, together.
violation() {
  sed -nE "/^  \"invariants\"/,/\}/s/^    \"($1)\" : ([0-9]*),*$/\2/p" "$work/load.json" |
    awk '{ sum += $1 } END { print sum + 0 }'
}

convicts delete-row lost
convicts change-row mismatched
convicts double-delivery duplicated
if [ "$cycles" -gt 3 ]; then
  convicts exchange-rows mismatched
  convicts drop-delivery holes
  # Another message may have got the seq meanwhile.
  convicts false-ack "lost|mismatched"
fi
