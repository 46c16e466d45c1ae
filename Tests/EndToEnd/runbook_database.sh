#!/usr/bin/env bash
# The situations of config/RUNBOOK.md whose cause is PostgreSQL: each fault is made, the program must say what the page
# quotes, and the page's commands must end it.
# A small file system of its own for the full disk, which ends with this script.
if [ "$(id -u)" = 0 ] && [ -z "${RUNBOOK_MOUNTS-}" ]; then RUNBOOK_MOUNTS=own exec unshare --mount "$0" "$@"; fi
. "$(dirname "$0")/lib.sh"
. "$root/Tests/EndToEnd/runbook.sh" "$@"
client=$root/Tests/EndToEnd/runbook_client.py

new_folder
create_cluster
create_login "$database"
small=$work/small
mkdir "$small"
end_small() {
  local status=$?
  umount --lazy "$small" 2>/dev/null || true
  (exit $status)
  clean_up
}
trap end_small EXIT
if [ "$(id -u)" = 0 ]; then
  mount -t tmpfs -o size=48m tmpfs "$small"
  chown postgres "$small"
fi
psql --no-psqlrc --quiet "$database" --command "CREATE TABLESPACE small LOCATION '$small'" \
  --command "CREATE DATABASE chirrup TABLESPACE small"
database="postgresql://chirrup@/chirrup?host=$cluster"
secret=$work/database_url
unset DATABASE_URL
new_url() { printf 'postgresql://chirrup_app:%s@/chirrup?host=%s\n' "$1" "$cluster"; }
psql --no-psqlrc --quiet "$database" --command "ALTER ROLE chirrup_app PASSWORD 'first'"
sed -i '1i local all chirrup_app scram-sha-256' "$cluster/data/pg_hba.conf"
psql --no-psqlrc --quiet "$database" --command 'SELECT pg_reload_conf()' >"$work/reload.out"
new_url first >"$secret"
export CHIRRUP_DATABASE_URL_FILE=$secret CHIRRUP_MIGRATIONS_URL=$database
admin=http://127.0.0.1:$(free_port)
export CHIRRUP_ADMIN_LISTEN=${admin#http://} CHIRRUP_LISTEN=127.0.0.1:$port CHIRRUP_CONFIG=$work/chirrup.yaml
printf 'loops: 2\nlimits: {sends_per_visitor: 0}\n' >"$CHIRRUP_CONFIG"
place=()

# What the page's commands use.
sql() { psql --no-psqlrc --tuples-only --no-align "$database" --command "$1"; }
systemctl() {
  case $* in
    'start postgresql') start_cluster ;;
    'start chirrup') start_gateway ;;
    *) return 1 ;;
  esac
}
# A release that knows the migration, as far as a test without one can go.
apt-get() { sql "DELETE FROM chirrup_migrations WHERE revision = '29990101_later'"; }
quietly() { sql "$1" >/dev/null; }
end_connections() { quietly "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'chirrup_app'"; }
say() { "$python" "$client" say "ws://127.0.0.1:$port/api/v1/ws" "$visitor" "$1"; }

situation_postgresql_does_not_answer() {
  stop_cluster fast
  sees
  does
  over
}

situation_postgresql_is_slow() {
  quietly "ALTER SYSTEM SET commit_delay = 60000"
  quietly "ALTER SYSTEM SET commit_siblings = 0"
  quietly "SELECT pg_reload_conf()"
  sees
  does
  over
}

situation_postgresql_takes_no_writes() {
  local before
  before=$(wc -l <"$log")
  quietly "ALTER SYSTEM SET default_transaction_read_only = on"
  quietly "SELECT pg_reload_conf()"
  # No message: the gateway must notice by itself.
  sees
  # As long as two rounds of each periodic statement.
  sleep 12
  check "the outage is the only error that the log tells" test -z \
    "$(tail -n +"$((before + 1))" "$log" | grep -E ' error |25006|refused a statement')"
  does
  over
}

situation_the_disk_of_the_database_is_full() {
  if [ "$(id -u)" = 0 ]; then
    as_postgres dd if=/dev/zero of="$small/filler" bs=1M status=none 2>/dev/null || true
  else
    # Without root there is no small disk: PostgreSQL's error for a full one.
    quietly "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
      \$\$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END \$\$"
    quietly "CREATE TRIGGER full_disk BEFORE INSERT ON chats FOR EACH STATEMENT EXECUTE FUNCTION full_disk()"
  fi
  answered timeout 120 "$python" "$client" fill "ws://127.0.0.1:$port/api/v1/ws" "$visitor"
  sees
  does "folder=$small"
  rm -f "$small/filler"
  [ "$(id -u)" = 0 ] || quietly "DROP TRIGGER full_disk ON chats"
  over
}

situation_connections_to_postgresql_are_used_up() {
  quietly "ALTER ROLE chirrup_app CONNECTION LIMIT 2"
  end_connections
  sees
  does "login=chirrup_app"
  over
}

situation_the_password_of_the_database_has_changed() {
  quietly "ALTER ROLE chirrup_app PASSWORD 'second'"
  end_connections
  sees
  new_url second >"$work/new_url"
  does "file with the new url=$work/new_url" "file=$secret"
  over
}

situation_the_gateway_does_not_start_after_an_upgrade() {
  local last status=0
  last=$(chirrup migrate status | awk '{print $3}' | tail -n 2 | head -n 1)
  stop_gateway || fail "the gateway does not stop in good order"
  chirrup migrate down --to "$last" --yes >"$work/down" 2>&1 || fail "migrate down: $(tail -n 3 "$work/down")"
  CHIRRUP_MIGRATE=false "$chirrup" serve >>"$log" 2>&1 || status=$?
  check "a schema that is behind stops the start" test $status = 1
  CHIRRUP_MIGRATE=false sees
  does
  stop_gateway || fail "the gateway does not stop in good order"
  listen
  status=0
  quietly "INSERT INTO chirrup_migrations (revision, checksum, applied_at, duration_ms, parent)
    SELECT '29990101_later', checksum, now(), 0, revision FROM chirrup_migrations ORDER BY revision DESC LIMIT 1"
  "$chirrup" serve >>"$log" 2>&1 || status=$?
  check "a schema that is ahead stops the start, with status 3" test $status = 3
  sees
  does "version=29990101"
  over
}

situation_a_message_is_in_quarantine() {
  quietly "ALTER TABLE chats ADD CONSTRAINT words CHECK (content NOT LIKE '%forbidden%')"
  answered say "forbidden"
  sees
  does "id=$(sql 'SELECT message_id FROM quarantine')" "workspace=demo" \
    "statement that removes the reason=ALTER TABLE chats DROP CONSTRAINT words"
  over
}

check "lines that are not said are noticed" notices_wrong_lines
start_gateway
visitor=$(token visitor)
situation the-password-of-the-database-has-changed
situation connections-to-postgresql-are-used-up
situation postgresql-does-not-answer
situation postgresql-takes-no-writes
situation postgresql-is-slow
situation the-disk-of-the-database-is-full
situation the-gateway-does-not-start-after-an-upgrade
situation a-message-is-in-quarantine
check "the gateway then stops with status 0" stop_gateway
