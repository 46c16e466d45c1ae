"""Verifies the last delivery that webhook_receiver.py took with a library that this project did not write.

    webhook_replay.py RECORD

The package `stripe` verifies the same scheme: t=UNIX,v1=HEX over `UNIX.body`, with a tolerance of 300 seconds.
"""

import pathlib
import sys
import time
import unittest.mock

import stripe

record = pathlib.Path(sys.argv[1])
header, _, body = record.with_suffix(".last").read_bytes().partition(b"\n")
header, body = header.decode(), body.decode()
secret = record.with_suffix(".secret").read_text().strip()


def verifies(header, body, secret=secret, after=0):
    now = time.time() + after
    with unittest.mock.patch("time.time", lambda: now):
        try:
            return stripe.WebhookSignature.verify_header(body, header, secret, tolerance=300)
        except stripe.SignatureVerificationError:
            return False


sent = int(header.split(",")[0].removeprefix("t="))
code = header.split("v1=")[1]
cases = {
    "as delivered": (verifies(header, body), True),
    "another body": (verifies(header, body + " "), False),
    "another secret": (verifies(header, body, secret + "x"), False),
    "another signature": (verifies(header.replace(code, code[::-1]), body), False),
    "a later time with the old signature": (verifies(f"t={sent + 60},v1={code}", body), False),
    "replayed just inside the window": (verifies(header, body, after=sent + 295 - time.time()), True),
    "replayed after the window": (verifies(header, body, after=sent + 310 - time.time()), False),
}
wrong = [name for name, (got, wanted) in cases.items() if bool(got) != wanted]
if wrong:
    sys.exit("wrong verdict: " + ", ".join(wrong))
print(f"noticed: {len(cases)} cases with stripe {stripe.VERSION}")
