#!/usr/bin/env bash
# The OpenAPI document against the gateway that serves it: schemathesis makes requests out of it, right ones and
# wrong ones, as an owner, and looks at every answer. The seed is fixed, so a failure can be had again.
. "$(dirname "$0")/lib.sh"

# What no request may meet, whatever it holds: an error of ours, an answer that the document does not know, another
# content type, a route without its login, a method that is answered though there is none. What JSON Schema cannot
# say (it counts characters, the gateway bytes; names are unique; who is the last owner stays) is why a right
# request may be refused and a wrong one, by the document, may be taken.
checks=not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance
checks+=,response_headers_conformance,unsupported_method,ignored_auth,use_after_free,missing_required_header

new_folder
start_gateway
bearer=$(token operator | "$python" -c 'import json, sys; print(json.load(sys.stdin)["token"])')

fuzz() {
  schemathesis --no-color run "$url/api/v1/openapi.json" --header "Authorization: Bearer $bearer" \
    --checks "$checks" --seed 20261122 --generation-deterministic --max-examples "${1:-8}" --phases coverage,fuzzing \
    --workers 2 --request-timeout 20 --max-time 30 --exclude-path /api/v1/auth/password --suppress-health-check all \
    >"$work/report" 2>&1 || {
    tail -n 80 "$work/report" | cut -c 1-300 >&2
    return 1
  }
}

check "no request out of the OpenAPI document meets a failure" fuzz "${1:-}"
grep --extended-regexp '(operations|Test cases|generated|passed)' "$work/report" | head -n 6 || true
check "SIGTERM ends the gateway with 0" stop_gateway
