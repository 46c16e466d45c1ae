"""An endpoint for chat completions as OpenAI's API documents it, for tests: streams with a usage chunk, error bodies, and
faults that a test orders. assist_test.py shows with the official client that its protocol is right.

https://platform.openai.com/docs/api-reference/chat/create and …/chat-streaming
"""

import contextlib
import json
import select
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "sk-test-VERYSECRETKEY0123456789"
MODEL = "small-1"


@dataclass
class Order:
    """How the next request is answered."""

    text: str = "It left Rotterdam today."
    #: An HTTP status other than 200, with the code of its error.
    status: int = 200
    code: str | None = None
    headers: dict = field(default_factory=dict)
    #: Seconds before the head, and before each piece.
    delay: float = 0
    pace: float = 0
    #: Bytes that are sent in place of a stream.
    raw: bytes | None = None
    #: The connection is closed after so many pieces.
    cut_after: int | None = None
    has_usage: bool = True


@dataclass
class Request:
    body: dict
    authorization: str | None
    #: Set when the client closed the connection before the end of the answer.
    left: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def prompt(self) -> str:
        return "\n".join(message["content"] for message in self.body["messages"])


class Endpoint:
    """`connections` counts all that were accepted, with or without a request."""

    def __init__(self):
        endpoint = self
        self.orders: list[Order] = []
        self.requests: list[Request] = []
        self.connections = 0

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                endpoint.connections += 1
                super().setup()

            def log_message(self, *_):
                pass

            def handle(self):
                with contextlib.suppress(ConnectionResetError):  # the gateway has read enough
                    super().handle()

            def do_POST(self):
                endpoint.answer(self)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.base = f"http://127.0.0.1:{self.server.server_port}/v1"

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def order(self, **how) -> None:
        self.orders.append(Order(**how))

    def answer(self, call) -> None:
        body = json.loads(call.rfile.read(int(call.headers["Content-Length"])))
        request = Request(body, call.headers["Authorization"])
        self.requests.append(request)
        order = self.orders.pop(0) if self.orders else Order()
        try:
            self.wait(call, order.delay)
            if call.path != "/v1/chat/completions":
                return refuse(call, 404, None, {})
            if request.authorization != f"Bearer {KEY}":
                return refuse(call, 401, "invalid_api_key", {})
            if body["model"] != MODEL:
                return refuse(call, 404, "model_not_found", {})
            if order.status != 200:
                return refuse(call, order.status, order.code, order.headers)
            self.stream(call, order, body)
        except (BrokenPipeError, ConnectionResetError):
            request.left.set()
        finally:
            request.ended.set()

    def wait(self, call, seconds: float) -> None:
        """Waits, and notices a client that leaves."""
        limit = time.monotonic() + seconds
        while (left := limit - time.monotonic()) > 0:
            if select.select([call.connection], [], [], min(left, 0.05))[0]:
                raise ConnectionResetError

    def stream(self, call, order: Order, body: dict) -> None:
        if order.raw is not None:
            head(call, 200, {"Content-Type": "application/json", "Content-Length": str(len(order.raw))})
            call.wfile.write(order.raw)
            return
        if not body.get("stream"):
            return whole(call, order, body)
        head(call, 200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        wants_usage = order.has_usage and (body.get("stream_options") or {}).get("include_usage")
        call.piece = lambda data: (call.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n"), call.wfile.flush())
        pieces = [order.text[at:at + 5] for at in range(0, len(order.text), 5)]
        event(call, chunk([choice({"role": "assistant", "content": ""})], wants_usage))
        for number, piece in enumerate(pieces):
            self.wait(call, order.pace)
            if number == order.cut_after:
                call.close_connection = True
                call.connection.shutdown(2)
                return
            event(call, chunk([choice({"content": piece})], wants_usage))
        event(call, chunk([choice({}, "stop")], wants_usage))
        if wants_usage:
            event(call, {**chunk([], False), "usage": usage(body, order.text)})
        call.piece(b"data: [DONE]\n\n")
        call.wfile.write(b"0\r\n\r\n")


def usage(body: dict, text: str) -> dict:
    prompt = sum(len(message["content"]) for message in body["messages"]) // 4
    answer = max(1, len(text) // 4)
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}


def choice(delta: dict, reason: str | None = None) -> dict:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}


def chunk(choices: list, wants_usage) -> dict:
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": MODEL,
            "system_fingerprint": "fp_1", "choices": choices, **({"usage": None} if wants_usage else {})}


def whole(call, order: Order, body: dict) -> None:
    answer = json.dumps({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": MODEL,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": order.text}, "finish_reason": "stop"}],
        "usage": usage(body, order.text)}).encode()
    head(call, 200, {"Content-Type": "application/json", "Content-Length": str(len(answer))})
    call.wfile.write(answer)


def event(call, value: dict) -> None:
    call.piece(b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n")


def head(call, status: int, headers: dict) -> None:
    call.send_response(status)
    for name, value in headers.items():
        call.send_header(name, value)
    call.end_headers()


def refuse(call, status: int, code: str | None, headers: dict) -> None:
    """An error body, whose message repeats the key as OpenAI's does."""
    answer = json.dumps({"error": {
        "message": f"Refused: {call.headers['Authorization']}", "type": "invalid_request_error", "param": None,
        "code": code}}).encode()
    head(call, status, {"Content-Type": "application/json", "Content-Length": str(len(answer)), **headers})
    call.wfile.write(answer)
