#!/usr/bin/env bash
# /metrics of a gateway with traffic, as Prometheus reads it: promtool's lint, the rules and the dashboard of config/.
. "$(dirname "$0")/lib.sh"
config=$root/config

# An unpacked package, see scripts/steps.sh.
promtool=$root/.venv/prometheus/usr/bin/promtool
[ -x "$promtool" ] || promtool=$(command -v promtool) || {
  printf '      not tried: promtool is not installed\n'
  exit 77
}

new_folder
secure=$(free_port)
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost -keyout "$work/tls.key" -out "$work/tls.pem" 2>/dev/null
chmod 600 "$work/tls.key"
start_gateway --loops 2 --tls-listen "127.0.0.1:$secure" --tls-certificates "$work/tls.pem" --tls-keys "$work/tls.key"
curl --silent --fail --insecure --output /dev/null "https://localhost:$secure/healthz" || fail "no answer over TLS"
curl --silent --output /dev/null "$url/api/v1/none" || fail "no answer of the API"

# What a background job reads every ten seconds is there too.
scrape() { curl --silent --fail --max-time 10 "$url/metrics" >"$work/metrics"; }
is_full() { scrape && grep --quiet '^chirrup_queue_conversations ' "$work/metrics"; }
check "figures of the whole database are read" await 60 "the figures of the queue" is_full
check "a message is acknowledged, and the histograms count it" timeout 120 "$python" \
  "$(dirname "$0")/metrics_test.py" traffic --url "$url" --visitor "$(token visitor)"
scrape
has() { grep --quiet "^$1\$" "$work/metrics" || { grep "^${1%%[ {]*}" "$work/metrics" >&2; return 1; }; }
end=$(date --date "$(openssl x509 -enddate -noout -in "$work/tls.pem" | cut -d = -f 2)" +%s)
check "the certificate's end is that of openssl" has \
  "chirrup_tls_certificate_expiry_timestamp_seconds{file=\"$work/tls.pem\"} $end"
check "its batch was one statement behind the fence" has 'chirrup_fenced_batches_total{loop="[01]"} [1-9].*'
check "the handshake is counted" has 'chirrup_tls_handshake_duration_seconds_count [1-9].*'
check "a path without a route is “other”" has \
  'chirrup_rest_request_duration_seconds_count{method="other",route="other",status="4xx"} 1'
lint() { "$promtool" check metrics <"$work/metrics"; }
is_kept() { scrape && grep --quiet '^chirrup_upkeep_last_success_timestamp_seconds{task="deleted"} ' "$work/metrics"; }
check "upkeep has succeeded, and says when" await 60 "the first run of upkeep" is_kept
check "… without a failure" has 'chirrup_upkeep_failures_total{task="deleted"} 0'
check "promtool finds no fault in the names, types and units" lint
check "… and finds one when there is one" bash -c "! printf '# TYPE x_ms gauge\nx_ms 1\n' | '$promtool' check metrics" \
  2>"$work/lint"
check "each metric of the alerts and the dashboard is in the scrape" "$python" "$(dirname "$0")/metrics_test.py" \
  names --scrape "$work/metrics" --config "$config" --rules "$work/dashboard.yml"
check "the dashboard's queries are valid" "$promtool" check rules "$work/dashboard.yml"
check "config/prometheus.yml is valid" "$promtool" check config "$config/prometheus.yml"
check "each alert fires for its fault, and not without it" "$promtool" test rules "$config/alerts_test.yml"
check "the gateway stops with status 0" stop_gateway

[ $failures = 0 ]
