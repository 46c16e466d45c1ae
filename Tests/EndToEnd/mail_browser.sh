#!/usr/bin/env bash
# E-mail as operators see it, in a real Chromium: the forgotten password, an invitation, what of a conversation was sent
# by e-mail and where a reply goes, and the settings. aiosmtpd is the mail server. Pictures go to the folder SHOTS.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
export CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser || true)}

new_folder
create_cluster

# look WHAT SENDS: the test against a gateway that was started, which sends e-mail (yes) or none (no).
look() {
  start_gateway
  check "$1" "$python" "$folder/mail_browser_test.py" --base-url "$url" --operator-token "$(token operator)" \
    --sends "$2" --mail-port "$mail_port" ${SHOTS:+--shots "$SHOTS"}
  check "the gateway then stops with status 0" stop_gateway
}

mail_port=$(free_port)
look "without a mail server" no
export CHIRRUP_PUBLIC_URL=$url CHIRRUP_MAIL_FROM=chat@gateway.example CHIRRUP_MAIL_RETRY_MILLISECONDS=300
export CHIRRUP_MAIL_SMTP_URL=smtp://127.0.0.1:$mail_port CHIRRUP_MAIL_STARTTLS=off
export CHIRRUP_CREDENTIALS_KEY='a-key-of-this-test-long-enough-0123456789'
look "with a mail server" yes
check "no statement was refused" is_unrefused
