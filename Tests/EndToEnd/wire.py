"""A proxy in front of PostgreSQL that counts the COMMITs of its clients and stops at a chosen one.

The moment of a kill is then exact: the migrator waits for the answer to its n-th COMMIT, and PostgreSQL either never
receives it or has executed it already. The proxy reads the frontend messages of protocol 3 (PostgreSQL manual §55.7).
"""

import os
import socket
import threading


class Gate:
    """Stops at one COMMIT. `before`: PostgreSQL does not receive it; else it does, and the client gets no answer."""

    def __init__(self, number=None, before=True):
        self.number = number
        self.before = before
        self.commits = 0
        self.reached = threading.Event()
        self.lock = threading.Lock()

    def pass_commit(self):
        """Counts a COMMIT. Returns whether it goes on to PostgreSQL, and whether anything after it does."""
        with self.lock:
            self.commits += 1
            if self.commits != self.number:
                return True, True
            return not self.before, False


class Proxy:
    """Listens on `folder`/.s.PGSQL.5432 and forwards to the server whose socket is in `server`."""

    def __init__(self, folder, server, gate):
        os.makedirs(folder, exist_ok=True)
        self.gate = gate
        self.server = server + "/.s.PGSQL.5432"
        self.path = folder + "/.s.PGSQL.5432"
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(8)
        self.sockets = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        for end in [self.listener, *self.sockets]:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()
        os.unlink(self.path)

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.server)
            self.sockets += [client, server]
            state = {"held": False}
            threading.Thread(target=self._requests, args=(client, server, state), daemon=True).start()
            threading.Thread(target=self._answers, args=(server, client, state), daemon=True).start()

    def _requests(self, client, server, state):
        try:
            stream = client.makefile("rb")
            head = stream.read(4)
            server.sendall(head + stream.read(int.from_bytes(head, "big") - 4))
            while kind := stream.read(1):
                length = stream.read(4)
                body = stream.read(int.from_bytes(length, "big") - 4)
                if kind == b"Q" and body.rstrip(b"\0").strip(b" ;\n") == b"COMMIT":
                    goes_on, is_open = self.gate.pass_commit()
                    if not is_open:
                        state["held"] = True
                    if not goes_on:
                        self.gate.reached.set()
                        return
                server.sendall(kind + length + body)
        except OSError:
            pass
        finally:
            if not state["held"]:
                shut(server)

    def _answers(self, server, client, state):
        try:
            while data := server.recv(1 << 16):
                if state["held"] and not self.gate.before:
                    self.gate.reached.set()
                    return
                client.sendall(data)
        except OSError:
            pass
        finally:
            if not state["held"]:
                shut(client)


def shut(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
