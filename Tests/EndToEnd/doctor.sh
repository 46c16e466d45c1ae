#!/usr/bin/env bash
# doctor.sh: each fault is made on purpose, against real programs, and `chirrup doctor` must name it. Only its output is
# read.
. "$(dirname "$0")/lib.sh"

# doctor [OPTION…]: its output and status, with the flags and variables of the gateway under test.
doctor() {
  local status=0
  timeout 120 "$chirrup" doctor --listen "127.0.0.1:$port" "${place[@]}" "$@" >"$work/doctor" 2>"$work/doctor.err" ||
    status=$?
  echo $status >"$work/status"
}

# says NAME STATE CHECK PATTERN [OPTION…]: the line of the check has the state and matches, and a fault has a remedy.
says() {
  local name=$1 state=$2 check=$3 pattern=$4
  shift 4
  doctor --only "$check" "$@"
  if grep --quiet --extended-regexp "^$state  $check: .*($pattern)" "$work/doctor" &&
    { [ "$state" = PASS ] || [ "$state" = SKIP ] ||
      grep --after-context 1 "^$state  $check: " "$work/doctor" | grep --quiet '^      mend: ..'; }; then
    pass "$name"
  else
    fail "$name: $(grep "$check: " "$work/doctor" || tail -n 3 "$work/doctor.err")"
  fi
}
status_is() { [ "$(cat "$work/status")" = "$1" ]; }
sql() { psql --no-psqlrc --quiet --tuples-only --no-align "$database" --command "$1"; }

# proxy NAME LINES: nginx at $proxy_port with these lines in its location.
proxy() {
  [ -z "${nginx_pid-}" ] || end "$nginx_pid" TERM 10
  mkdir -p "$work/nginx"
  cat >"$work/nginx.conf" <<END
daemon off;
pid $work/nginx/pid;
error_log $work/nginx/error.log;
events {}
http {
  access_log off;
  client_body_temp_path $work/nginx; proxy_temp_path $work/nginx; fastcgi_temp_path $work/nginx;
  uwsgi_temp_path $work/nginx; scgi_temp_path $work/nginx;
  server {
    listen 127.0.0.1:$proxy_port;
    location / { proxy_pass http://127.0.0.1:$port; $1 }
  }
}
END
  nginx -c "$work/nginx.conf" 2>>"$work/nginx.log" &
  nginx_pid=$!
  pids+=("$nginx_pid")
  await 20 "nginx" curl --silent --output /dev/null "http://127.0.0.1:$proxy_port/healthz" || die "nginx does not start"
}
through=(--public-url)
good='proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;
  proxy_set_header Host $host:$server_port; proxy_set_header X-Forwarded-For $remote_addr;
  proxy_set_header X-Forwarded-Proto $scheme; proxy_buffering off;'

new_folder
proxy_port=$(free_port)
through=(--public-url "http://127.0.0.1:$proxy_port")

# Without a gateway and without PostgreSQL.
doctor
check "without a gateway: warnings only, status 2" status_is 2
says "… it says so" WARN readiness 'no gateway runs here'
says "… and the addresses are free" PASS listeners "127.0.0.1:$port is free"
says "… and the private PostgreSQL is not started" SKIP database 'only while the gateway does'
check "… and nothing was made" test ! -e "$data"
place=(--database-url "postgresql://chirrup:hunter2secret@127.0.0.1:$port/none")
says "without PostgreSQL: it says so" FAIL database 'not available'
check "… in status 1" status_is 1
check "… without the password" test "$(cat "$work/doctor" "$work/doctor.err" | grep -c hunter2secret)" = 0
place=(--data-dir "$data")
says "a wrong setting" FAIL settings 'expected: ' --loops many
CHIRRUP_LISTEM=x says "an unknown variable" WARN settings 'CHIRRUP_LISTEM.*did you mean CHIRRUP_LISTEN'

create_cluster
says "an empty database: the next start migrates it" WARN schema 'migrations are pending'
start_gateway --loops 2
doctor --json
check "with --json each line is an object with the documented members" "$python" - "$work/doctor" <<'END'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert all(set(line) == {"check", "state", "found", "mend", "milliseconds"} for line in lines[:-1])
assert set(lines[-1]) == {"ok", "warnings", "failures", "skipped", "exit_code"}
assert all((line["mend"] is None) == (line["state"] in ("ok", "skipped")) for line in lines[:-1])
assert len(lines) > 20 and lines[-1]["failures"] == 0, [line for line in lines if line.get("state") == "failure"]
END
says "a running gateway is recognised" PASS listeners "127.0.0.1:$port is a gateway's \(process"
says "… and is ready" PASS readiness 'can write and read'
says "… and a request arrives" PASS public_url 'leads to this gateway'
says "… and a WebSocket opens" PASS upgrade 'a ping takes'
says "… and the schema is current" PASS schema 'migrations are applied'
says "… and commits are measured" PASS commit_time 'commits of one record took [0-9.]+ ms'
says "… and the owner as login is named" WARN roles 'row security does not bind'
says "… and every index is there" PASS indexes 'every index'
doctor
check "… in status 2: warnings only" status_is 2

# Proxies.
if command -v nginx >/dev/null; then
  proxy "$good"
  says "a proxy that is not trusted" WARN forwarding 'not in trusted_proxies' "${through[@]}"
  says "… passes WebSockets" PASS upgrade 'a ping takes' "${through[@]}"
  says "… and does not buffer" PASS buffering 'begins after' "${through[@]}"
  proxy "${good//proxy_set_header Upgrade \$http_upgrade;/}"
  says "a proxy that strips Upgrade" FAIL upgrade 'does not arrive' "${through[@]}"
  proxy ""
  says "a proxy with the defaults" FAIL upgrade 'does not arrive' "${through[@]}"
  says "… and Host" WARN forwarding 'replaces Host|not in trusted' "${through[@]}"
  proxy "${good//proxy_buffering off;/proxy_buffering on;}"
  says "a proxy that buffers" WARN buffering 'the proxy buffers' "${through[@]}"
  proxy 'return 404;'
  says "another site at public_url" FAIL public_url 'another server: it answers 404 \(nginx' "${through[@]}"
  proxy "$good"
else
  fail "nginx is not installed"
fi
says "a public_url where nothing listens" FAIL public_url 'refused|connect' --public-url "http://127.0.0.1:1"
says "a public_url without an address" FAIL dns 'nowhere.invalid' --public-url http://nowhere.invalid
says "… does not lead here" FAIL public_url 'nowhere.invalid' --public-url http://nowhere.invalid
CHIRRUP_ADMIN_LISTEN=none says "without admin_listen it is not known where public_url leads" \
  WARN public_url 'admin_listen does not answer'

# Listeners.
other=$(free_port)
"$python" -m http.server --bind 127.0.0.1 "$other" >/dev/null 2>&1 &
pids+=($!)
await 20 "another program" curl --silent --output /dev/null "http://127.0.0.1:$other/"
says "another program at the address" FAIL listeners "127.0.0.1:$other belongs to process [0-9]+ \(python" \
  --listen "127.0.0.1:$other"
first=$gateway_pid
export CHIRRUP_LISTEN_SHARED=true
start_gateway --loops 1
unset CHIRRUP_LISTEN_SHARED
# The first one answers while the second one still starts.
is_shared() { doctor --only sharing; grep --quiet 'FAIL  sharing' "$work/doctor"; }
await 60 "a second process at the address" is_shared || true
says "a second process at the address" FAIL sharing "shared by the processes [0-9]+ and [0-9]+"
stop_gateway || true
gateway_pid=$first

# The machine.
port_before=$port
port=$(free_port)
(
  failures=0
  trap - EXIT
  ulimit -n 300
  says "a low limit of descriptors" WARN descriptors 'may open 300 descriptors'
  [ $failures = 0 ]
) || failures=$((failures + 1))
CHIRRUP_LIMITS_RECENT_MEBIBYTES=65536 CHIRRUP_LIMITS_CONNECTIONS=1000000 CHIRRUP_LIMITS_WARM_SESSIONS=1000000 \
  says "limits above the memory" WARN memory 'the limits allow' --loops 64
port=$port_before
if command -v faketime >/dev/null; then
  faketime=(faketime -f +10m)
  chirrup_before=$chirrup
  printf '#!/bin/sh\nexec faketime -f +10m %s "$@"\n' "$chirrup" >"$work/late"
  chmod +x "$work/late"
  chirrup=$work/late
  says "a clock that is ten minutes ahead" FAIL clock '(600|599)[0-9]{3} ms ahead'
  chirrup=$chirrup_before
else
  printf '      the clock: not tried, faketime is not installed\n'
fi

# Certificates.
certificate() { # FILE NAME [OPTION…]
  local file=$1 name=$2
  shift 2
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$name" \
    -addext "subjectAltName=DNS:$name" -keyout "$work/$file.key" -out "$work/$file.pem" "$@" 2>/dev/null
  chmod 600 "$work/$file.key"
}
expired() {
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost \
    -keyout "$work/old.key" -out "$work/old.csr" 2>/dev/null
  chmod 600 "$work/old.key"
  mkdir -p "$work/ca"
  : >"$work/ca/index"
  echo 01 >"$work/ca/serial"
  printf '[ca]\ndefault_ca=c\n[c]\ndatabase=%s/ca/index\nserial=%s/ca/serial\nnew_certs_dir=%s/ca\ndefault_md=sha256\n
policy=p\n[p]\ncommonName=supplied\n' "$work" "$work" "$work" >"$work/ca.conf"
  openssl ca -batch -config "$work/ca.conf" -selfsign -keyfile "$work/old.key" -in "$work/old.csr" \
    -startdate 20200101000000Z -enddate 20210101000000Z -notext -out "$work/old.pem" 2>"$work/ca.log" || cat "$work/ca.log" >&2
}
secure=$(free_port)
tls() { # FILE: the flags
  printf '%s\n' --tls-listen "127.0.0.1:$secure" --tls-certificates "$work/$1.pem" --tls-keys "$work/${2-$1}.key" \
    --public-url https://localhost
}
certificate good localhost -days 90
certificate short localhost -days 5
certificate wrong other.example -days 90
expired
mapfile -t flags < <(tls good)
says "a certificate of an authority that is trusted" PASS certificate 'valid for (89|90) days' \
  "${flags[@]}" --authority "$work/good.pem"
says "… and one that nobody trusts" WARN certificate 'self-signed|self signed' "${flags[@]}"
mapfile -t flags < <(tls short)
says "a certificate that expires soon" WARN certificate 'expires in [45] days' "${flags[@]}" --authority "$work/short.pem"
mapfile -t flags < <(tls wrong)
says "a certificate of another name" FAIL certificate 'has the name localhost' "${flags[@]}" --authority "$work/wrong.pem"
mapfile -t flags < <(tls old)
says "a certificate that has expired" FAIL certificate 'has expired' "${flags[@]}"
mapfile -t flags < <(tls good wrong)
says "a key of another certificate" FAIL certificate 'does not belong' "${flags[@]}"

# PostgreSQL.
sql "ALTER SYSTEM SET fsync = off"; sql "ALTER SYSTEM SET full_page_writes = off"; sql "SELECT pg_reload_conf()" >/dev/null
sleep 1
says "fsync and full_page_writes off" FAIL durability 'fsync is off.*full_page_writes is off'
sql "ALTER SYSTEM RESET ALL"; sql "ALTER ROLE chirrup SET synchronous_commit = off"; sql "SELECT pg_reload_conf()" >/dev/null
sleep 1
says "synchronous_commit off for the role" FAIL durability 'synchronous_commit is off \(user'
sql "ALTER ROLE chirrup RESET synchronous_commit"
sql "ALTER SYSTEM SET commit_delay = 60000"; sql "ALTER SYSTEM SET commit_siblings = 0"
sql "SELECT pg_reload_conf()" >/dev/null
sleep 1
says "slow commits" WARN commit_time 'took (6|7|8|9)[0-9]\.'
sql "ALTER SYSTEM RESET ALL"; sql "SELECT pg_reload_conf()" >/dev/null
index=$(sql "SELECT indexrelid::regclass FROM pg_index i JOIN pg_class c ON c.oid = indrelid
  WHERE relname = 'chats' AND NOT indisunique ORDER BY 1 LIMIT 1")
definition=$(sql "SELECT pg_get_indexdef('$index'::regclass)")
sql "DROP INDEX $index"
says "a missing index" FAIL indexes "$index is missing"
sql "$definition"
sql "UPDATE pg_index SET indisvalid = false WHERE indexrelid = '$index'::regclass"
says "an invalid index" FAIL indexes "invalid indexes: $index"
sql "UPDATE pg_index SET indisvalid = true WHERE indexrelid = '$index'::regclass"
sql "CREATE TABLE crowded (n int) WITH (autovacuum_enabled = off)"
sql "INSERT INTO crowded SELECT generate_series(1, 50000)"
sql "DELETE FROM crowded WHERE n > 1000"
check "a table full of dead rows" await 20 "the statistics" bash -c \
  "'$chirrup' doctor ${place[*]} --only bloat | grep -E 'crowded: 4[0-9]{4} dead rows'"
says "… with the line that mends it" WARN bloat 'crowded: 4[0-9]{4} dead rows'
check "… for this table" grep --quiet 'mend: VACUUM (ANALYZE) crowded;' "$work/doctor"
says "a table that autovacuum leaves alone" WARN autovacuum 'autovacuum_enabled of crowded is off'
check "… with the line that mends it" grep --quiet 'mend: ALTER TABLE crowded RESET (autovacuum_enabled);' "$work/doctor"
# The line itself mends it.
sql "$(sed -n 's/^      mend: //p' "$work/doctor")"
says "… and after it all is well" PASS autovacuum 'is on, for every table'
sql "ALTER SYSTEM SET autovacuum = off"; sql "SELECT pg_reload_conf()" >/dev/null
is_off() { [ "$(sql 'SHOW autovacuum')" = off ]; }
await 20 "autovacuum is off" is_off || true
says "autovacuum is off for the server" WARN autovacuum 'autovacuum is off'
says "no table is old" PASS wraparound 'no table is near'
# As if so many transactions had come since; xid counts modulo 2^32.
age() {
  sql "UPDATE pg_class SET relfrozenxid = ((pg_current_xact_id()::text::bigint + 4294967296 - $1) % 4294967296)::text::xid
    WHERE relname = 'crowded'"
}
age 1200000000
says "a table that was not frozen for long" WARN wraparound 'crowded has not been frozen for 1200 million'
age 1700000000
says "… and soon stops all writes" FAIL wraparound 'crowded has not been frozen for 1700 million'
check "… with the line that mends it" grep --quiet 'mend: VACUUM (FREEZE) crowded;' "$work/doctor"
sql "DROP TABLE crowded"
sql "ALTER SYSTEM RESET ALL"; sql "SELECT pg_reload_conf()" >/dev/null
CHIRRUP_MAINTENANCE_WINDOW="02:00-05:00 Europe/Berlim" says "a window in an unknown time zone" FAIL time_zones \
  'knows no time zone "Europe/Berlim"'
says "nobody holds a lock" PASS locks 'no transaction holds'
printf '%s\n' 'BEGIN; LOCK TABLE chats IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(600);' |
  psql --no-psqlrc --quiet "$database" >/dev/null 2>&1 &
pids+=($!)
is_locked() { doctor --only locks; grep --quiet 'FAIL  locks' "$work/doctor"; }
await 60 "the lock" is_locked || true
says "a transaction that holds a lock on the messages" FAIL locks \
  'process [0-9]+ \(user chirrup, active since .*holds AccessExclusiveLock on chats'
visitor=$(token visitor)
timeout 120 "$python" "$root/Tests/EndToEnd/runbook_client.py" say "ws://127.0.0.1:$port/api/v1/ws" "$visitor" one \
  >"$work/said" 2>&1 &
saying=$!
pids+=("$saying")
is_said() { grep --quiet 'does not store messages.*canceling statement due to lock timeout' "$log"; }
check "… the log says that messages are not stored" await 60 "the line" is_said
wait "$saying" || true
check "… and so does the answer" grep --quiet unavailable "$work/said"
is_locked || true
# The line itself mends it.
sql "$(sed -n 's/^      mend: //p' "$work/doctor")" >/dev/null
says "… and after it all is well" PASS locks 'no transaction holds'
timeout 120 "$python" "$root/Tests/EndToEnd/runbook_client.py" say "ws://127.0.0.1:$port/api/v1/ws" "$visitor" two \
  >"$work/said" 2>&1 || cat "$work/said"
check "… and messages are stored" grep --quiet ack "$work/said"
check "… and the log says so" await 20 "the line" grep --quiet 'PostgreSQL stores messages again' "$log"
sql "CREATE ROLE few LOGIN IN ROLE chirrup_gateway CONNECTION LIMIT 3"
usual=("${place[@]}")
place=(--database-url "postgresql://few@/postgres?host=$cluster")
says "a role with too few connections" FAIL database_connections "the role's limit allows 3"
says "… which row security binds" PASS roles 'row security binds'
sql "REVOKE INSERT ON chats FROM chirrup_gateway"
CHIRRUP_MIGRATIONS_URL=$database says "a privilege that somebody has taken" \
  FAIL roles 'chirrup_gateway lacks INSERT on chats'
check "… with the line that mends it" grep --quiet 'mend: chirrup migrate repair --yes' "$work/doctor"
"$chirrup" migrate repair --yes --database-url "$database" >"$work/repair" 2>&1 || cat "$work/repair"
CHIRRUP_MIGRATIONS_URL=$database says "… and after it all is well" PASS roles 'row security binds'
sql "CREATE ROLE stranger LOGIN"
place=(--database-url "postgresql://stranger@/postgres?host=$cluster")
says "a login without rights" FAIL roles 'not a member of chirrup_gateway'
place=("${usual[@]}")
CHIRRUP_CREDENTIALS_KEY=$(openssl rand -base64 33)
export CHIRRUP_CREDENTIALS_KEY
says "credentials_key is set" PASS credentials_key 'opens the keys'
check "the gateway stops with status 0" stop_gateway
start_gateway --loops 1
gateways_key=$CHIRRUP_CREDENTIALS_KEY
CHIRRUP_CREDENTIALS_KEY=$(openssl rand -base64 33) says "another credentials_key than the database's" \
  FAIL credentials_key 'encrypted with another'
unset CHIRRUP_CREDENTIALS_KEY
says "… or none" FAIL credentials_key 'encrypted with another'
says "… than that of a gateway that runs" FAIL gateways "another credentials_key.*process $gateway_pid on"
export CHIRRUP_CREDENTIALS_KEY=$gateways_key
says "a gateway like these settings" PASS gateways "1 run: process $gateway_pid on"
sql "INSERT INTO gateways (id) VALUES (gen_random_uuid())"
says "an older gateway beside it" WARN gateways 'an older gateway .*: an older version, an older schema'
sql "DELETE FROM gateways WHERE host = '' OR stopped_at IS NOT NULL"
says "attachments on disk" PASS attachments "files in .*, images are cleaned, no virus scanner"
CHIRRUP_ATTACHMENTS_SCANNER=unix:$work/nobody \
  says "a scanner that does not run" FAIL attachments "the scanner cannot be reached"
if [ "$(id -u)" = 0 ]; then
  mkdir "$work/small"
  # small OPTIONS: a `chirrup` with a file system of 16 MiB at that folder, which nobody else sees.
  small() {
    printf '#!/bin/sh\nexec unshare --mount sh -c '"'"'mount -t tmpfs -o %s none "$0" && exec "$@"'"'"' %q %q "$@"\n' \
      "$1" "$work/small" "$chirrup" >"$work/chirrup-small"
    chmod +x "$work/chirrup-small"
    printf '%s' "$work/chirrup-small"
  }
  export CHIRRUP_ATTACHMENTS_FOLDER=$work/small/files
  chirrup=$(small size=16m) says "little room for files" WARN attachments "has 1[0-9] MiB left for files"
  chirrup=$(small size=16m,ro) \
    says "a folder that cannot be written" FAIL attachments "not writable for this user: Read-only"
  unset CHIRRUP_ATTACHMENTS_FOLDER
fi

# The mail server; mail.sh tries one with TLS and a login.
says "no mail server is set" SKIP mail 'mail.smtp_url'
CHIRRUP_MAIL_SMTP_URL=smtp://127.0.0.1:1 CHIRRUP_MAIL_FROM=chat@shop.example CHIRRUP_MAIL_STARTTLS=off \
  says "a mail server that does not listen" FAIL mail 'smtp://127.0.0.1:1: ' --public-url "$url"
# The mailbox; replies.sh tries one.
says "no mailbox is set" SKIP mailbox 'mail.imap_url'
CHIRRUP_MAIL_SMTP_URL=smtp://127.0.0.1:1 CHIRRUP_MAIL_FROM=chat@shop.example CHIRRUP_MAIL_STARTTLS=off \
  CHIRRUP_MAIL_IMAP_URL=imaps://127.0.0.1:1/INBOX CHIRRUP_MAIL_IMAP_USER=chat CHIRRUP_MAIL_IMAP_PASSWORD=word \
  CHIRRUP_MAIL_REPLY_TO=replies@shop.example \
  says "a mailbox whose server does not listen" FAIL mailbox 'imaps://127.0.0.1:1/INBOX: .*connect' --public-url "$url"

# Upkeep.
says "upkeep goes on" PASS upkeep 'have succeeded within 49 h|no task has run yet'
sql "INSERT INTO upkeep_runs (task, since) VALUES ('retention', now() - interval '60 hours')
  ON CONFLICT (task) DO UPDATE SET since = EXCLUDED.since, succeeded_at = NULL"
says "a task that never succeeds" WARN upkeep 'retention has not succeeded for 60 h'
sql "UPDATE upkeep_runs SET succeeded_at = now() - interval '48 hours' WHERE task = 'retention'"
says "… and one that was only late" PASS upkeep 'tasks have succeeded within 49 h'
unset CHIRRUP_CREDENTIALS_KEY
last=$("$chirrup" migrate status "${place[@]}" | awk '{print $3}' | tail -n 2 | head -n 1)
if "$chirrup" migrate down --to "$last" --yes "${place[@]}" >"$work/down" 2>&1; then
  fail "migrate down beside a gateway"
else
  check "migrate down is refused while a gateway runs, and names it" \
    grep --quiet "process $gateway_pid on .* since 20" "$work/down"
fi
stop_gateway || true
"$chirrup" migrate down --to "$last" --yes "${place[@]}" >"$work/down" 2>&1 || fail "migrate down: $(tail -n 3 "$work/down")"
CHIRRUP_MIGRATE=false says "a schema that is behind" FAIL schema '1 migrations are pending'
sql "INSERT INTO chirrup_migrations (revision, checksum, applied_at, duration_ms, parent)
  SELECT '29990101_later', checksum, now(), 0, revision FROM chirrup_migrations ORDER BY revision DESC LIMIT 1"
says "a schema of a later version" FAIL schema '29990101_later'
sql "DELETE FROM chirrup_migrations WHERE revision = '29990101_later'"
if [ "$(id -u)" = 0 ]; then
  stop_cluster fast
  bin=$(postgres_bin)
  mkdir -p "$work/empty"
  # Names that need no data, or PostgreSQL does not start.
  sed -i "s/^\(log_\)\?timezone = .*/\1timezone = GMT/" "$cluster/data/postgresql.conf"
  unshare --mount bash -c "mount --bind '$work/empty' /usr/share/zoneinfo && cd '$cluster' &&
    setpriv --reuid=postgres --regid=postgres --init-groups --reset-env '$bin/pg_ctl' start --wait --silent \
      --pgdata '$cluster/data' --log '$cluster/server.log' \
      --options \"-k $cluster -c listen_addresses=''\""
  says "PostgreSQL without time zones" FAIL time_zones 'lacks time zones'
fi
