"""Certificates by the openssl command, and by libssl the functions that Python's ssl module lacks."""

import ctypes
import ctypes.util
import os
import shutil
import subprocess

is_available = shutil.which("openssl") is not None


def make_certificate(folder, name, host, days=30):
    """Creates a self-signed certificate with its key, and returns their paths."""
    certificate, key, wish = (os.path.join(folder, f"{name}.{kind}") for kind in ("crt", "key", "csr"))
    extension = os.path.join(folder, f"{name}.ext")
    with open(extension, "w") as file:
        file.write(f"subjectAltName=DNS:{host}\n")

    def run(*arguments):
        subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    run("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={host}", "-keyout",
        key, "-out", wish)
    # In two steps, since a request alone cannot have an end in the past.
    run("x509", "-req", "-in", wish, "-signkey", key, "-days", str(days), "-extfile", extension, "-out", certificate)
    os.chmod(key, 0o600)
    return certificate, key


def library():
    name = ctypes.util.find_library("ssl") or "libssl.so.3"
    ssl = ctypes.CDLL(name)
    for function in ("TLS_client_method", "SSL_CTX_new", "SSL_new"):
        getattr(ssl, function).restype = ctypes.c_void_p
    return ssl


class Raw:
    """A TLS client on a blocking socket that can request key updates and renegotiation."""

    def __init__(self, socket, version):
        self.library = library()
        self.context = ctypes.c_void_p(self.library.SSL_CTX_new(ctypes.c_void_p(self.library.TLS_client_method())))
        # SSL_CTRL_SET_MIN_PROTO_VERSION and SSL_CTRL_SET_MAX_PROTO_VERSION
        for control in (123, 124):
            self.library.SSL_CTX_ctrl(self.context, control, ctypes.c_long(version), None)
        self.session = ctypes.c_void_p(self.library.SSL_new(self.context))
        self.socket = socket
        socket.settimeout(None)
        self.library.SSL_set_fd(self.session, socket.fileno())

    def connect(self):
        return self.library.SSL_connect(self.session) == 1

    def write(self, data):
        return self.library.SSL_write(self.session, data, len(data))

    def read(self, count=4096):
        buffer = ctypes.create_string_buffer(count)
        got = self.library.SSL_read(self.session, buffer, count)
        return buffer.raw[:got] if got > 0 else None

    def update_key(self):
        return self.library.SSL_key_update(self.session, 0) == 1 and self.library.SSL_do_handshake(self.session) == 1

    def renegotiate(self):
        return self.library.SSL_renegotiate(self.session) == 1 and self.library.SSL_do_handshake(self.session) == 1

    def free(self):
        self.library.SSL_free(self.session)
        self.library.SSL_CTX_free(self.context)


TLS12, TLS13 = 0x0303, 0x0304
