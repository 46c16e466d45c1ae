#!/usr/bin/env bash
# config/intercom_download.py against an Intercom REST API that has a rate limit and fails, killed on the way; then
# `chirrup import intercom` beside a running gateway. In a real Chromium, with a private PostgreSQL. Pictures go to the
# folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"

export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}
new_folder
create_cluster

api_port=$(free_port)
record=$work/requests
"$python" "$root/Tests/EndToEnd/intercom_server.py" "$api_port" "$record" 2>"$work/api.log" &
pids+=("$!")
await 30 "an Intercom API" bash -c "exec 3<>/dev/tcp/127.0.0.1/$api_port" || die "the API does not start"
download() {
  INTERCOM_TOKEN=${token:-it is secret} "$python" "$root/config/intercom_download.py" "$work/intercom" \
    --api "http://127.0.0.1:$api_port" "$@" >>"$work/download.log" 2>&1
}
has_lines() { [ -e "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ]; }
requests() { grep --count --extended-regexp "$1" "$record" || true; }

if token=wrong download; then fail "a wrong token is taken"; fi
check "a wrong token is refused, and the words say what to do" grep --quiet "INTERCOM_TOKEN" "$work/download.log"
check "a token is not sent in clear text" bash -c "! INTERCOM_TOKEN=x '$python' '$root/config/intercom_download.py' \
  '$work/clear' --api http://api.example 2>'$work/clear.log' && grep --quiet https '$work/clear.log'"

download &
process=$!
pids+=("$process")
# The file is written in blocks; the requests are recorded one by one.
has_requests() { [ "$(requests 'GET /conversations/')" -ge "$1" ]; }
await 60 "a part of the conversations" has_requests 20 || true
kill -KILL "$process" 2>/dev/null || true
wait "$process" 2>/dev/null || true
if "$chirrup" import intercom --from "$work/intercom" --workspace demo --database-url "$database" 2>"$work/half.log"; then
  fail "half a download is imported"
fi
check "a download that was killed is continued" download
check "it has all 60 conversations" has_lines "$work/intercom/conversations.jsonl" 60
check "the files are those of their owner alone" test -z "$(find "$work/intercom" -type f -perm /077)"
check "it kept to the rate limit: no status 429 but the one of the test" test "$(requests '^429')" = 1
check "it went on after an error and after a connection that ended" test "$(requests '^500')" = 1
begin=$(requests 'GET /conversations/')
check "another download" download
check "fetches no conversation again" test "$(requests 'GET /conversations/')" = "$begin"

# What must be there, from the API's own conversations: what a person wrote as text, and the log's lines.
"$python" - "$root/Tests/EndToEnd" "$work" >"$work/expected.jsonl" <<'END'
import json, re, sys
sys.argv, folder = ["", "0", f"{sys.argv[2]}/none"], sys.argv[1]
sys.path.insert(0, folder)
import http.server
http.server.ThreadingHTTPServer.serve_forever = lambda self: None
import intercom_server as api

ROLES = {"user": "visitor", "admin": "operator", "bot": "bot"}
OF_ONE = {
    190: ("operator", "text", "See the page (https://shop.example/a?b=1&c=2)\nand\n\n- one\n\n[image: https://cdn.example/i.png]\n"
          "[file: receipt.pdf, 48210 bytes, https://cdn.example/receipt.pdf]"),
    192: ("operator", "note", "for Omar's eyes")}
for number in range(1, api.CONVERSATIONS + 1):
    whole = api.conversation(number, True)
    rows = [(whole["created_at"], "visitor", "text", f"line 1 of {number}")]
    for part in whole["conversation_parts"]["conversation_parts"]:
        text = re.sub("<[^>]*>", "", part["body"] or "").replace("&amp;", "&")
        kind, role = part["part_type"], ROLES[part["author"]["type"]]
        if int(part["id"]) in OF_ONE:
            rows.append((part["created_at"], *OF_ONE[int(part["id"])]))
        elif kind == "close":
            rows.append((part["created_at"], "system", "event", "Closed by Dana"))
        elif text and not part["redacted"]:
            rows.append((part["created_at"], role, "note" if kind == "note" else "text", text))
    for row in rows:
        print(json.dumps([str(number), *row]))
END

start_gateway
check "an import from Intercom, beside a gateway" "$python" "$root/Tests/EndToEnd/import_files_test.py" \
  --base-url "$url" --database "$database" --psql "$(postgres_bin)/psql" --operator-token "$(token operator)" \
  --chirrup "$chirrup" --folder "$work" --system intercom --source "$work/intercom" \
  --expected "$work/expected.jsonl" ${SHOTS:+--shots "$SHOTS"}

touch "$record.changed"
check "a download of what has changed since" download --since 2024-01-01
check "fetches the one conversation" test "$(requests 'GET /conversations/')" = $((begin + 1))
"$chirrup" import intercom --from "$work/intercom" --workspace demo --yes --json --database-url "$database" \
  >"$work/changed.log" 2>&1 || fail "the import of what has changed"
check "and its import adds the one message" grep --quiet '"messages":1,' "$work/changed.log"
check "the gateway then stops with status 0" stop_gateway
