#!/usr/bin/env bash
# The OpenAPI document against the gateway that serves it: schemathesis makes requests out of it, right ones and
# wrong ones, with all its checks, and every operation is answered as it should at least once. With --full it looks
# for longer. openapi.toml says what it expects, openapi_seeds.py makes what the requests ask for, openapi_hooks.py
# tells it of that. openapi_document.py checks the document by itself.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)

new_folder
# More requests than a person sends; RequestLimitTests check the limits and the document of their responses.
export CHIRRUP_LIMITS_REQUESTS_PER_MEMBER=0 CHIRRUP_LIMITS_REQUESTS_PER_KEY=0 CHIRRUP_LIMITS_REQUESTS_PER_VISITOR=0
export CHIRRUP_LIMITS_REQUESTS_PER_WORKSPACE=0
# No platform of a channel answers, and no request leaves this machine.
export CHIRRUP_CHANNELS_LINE_API_URL=http://127.0.0.1:9
start_gateway
owner=$(token operator | "$python" -c 'import json, sys; print(json.load(sys.stdin)["token"])')

seed() { "$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$work/$1.json" "$2"; }

# fuzz NAME OPERATOR OPTION…: with what an operator shows as a bearer; none: the cookie alone.
fuzz() {
  local name=$1 operator=$2 config=$here/openapi.toml
  shift 2
  "$python" "$here/openapi_seeds.py" "$url" "$log" "$owner" "$work/$name.json" || return 1
  [ "$operator" != key ] || operator=$(seed "$name" key)
  if [ -z "$operator" ]; then
    config=$work/openapi.toml
    grep -v '^operator =' "$here/openapi.toml" >"$config"
  fi
  # Its working files stay in this folder.
  (
    cd "$work"
    OPENAPI_SEEDS=$work/$name.json OPENAPI_SEEN=$work/$name.seen SCHEMATHESIS_HOOKS=$here/openapi_hooks.py \
      OPENAPI_OPERATOR=$operator OPENAPI_COOKIE=$(seed "$name" cookie) OPENAPI_VISITOR=$(seed "$name" visitor) \
      schemathesis --no-color --config-file "$config" run "$url/api/v1/openapi.json" --continue-on-failure "$@" \
      >"$work/$name.report" 2>&1
  ) || {
    grep --after-context 40 --extended-regexp '= (FAILURES|ERRORS) =' "$work/$name.report" | cut -c 1-300 >&2
    tail -n 30 "$work/$name.report" | cut -c 1-300 >&2
    return 1
  }
  grep --extended-regexp 'generated|Selected' "$work/$name.report" || true
}

# succeeded NAME CONDITION: every operation of the document for which the condition holds had an answer 2xx.
succeeded() {
  "$python" - "$url" "$work/$1.seen" "$2" <<'END'
import json, sys, urllib.request

url, seen, condition = sys.argv[1:4]
seen = json.load(open(seen))
missing = []
with urllib.request.urlopen(url + "/api/v1/openapi.json", timeout=20) as answer:
    for path, item in json.load(answer)["paths"].items():
        for method, operation in item.items():
            name = f"{method.upper()} {path}"
            statuses = seen.get(name, [])
            if eval(condition) and not any(200 <= status < 300 for status in statuses):
                missing.append(f"{name}: {statuses}")
print("\n".join(missing))
sys.exit(bool(missing))
END
}

# The phases that make requests by chance (fuzzing, stateful) are for people, who can read what they find. With more than
# one worker schemathesis itself fails now and then: one changes the limit of recursion under the other.
options=(--phases coverage --workers 1 --max-time 25)
if [ "${1:-}" = --full ]; then options=(--phases coverage --workers 1 --max-time 60); fi

check "schemas, examples, servers and descriptions of the document" \
  "$python" "$here/openapi_document.py" "$url"
check "no example fails, as an owner or a visitor" fuzz owner "$owner" --phases examples
# The document is fetched by its readers. Which logins there are changes while it runs, and a one-time code is of one
# moment; passkeys need a host name: signin.sh ends logins, sets up second factors and uses passkeys. Identity providers
# must answer: oidc.sh has some.
# Drafts need an endpoint that answers: assist.sh has some.
# Links of e-mail are in messages, for which there must be a mail server: mail.sh has one.
# The gateway has an owner, so nobody sets it up: setup.sh does.
# The files below a conversation are those of an API key, and of their uploader only. A download needs a link's query as
# a whole: attachments.sh has some.
# Platforms sign what they send: line.sh has one.
others='(path not in ("/api/v1/openapi.json", "/api/v1/auth/setup", "/api/v1/auth/sessions/{id}", "/api/v1/auth/login/code")
  and not path.startswith("/api/v1/mail/") and "password-" not in path and "/mail" not in path
  and not path.startswith("/api/v1/admin/live-chat/conversations/{id}/attachments/{attachment}")
  and path != "/api/v1/attachments/{id}"
  and "second-factor" not in path and "passkey" not in path
  and "auth/provider" not in path and "identity-provider" not in path
  and not (path.endswith("/assist") and method in ("post", "delete")) and not path.endswith("/assist/trial")
  and not path.endswith("/webhook"))'
# A token of the command line has no browser for push messages; the console's cookie has.
check "every operation has succeeded" succeeded owner "$others and (path != '/api/v1/auth/push' or method == 'get')"
check "no generated request fails, of an owner, a visitor or without a login" fuzz wider "$owner" "${options[@]}"
check "no request with an API key fails" fuzz key key --phases examples --include-by '/x-scope != null'
check "every operation of the key's scopes has succeeded" succeeded key 'operation.get("x-scope") and "/mail" not in path'
check "no request with the console's cookie fails" fuzz cookie "" --phases examples \
  --exclude-path /api/v1/auth/login --exclude-path /api/v1/auth/logout
# The password is the owner's.
check "every operation of the console has succeeded" succeeded cookie \
  'operation.get("x-role") and path != "/api/v1/auth/password" and '"$others"
check "SIGTERM ends the gateway with 0" stop_gateway
