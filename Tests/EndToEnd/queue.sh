#!/usr/bin/env bash
# The queue and the operators behind it, as visitors see them: positions and estimates, an operator who disappears, a
# conversation that rests. In a real Chromium, with a private PostgreSQL. Pictures go to the folder SHOTS, if it is set.
. "$(dirname "$0")/lib.sh"

browser_test "the queue in a browser" queue_test.py
