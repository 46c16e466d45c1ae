"""Duration and repetitions of the rows of table R: few in CI, many by hand (README.md names the commands)."""

import os


def setting(name, default):
    return int(os.environ.get(name, default))


#: Seconds that PostgreSQL is away in R06a.
OUTAGE_SECONDS = setting("OUTAGE_SECONDS", 16)
#: Sessions under load in R06a, and messages a second of all their people together.
OUTAGE_SESSIONS = setting("OUTAGE_SESSIONS", 20)
OUTAGE_RATE = setting("OUTAGE_RATE", 60)
#: Seconds that PostgreSQL stands still in R06.
STILL_SECONDS = setting("STILL_SECONDS", 9)
#: R05 cuts the stream behind every so many bytes, and behind every boundary of a message.
CUT_STRIDE = setting("CUT_STRIDE", 23)
#: R18 lets each of these system calls fail, alone, for n = 1, 1 + stride, … up to this many.
FAILING_CALLS = setting("FAILING_CALLS", 0)
#: Connects of N07.
CONNECTS = setting("CONNECTS", 5_000)
