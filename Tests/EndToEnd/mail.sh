#!/usr/bin/env bash
# Outgoing e-mail. Exim of Debian, with TLS and AUTH, delivers into a Maildir; aiosmtpd has the faults of mail servers:
# 4xx, 5xx, slowness, a connection that ends after DATA, an outage, kill -9 of the gateway between DATA and its mark.
# Python's email package parses each message.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
exim=${CHIRRUP_EXIM:-$root/.venv/exim/usr/sbin/exim4}
unset CHIRRUP_EXIM
if [ ! -x "$exim" ] || [ "$(id -u)" != 0 ] || ! unshare --mount true 2>/dev/null; then
  printf 'not tried: Exim of Debian (scripts/test unpacks it), and root, which may mount\n'
  exit 77
fi

new_folder
create_cluster
mail=$work/mail
mkdir -p "$mail/spool"
# Exim drops its privileges to nobody.
chmod 755 "$mail"

# certificate NAME: an authority and a certificate of localhost by it.
certificate() {
  openssl req -x509 -newkey rsa:2048 -nodes -keyout "$mail/$1-ca.key" -out "$mail/$1-ca.pem" -days 2 \
    -subj "/CN=$1" -addext basicConstraints=critical,CA:true 2>/dev/null
  openssl req -newkey rsa:2048 -nodes -keyout "$mail/$1.key" -out "$mail/$1.req" -subj /CN=localhost 2>/dev/null
  openssl x509 -req -in "$mail/$1.req" -CA "$mail/$1-ca.pem" -CAkey "$mail/$1-ca.key" -CAcreateserial -days 2 \
    -extfile <(printf 'subjectAltName=DNS:localhost\n') -out "$mail/$1.pem" 2>/dev/null
}
certificate ours
certificate other
password='pass: word "1"'

start_exim() {
  submission=$(free_port)
  implicit=$(free_port)
  cat >"$mail/exim.conf" <<END
exim_path = $exim
exim_user = nobody
exim_group = nogroup
# Of one connection it delivers ten messages at once, and queues the others, unless that is 0.
smtp_accept_queue_per_connection = 0
never_users =
spool_directory = $mail/spool
log_file_path = $mail/log-%s
pid_file_path = $mail/exim.pid
primary_hostname = localhost
keep_environment =
local_interfaces = 127.0.0.1
daemon_smtp_ports = $submission : $implicit
tls_on_connect_ports = $implicit
tls_advertise_hosts = *
tls_certificate = $mail/ours.pem
tls_privatekey = $mail/ours.key
acl_smtp_rcpt = rcpt
rfc1413_query_timeout = 0s
begin acl
rcpt:
  deny !encrypted = *
       message = TLS first
  deny !authenticated = *
       message = log in first
  deny local_parts = nobody-here
       message = mailbox unavailable
  accept
begin routers
all:
  driver = accept
  transport = box
begin transports
box:
  driver = appendfile
  directory = $mail/box
  maildir_format
  create_directory
  user = nobody
  group = nogroup
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = \${if and{{eq{\$auth2}{chirrup}}{eq{\$auth3}{$password}}}}
  server_advertise_condition = \${if def:tls_in_cipher}
  server_set_id = \$auth2
END
  # It insists on an account of its name, which only its package creates.
  { cat /etc/passwd && printf 'Debian-exim:x:65534:65534::/nonexistent:/usr/sbin/nologin\n'; } >"$mail/passwd"
  { cat /etc/group && printf 'Debian-exim:x:65534:\n'; } >"$mail/group"
  chown -R nobody "$mail"
  chown root "$mail/exim.conf"
  unshare --mount sh -c "mount --bind '$mail/passwd' /etc/passwd && mount --bind '$mail/group' /etc/group &&
    exec '$exim' -C '$mail/exim.conf' -bdf" >"$mail/exim.out" 2>&1 &
  pids+=($!)
  await 20 "Exim" bash -c "exec 3<>/dev/tcp/127.0.0.1/$submission" || die "$(cat "$mail/exim.out")"
}
start_exim
printf '%s\n' "$password" >"$work/secret"

# The test starts the gateway, since it also kills it.
export CHIRRUP_PUBLIC_URL=$url CHIRRUP_MAIL_FROM=chat@gateway.example CHIRRUP_MAIL_RETRY_MILLISECONDS=300
export CHIRRUP_MAIL_TIMEOUT_SECONDS=4 CHIRRUP_CREDENTIALS_KEY='a-key-of-this-test-long-enough-0123456789'

# doctor STATE PATTERN NAME=VALUE…: what `chirrup doctor` says of the mail server, with these settings.
doctor_says() {
  local state=$1 pattern=$2
  shift 2
  env "${@/#/CHIRRUP_MAIL_}" timeout 60 "$chirrup" doctor --only mail --listen "127.0.0.1:$port" \
    --database-url "$database" >"$work/doctor" 2>&1 || true
  grep --quiet --extended-regexp "^$state  mail: .*($pattern)" "$work/doctor" && return 0
  cat "$work/doctor"
  return 1
}
ours=(CA_FILE="$mail/ours-ca.pem" USER=chirrup PASSWORD="$password")
check "doctor: STARTTLS and login" doctor_says PASS 'over TLS, with a login' \
  SMTP_URL="smtp://localhost:$submission" "${ours[@]}"
check "… implicit TLS" doctor_says PASS 'over TLS, with a login' SMTP_URL="smtps://localhost:$implicit" "${ours[@]}"
check "… a wrong password" doctor_says FAIL 'refuses the login' \
  SMTP_URL="smtp://localhost:$submission" "${ours[@]}" PASSWORD=wrong
check "… which is not shown" test "$(grep --count 'pass: word' "$work/doctor")" = 0
check "… an unknown issuer" doctor_says FAIL 'certificate' \
  SMTP_URL="smtp://localhost:$submission" "${ours[@]}" CA_FILE="$mail/other-ca.pem"
check "… smtps:// at a port that begins without TLS" doctor_says FAIL 'smtps://localhost' \
  SMTP_URL="smtps://localhost:$submission" "${ours[@]}"
check "… nothing listens" doctor_says FAIL 'smtp://127.0.0.1:1: ' SMTP_URL=smtp://127.0.0.1:1 STARTTLS=off
check "… no server is set" doctor_says SKIP 'mail.smtp_url' STARTTLS=off
check "… and nothing was sent" test ! -e "$mail/box"

check "e-mail" "$python" "$folder/mail_test.py" --chirrup "$chirrup" --database "$database" --port "$port" \
  --psql "$(postgres_bin)/psql" --log "$log" --box "$mail/box" --folder "$mail" \
  --submission "$submission" --implicit "$implicit" --secret "$work/secret" --fault-port "$(free_port)"
# not_logged PATTERN: in the log of the gateways.
not_logged() { ! grep -E "$1" "$log"; }
check "no address, text, password or link is in the log" \
  not_logged '@example.org|We have two|pass: word|password-link/[A-Za-z0-9]|unsubscribe/[A-Za-z0-9]'
check "no statement was refused" is_unrefused

[ $failures = 0 ]
