#!/usr/bin/env bash
# The first hour: a gateway on an empty database prints one link, whose page leads in a browser to the first message in
# the console; `chirrup setup` does the same in a terminal and for a script. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"

export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}
new_folder

# serve [OPTION…]: a gateway without demo. Its banner goes to a file of its own, as to a pipe of a container.
serve() {
  "$chirrup" serve --listen "127.0.0.1:$port" "${place[@]}" "$@" >"$work/banner" 2>>"$log" &
  gateway_pid=$!
  pids+=("$gateway_pid")
  await 120 "a gateway that is ready" gateway_answers || die "the gateway does not start"
  await 10 "its banner" grep -q "is ready at\|\"ready\"" "$work/banner" "$log" || die "no banner"
}

link_of() { grep -Eoh "$url/setup#[A-Za-z0-9._-]+" "$@" | head -n 1; }

serve --log-level debug
link=$(link_of "$work/banner")
code=${link#*#}
check "serve on an empty database prints one link with a code" \
  test "$(grep -c '/setup#' "$work/banner")" = 1 -a "${#code}" -gt 60
check "the code is not in the log" sh -c '! grep -qF "$1" "$2"' - "$code" "$log"
check "the way from the link to the first message, in a browser" "$python" "$root/Tests/EndToEnd/setup_test.py" \
  --base-url "$url" --link "$link" ${SHOTS:+--shots "$SHOTS"}
check "the code is not in the log after its use" sh -c '! grep -qF "$1" "$2"' - "$code" "$log"
stop_gateway || fail "the gateway does not stop with status 0"
serve
check "a gateway with an owner prints no link" sh -c '! grep -q /setup# "$1"' - "$work/banner"
stop_gateway || fail "the gateway does not stop with status 0"

# In a terminal, and for scripts: each on an empty database.
check "chirrup setup says that there is an owner, and exits with 1" "$python" "$root/Tests/EndToEnd/setup_terminal.py" \
  taken "$chirrup" "${place[@]}"
create_cluster
check "chirrup setup in a terminal: questions, a password without echo, an owner who logs in" "$python" \
  "$root/Tests/EndToEnd/setup_terminal.py" terminal "$chirrup" "${place[@]}"
serve --log-format json
check "its owner logs in" curl --silent --fail --output /dev/null --json \
  '{"email":"ada@example.com","password":"a sentence of my own"}' "$url/api/v1/auth/login"
stop_gateway || fail "the gateway does not stop with status 0"

psql --no-psqlrc --quiet --command "CREATE DATABASE other" "$database"
database="postgresql://chirrup@/other?host=$cluster"
place=(--database-url "$database")
serve --log-format json
check "with log.format json the link is the text of one line, and in no field" "$python" -c '
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1]).read().splitlines() if "/setup#" in line]
assert len(lines) == 1, lines
assert [key for key, value in lines[0].items() if "/setup#" in str(value)] == ["message"], lines
' "$log"
check "chirrup setup for a script, beside the running gateway, with a test message" \
  env CHIRRUP_LISTEN="127.0.0.1:$port" "$python" "$root/Tests/EndToEnd/setup_terminal.py" \
  script "$chirrup" "${place[@]}"
check "the link of the running gateway is then refused" test "$(curl --silent --output /dev/null --write-out '%{http_code}' \
  --json "{\"code\":\"$(link_of "$log" | cut -d '#' -f 2)\"}" "$url/api/v1/auth/setup")" = 409
check "the gateway then stops with status 0" stop_gateway
