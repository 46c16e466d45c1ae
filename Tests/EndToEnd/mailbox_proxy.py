"""A mail server that has no MOVE (RFC 6851): TLS in front of another server, to which the command comes misspelt."""

import contextlib
import socket
import ssl
import threading


class ProxyWithoutMove:
    def __init__(self, server_port: int, certificate: str, key: str) -> None:
        self.server_port = server_port
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.load_cert_chain(certificate, key)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.moves = 0
        self.commands: list[bytes] = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client: socket.socket) -> None:
        try:
            client = self.context.wrap_socket(client, server_side=True)
            server = socket.create_connection(("127.0.0.1", self.server_port))
        except OSError:
            client.close()
            return
        threading.Thread(target=self.copy, args=(server, client), daemon=True).start()
        # Either side may end the connection at any time.
        with contextlib.suppress(OSError), client, server, client.makefile("rb") as lines:
            for line in lines:
                # A command is one line: libcurl sends no literals here.
                self.moves += b" UID MOVE " in line
                self.commands.append(b" ".join(line.split()[1:3]).upper())
                server.sendall(line.replace(b" UID MOVE ", b" UID MOWE "))

    @staticmethod
    def copy(server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65_536):
                client.sendall(data)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.listener.close()
