#!/usr/bin/env bash
# Replies by e-mail. Dovecot of Debian has the mailbox, with TLS; Python's email package writes the messages, and puts
# them into its Maildir. Shapes of many mail programs, loops, limits, kill -9 of the gateway amid 100 replies, a server
# that is away, a wrong password, a certificate that is not trusted.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
dovecot=${CHIRRUP_DOVECOT:-$root/.venv/dovecot}
unset CHIRRUP_DOVECOT
# Dovecot's programs have their paths compiled in: they are laid over /usr, for them alone.
if [ ! -x "$dovecot/usr/sbin/dovecot" ] || [ "$(id -u)" != 0 ] ||
  ! unshare --mount mount -t overlay overlay -o "lowerdir=$dovecot/usr:/usr" /usr 2>/dev/null; then
  printf 'not tried: Dovecot of Debian (scripts/test unpacks it), and root, which may mount an overlay\n'
  exit 77
fi

new_folder
create_cluster
mail=$work/mail
mkdir -p "$mail/box/new" "$mail/box/cur" "$mail/box/tmp" "$mail/run" "$mail/state"
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
printf 'pass word "1"\n' >"$work/secret"
imap_port=$(free_port)
imaps_port=$(free_port)
cat >"$mail/dovecot.conf" <<END
protocols = imap
listen = 127.0.0.1
base_dir = $mail/run
state_dir = $mail/state
log_path = $mail/dovecot.log
default_internal_user = nobody
default_internal_group = nogroup
default_login_user = nobody
first_valid_uid = 1
ssl = yes
ssl_cert = <$mail/ours.pem
ssl_key = <$mail/ours.key
mail_location = maildir:$mail/box
mailbox_list_index = no
auth_failure_delay = 0
passdb {
  driver = passwd-file
  args = $mail/users
}
userdb {
  driver = static
  args = uid=nobody gid=nogroup home=$mail
}
service imap-login {
  chroot =
  inet_listener imap {
    port = $imap_port
  }
  inet_listener imaps {
    port = $imaps_port
    ssl = yes
  }
}
service anvil {
  chroot =
}
service stats {
  chroot =
}
END
printf 'chat:{PLAIN}pass word "1"\n' >"$mail/users"
chown -R nobody "$mail/box" "$mail/users"
cat >"$mail/dovecot" <<END
#!/bin/sh
exec unshare --mount sh -c "mount -t overlay overlay -o 'lowerdir=$dovecot/usr:/usr' /usr &&
  exec /usr/sbin/dovecot -F -c '$mail/dovecot.conf'"
END
chmod 755 "$mail/dovecot"

export CHIRRUP_PUBLIC_URL=$url CHIRRUP_MAIL_FROM=chat@gateway.example CHIRRUP_MAIL_RETRY_MILLISECONDS=300
export CHIRRUP_MAIL_TIMEOUT_SECONDS=2 CHIRRUP_CREDENTIALS_KEY='a-key-of-this-test-long-enough-0123456789'
export CHIRRUP_MAIL_REPLY_TO=replies@gateway.example CHIRRUP_MAIL_IMAP_POLL_SECONDS=1
export CHIRRUP_MAIL_AUTHSERV_ID=mx.gateway.example CHIRRUP_ATTACHMENTS_FOLDER=$work/files

check "replies by e-mail" "$python" "$folder/replies_test.py" --chirrup "$chirrup" --database "$database" \
  --port "$port" --psql "$(postgres_bin)/psql" --log "$log" --folder "$mail" --files "$work/files" --imap "$imap_port" \
  --imaps "$imaps_port" --secret "$work/secret" --smtp-port "$(free_port)"
# not_logged PATTERN: in the log of the gateways.
not_logged() { ! grep -E "$1" "$log"; }
check "no address, subject, text or password is in the log" \
  not_logged '@example.org|Re: Your question|the reply of|pass word'
check "no statement was refused" is_unrefused

[ $failures = 0 ]
