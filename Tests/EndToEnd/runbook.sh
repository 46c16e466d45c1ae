# Functions of the tests of the runbook. Sourced after lib.sh, not run.
#
# Each situation is a function situation_NAME that makes the fault. What the program says and what the administrator does
# come from config/RUNBOOK.md: `sees` waits for the lines that the page quotes, `does` runs the page's commands. So the
# page and the program cannot differ. Commands of the machine (systemctl, …) are functions of the test.
only=("$@")
page=$root/Tests/EndToEnd/runbook_page.py

# A machine that is ten times as slow as a quiet one needs them.
see_seconds=${RUNBOOK_SECONDS:-90}

# see PART NUMBER SECONDS: see runbook_page.py.
see() {
  "$python" "$page" see "$situation" "$1" "$2" --seconds "$3" --log "$log" --since "$since" \
    --answers "$work/answers" --url "$url" --admin "$admin" -- "$chirrup" doctor "${doctor_options[@]}"
}
doctor_options=()

# A page with lines that the program does not say is a failure.
notices_wrong_lines() {
  situation=postgresql-does-not-answer since=0
  : >"$log"
  : >"$work/answers"
  ! see over 1 0 >"$work/wrong" 2>&1 && [ "$(grep --count '^FAIL' "$work/wrong")" -ge 3 ]
}

# situation NAME: runs its test, which must use each block of the page once. If the script got names, only theirs.
situation() {
  [ ${#only[@]} = 0 ] || [[ " ${only[*]} " == *" $1 "* ]] || return 0
  situation=$1
  counts=(0 0 0)
  begin=$SECONDS
  listen
  "situation_${1//-/_}"
  if [ "${counts[*]}" = "$("$python" "$page" count "$1")" ]; then
    pass "$1: the whole page was tried, in $((SECONDS - begin)) s"
  else
    fail "$1: ${counts[*]} blocks were tried, but the page has $("$python" "$page" count "$1")"
  fi
}

# listen: from here on the log and the answers are new.
listen() {
  since=$(stat --format %s "$log" 2>/dev/null || echo 0)
  : >"$work/answers"
  : >"$work/typed"
}

# answered COMMAND…: its output and errors are what the page quotes as `answer`. Its failure may be the situation.
answered() { answer "$("$@" 2>&1)"; }

# answer TEXT: one write with its newline, since clients in the background write too.
answer() { printf '%s\n' "$1" >>"$work/answers"; }

# sees: the next quotation of the page's "What you see".
sees() {
  counts[0]=$((counts[0] + 1))
  quotation seen "${counts[0]}"
}

# over: the quotation of the page's "How you know that it is over".
over() {
  counts[2]=$((counts[2] + 1))
  quotation over "${counts[2]}"
}

quotation() { see "$1" "$2" $see_seconds || failures=$((failures + 1)); }

# does [NAME=VALUE…]: the next block of commands of the page's "What you do", in order; each must succeed. The file typed
# has what the administrator types.
does() {
  local commands command
  counts[1]=$((counts[1] + 1))
  # The end is what the log says from here on.
  since=$(stat --format %s "$log")
  commands=$("$python" "$page" "do" "$situation" "${counts[1]}" "$@") || die "$situation: no commands"
  while IFS= read -r command <&3; do
    if eval "$command" >"$work/output" 2>"$work/errors" <"$work/typed"; then
      pass "$situation: $command"
    else
      fail "$situation: $command: $(tail -n 3 "$work/errors")"
    fi
    answer "$(cat "$work/output" "$work/errors")"
  done 3<<<"$commands"
}

# The page's commands find the gateway by variables, as the unit's environment does.
chirrup() { "$chirrup" "$@"; }

check "the page has twenty situations, each with its parts, its test and its alerts" "$python" "$page" check
