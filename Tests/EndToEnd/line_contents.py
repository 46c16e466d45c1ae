"""The contents of messages on the platform of line_platform.py: what people send in pictures, videos, recordings and
files, as LINE hands it out. line_sdk.py checks it with LINE's own SDK.
"""

import json
import re
import threading
import time
from dataclasses import dataclass, field

PATH = re.compile(r"/v2/bot/message/([^/]+)/content(/transcoding|/preview)?")
PIECE = 65_536


@dataclass
class Content:
    data: bytes
    type: str
    #: The answers to the next requests for the bytes, as statuses.
    refusals: list = field(default_factory=list)
    #: The answers to the next questions whether a video is ready; afterwards it has succeeded.
    transcoding: list = field(default_factory=list)
    #: Seconds between two pieces.
    pause: float = 0
    #: Whether the connection ends after half of the bytes, the next time.
    is_cut: bool = False
    requests: int = 0
    #: Bytes that were sent, of all requests.
    sent: int = 0


class Contents:
    def __init__(self, refused: type) -> None:
        self.refused = refused
        self.all: dict[str, Content] = {}
        #: While it is set, contents alone are away.
        self.is_down = threading.Event()
        #: Downloads that run now, and the most that ran at once.
        self.running = self.most = 0
        self.lock = threading.Lock()

    def put(self, event: dict, data: bytes, type_: str, **more) -> Content:
        content = Content(data, type_, **more)
        self.all[event["message"]["id"]] = content
        return content

    def owns(self, path: str) -> bool:
        return PATH.fullmatch(path) is not None

    def find(self, path: str) -> tuple[Content, bool]:
        """The content, and whether its bytes are wanted."""
        if self.is_down.is_set():
            raise self.refused(503, "Service unavailable")
        name, end = PATH.fullmatch(path).groups()
        content = self.all.get(name)
        if not content:
            raise self.refused(404, "Not found")
        return content, end is None

    def transcoding(self, content: Content) -> dict:
        return {"status": content.transcoding.pop(0) if content.transcoding else "succeeded"}

    def refusal(self, content: Content) -> int:
        """The status that this request gets instead of the bytes, or 0."""
        with self.lock:
            content.requests += 1
            return content.refusals.pop(0) if content.refusals else 0

    def send(self, request, content: Content, headers: dict) -> None:
        """The bytes, whose number LINE does not announce."""
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        end = len(content.data) // 2 if content.is_cut else len(content.data)
        cut, content.is_cut = content.is_cut, False
        try:
            request.send_response(200)
            for name, value in (headers | {"Content-Type": content.type, "Transfer-Encoding": "chunked"}).items():
                request.send_header(name, value)
            request.end_headers()
            for offset in range(0, end, PIECE):
                piece = content.data[offset:min(end, offset + PIECE)]
                request.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                content.sent += len(piece)
                if content.pause:
                    time.sleep(content.pause)
            if cut:
                request.close_connection = True
                request.connection.close()
            else:
                request.wfile.write(b"0\r\n\r\n")
        except OSError:
            request.close_connection = True  # The gateway was killed, or has read enough.
        finally:
            with self.lock:
                self.running -= 1

    def serve(self, request, headers: dict) -> int:
        """Answers a request; its status."""
        try:
            content, wants_bytes = self.find(request.path)
            if wants_bytes:
                status = self.refusal(content)
                if status:
                    raise self.refused(status, {202: "Accepted", 404: "Not found", 410: "Gone"}.get(status, "Refused"))
                self.send(request, content, headers)
                return 200
            status, answer = 200, self.transcoding(content)
        except self.refused as refusal:
            status, answer = refusal.status, {"message": refusal.message}
        data = json.dumps(answer).encode()
        try:
            request.send_response(status)
            for name, value in (headers | {"Content-Type": "application/json",
                                           "Content-Length": str(len(data))}).items():
                request.send_header(name, value)
            request.end_headers()
            request.wfile.write(data)
        except OSError:
            pass  # The gateway was killed.
        return status
