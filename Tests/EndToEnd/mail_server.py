"""A mail server with faults, on aiosmtpd. The first item of `faults` is its behaviour with the next message; after the
last one it takes each message."""

import time

from aiosmtpd.controller import Controller


class Mailbox:
    """The handler of aiosmtpd. `seen` has (recipient, bytes) of each DATA, `taken` of those that were accepted."""

    def __init__(self) -> None:
        self.faults = []
        self.taken = []
        self.seen = []
        self.connections = 0
        #: Called with a message's bytes before the answer to DATA; returns when the answer may go.
        self.before_answer = None

    async def handle_EHLO(self, server, session, envelope, hostname):
        self.connections += 1
        session.host_name = hostname
        return "250 HELP"

    async def handle_RCPT(self, server, session, envelope, address, options):
        if self.faults and self.faults[0].startswith("rcpt "):
            return self.faults.pop(0).removeprefix("rcpt ")
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        self.seen.append((envelope.rcpt_tos[0], envelope.content))
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "slow":
            time.sleep(6)
        if fault == "drop":
            server.transport.abort()
            return "250 lost"
        if fault.startswith("data "):
            return fault.removeprefix("data ")
        if self.before_answer:
            self.before_answer()
        self.taken.append((envelope.rcpt_tos[0], envelope.content))
        return "250 OK"


class Server:
    """Runs in a thread, and can be stopped and started on the same port."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.box = Mailbox()
        self.controller = None

    def start(self) -> None:
        self.controller = Controller(self.box, hostname="127.0.0.1", port=self.port)
        self.controller.start()

    def stop(self) -> None:
        self.controller.stop()
