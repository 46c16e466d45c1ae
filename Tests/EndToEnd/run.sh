#!/usr/bin/env bash
# The end-to-end tests: private gateways with their own data, third-party clients, crashes, load, browsers.
# `scripts/release` comes first. With --full the load lasts a minute, and more is broken for longer; with --shapes all
# shapes of databases move in and are killed, with --versions they do so on all versions of PostgreSQL.
# With --area=visitors, operators, administrators or none run the parts of this area, and those that belong to none.
# One part alone: its script, for example Tests/EndToEnd/crash_gateway.sh
#
# Parts that mostly wait run beside each other. Failures are printed again at the end.
set -uo pipefail
cd "$(dirname "$0")"

full=false shapes=false versions=false chosen=
for option; do
  case $option in
  --full) full=true ;;
  --shapes) shapes=true ;;
  --versions) versions=true ;;
  --area=visitors | --area=operators | --area=administrators | --area=none) chosen=${option#*=} ;;
  *)
    echo "usage: Tests/EndToEnd/run.sh [--full] [--shapes] [--versions] [--area=visitors|operators|administrators|none]"
    exit 2
    ;;
  esac
done
failed=()
beside=()
outputs=$(mktemp -d /tmp/chirrup-parts.XXXXXX)
trap 'rm -rf "$outputs"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; wait; exit 130' INT TERM

# A part may take this long, a machine that is ten times as slow as a quiet one included; with --full some break things
# for longer. Then scripts/within says what hangs, and no part leaves a process behind.
minutes=30
if $full; then minutes=75; fi

within() {
  local name=$1
  shift
  ../../scripts/within $((60 * minutes)) "$name" "$@"
}

# The status of a part whose requirement is missing on this machine.
not_here=77

# said NAME STATUS SECONDS
said() {
  if [ "$2" = 0 ]; then
    printf -- '-- %s: passed in %s s\n' "$1" "$3"
  elif [ "$2" = "$not_here" ]; then
    printf -- '-- %s: not tried, see above\n' "$1"
  else
    printf -- '-- %s: FAILED after %s s\n' "$1" "$3"
    failed+=("$1")
  fi
}

# area NAME: the parts that follow belong to this area, or to none.
area() { area=$1; }
is_chosen() { [ -z "$chosen" ] || [ "$area" = none ] || [ "$area" = "$chosen" ]; }

# part NAME COMMAND…: runs a part alone on the machine.
part() {
  is_chosen || return 0
  local name=$1 begin=$SECONDS status=0
  shift
  printf '\n-- %s\n' "$name"
  within "$name" "$@" 2>&1 | tee "$outputs/$name" || status=$?
  said "$name" $status $((SECONDS - begin))
}

# As many parts run at once. More finish no sooner on two cores, and tools of others in them lose their own time limits.
parts_max=6

# beside NAME COMMAND…: starts a part in the background; `join` prints its output.
beside() {
  is_chosen || return 0
  local name=$1
  shift
  while [ "$(jobs -rp | wc -l)" -ge $parts_max ]; do wait -n; done
  beside+=("$name")
  {
    local begin=$SECONDS status=0
    within "$name" "$@" >"$outputs/$name" 2>&1 || status=$?
    echo "$status $((SECONDS - begin))" >"$outputs/$name.end"
  } &
}

# join: waits for all parts in the background.
join() {
  local name status seconds
  wait
  for name in "${beside[@]}"; do
    printf '\n-- %s\n' "$name"
    cat "$outputs/$name"
    read -r status seconds <"$outputs/$name.end"
    said "$name" "$status" "$seconds"
  done
  beside=()
}

# Short enough for a log of which only the end is kept.
repeat_failures() {
  local name
  for name in "${failed[@]:0:3}"; do
    printf '\n-- %s, once more\n' "$name"
    grep --extended-regexp '^(FAIL|waited|within:|  BROKEN|[A-Za-z.]+(Error|Exception)\b)' "$outputs/$name" |
      cut -c 1-300 | head -n 6
    printf '   …\n'
    tail -n 6 "$outputs/$name" | cut -c 1-300
  done
}

area administrators
beside "cluster upgrade" ./cluster_upgrade.sh
beside "package" ./package.sh
beside "container" ./container.sh
beside "installed" ./installed.sh
beside "hardened" ./hardened.sh
beside "service manager" ./service.sh
area none
# The longest parts first, so that none runs alone at the end.
if $full; then
  beside "torture" ./torture.sh 20
  beside "private database" ./private_database.sh 20
  beside "gateway crash" ./crash_gateway.sh
  beside "database crash" ./crash_postgres.sh
  beside "openapi" ./openapi.sh --full
  beside "tls flood" ./tls_flood.sh
else
  beside "torture" ./torture.sh
  beside "private database" ./private_database.sh
  beside "gateway crash" ./crash_gateway.sh 1
  beside "database crash" ./crash_postgres.sh 1
  beside "openapi" ./openapi.sh
  beside "tls flood" ./tls_flood.sh 4000
fi
beside "tls scan" ./tls_scan.sh
beside "import" ./import.sh
beside "import, Live Helper Chat" ./import_live_helper_chat.sh
beside "import, Intercom" ./import_intercom.sh
beside "outbox" ./outbox.sh
beside "attachments" ./attachments.sh
beside "attachments, storage" ./attachments_storage.sh
beside "keys" ./keys.sh
beside "runbook, gateway" ./runbook_gateway.sh
beside "doctor" ./doctor.sh
beside "runbook, database" ./runbook_database.sh
beside "metrics" ./metrics.sh
beside "crowds" ./crowds.sh
beside "backup" ./backup.sh
beside "backup, files" ./backup_files.sh
beside "workloads" ./workloads.sh
beside "roles" ./roles.sh
beside "verdict" ./verdict.sh
beside "migrations" ./migrate.sh
beside "watching" ./watching.sh
beside "report" ./report.sh
beside "secrets" ./secrets.sh
beside "webhooks" ./webhooks.sh
beside "held loop" ./held.sh
beside "old application" ./beside.sh
beside "readiness" ./readiness.sh
beside "quarantine" ./quarantine.sh
beside "fail-over" ./failover.sh
beside "tls" ./tls.sh
beside "examples" ./examples.sh
beside "clients" ./clients.sh
beside "schema ahead" ./schema_ahead.sh
beside "pgbouncer" ./pgbouncer.sh
beside "reload" ./reload.sh
beside "quotas" ./quotas.sh
beside "http" ./http.sh
beside "shared port" ./shared_port.sh
beside "socket activation" ./activation.sh
join
# Each browser uses a whole core.
parts_max=4
area none
beside "queue" ./queue.sh
beside "mail" ./mail.sh
beside "replies by e-mail" ./replies.sh
beside "widget, conversation" ./widget_talk.sh
beside "console" ./console.sh
beside "LINE" ./line.sh
beside "LINE, contents" ./line_contents.sh
beside "Telegram" ./telegram.sh
beside "widget" ./widget.sh
beside "answering" ./answering.sh
beside "browser" ./browser.sh
area visitors
beside "languages" ./languages.sh
beside "visitors" ./visitors.sh
beside "rating" ./rating.sh
beside "widget, hosts" ./widget_host.sh
beside "push" ./push.sh
beside "visitors, list" ./visitor_list.sh
beside "demo" ./demo.sh
beside "merge" ./merge.sh
beside "firefox" ./firefox.sh
beside "webkit" ./webkit.sh
area operators
beside "list" ./list.sh
beside "teams" ./teams.sh
beside "day" ./day.sh
beside "automatic answers" ./answers.sh
beside "assist" ./assist.sh
beside "analytics" ./analytics.sh
beside "hijack" ./hijack.sh
beside "mail in a browser" ./mail_browser.sh
beside "connections" ./connections.sh
beside "bulk" ./bulk.sh
beside "saved views" ./views.sh
beside "LINE, console" ./line_browser.sh
beside "Telegram, console" ./telegram_browser.sh
area administrators
beside "reference" ./reference.sh
beside "pages" ./pages.sh
beside "signing in" ./signin.sh
beside "admin" ./admin.sh
beside "single sign-on" ./oidc.sh
beside "deletion" ./deletion.sh
beside "setup" ./setup.sh
beside "personal data" ./personal_data.sh
join
area operators
part "console everywhere" ./console_everywhere.sh
part "noisy neighbours" ./neighbours.sh
area none
part "attachments, browser" ./attachments_browser.sh
part "stalls" ./stalls.sh
part "three gateways" ./cluster.sh
part "durable" ./durable.sh
# Each uses one core.
if $shapes; then
  beside "shapes" ./shapes.sh --kills 1
  beside "shapes of an owner" ./shapes.sh --owner --kills 0
  beside "shapes, PostgreSQL killed" ./postgres_killed.sh
else
  beside "shapes" ./shapes.sh --kills 1 --shape plain --shape guide_half --shape supabase --shape line_plain
fi
if $versions; then beside "versions of PostgreSQL" ./versions.sh; fi
join
if $full; then part "load" ./load.sh 60; else part "load" ./load.sh; fi

if [ ${#failed[@]} -gt 0 ]; then
  repeat_failures
  printf '\nend to end: FAILED: %s\n' "${failed[*]}"
  exit 1
fi
printf '\nend to end: all passed in %s s\n' $SECONDS
