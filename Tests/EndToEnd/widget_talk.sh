#!/usr/bin/env bash
# The widget's conversation: teaser, hint at new messages, drafts, a signed visitor's devices, refused identities, cards,
# handover. In a real Chromium, against a gateway on a private PostgreSQL. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"

browser_test "the widget's conversation" widget_talk_test.py
