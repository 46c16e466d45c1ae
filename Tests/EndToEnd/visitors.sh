#!/usr/bin/env bash
# Who is on the site now, conversations that operators begin with them, and proactive messages. In a real Chromium, with
# a private PostgreSQL. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"

browser_test "the visitors of a site in a browser" visitors_test.py
