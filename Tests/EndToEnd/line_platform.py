"""A platform of LINE's Messaging API for tests: it sends signed webhooks and takes replies and pushes as LINE does,
with its rules for tokens, retry keys, reply tokens, limits and message objects. line_sdk.py checks it with LINE's own SDK.
"""

import base64
import hashlib
import hmac
import json
import re
import secrets
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from line_contents import Contents
from line_menus import Menus

REPLY_SECONDS = 60
TEXT_UNITS = 5_000
UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def units(text: str) -> int:
    """LINE counts texts in UTF-16 code units."""
    return len(text.encode("utf-16-le")) // 2


@dataclass
class Friend:
    """A person with LINE's app: what came, and what is to go wrong."""

    id: str
    name: str
    #: The message objects that came, in order, with the endpoint that brought each.
    came: list = field(default_factory=list)
    has_blocked: bool = False
    #: The answers to the next requests for this person: (status, message).
    refusals: list = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        return [message.get("text", message["type"]) for _, message in self.came]


@dataclass
class ReplyToken:
    friend: Friend
    at: float
    is_used: bool = False


class Refused(Exception):
    def __init__(self, status: int, message: str, details=(), headers=None) -> None:
        super().__init__(message)
        self.status, self.message, self.details, self.headers = status, message, list(details), headers or {}


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address) -> None:
        """A gateway that was killed ends its connections."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, address)


class Platform:
    def __init__(self, port: int, secret: str, token: str) -> None:
        self.secret, self.token = secret, token
        self.friends: dict[str, Friend] = {}
        self.reply_tokens: dict[str, ReplyToken] = {}
        #: What was taken under each retry key.
        self.retry_keys: dict[str, dict] = {}
        #: (method, path, status) of all requests.
        self.requests: list[tuple[str, str, int]] = []
        self.webhook = ""
        self.menus = Menus(Refused, units)
        self.contents = Contents(Refused)
        #: Messages that the account may push in this month, None without a limit, and those that it has pushed.
        self.quota: int | None = None
        self.pushed = 0
        #: While it is set, no request is answered and no webhook is sent.
        self.is_down = threading.Event()
        #: Requests that are taken, but whose answer is lost.
        self.answers_lost = 0
        #: Requests that get 429, with the seconds of Retry-After.
        self.limited: list[int] = []
        #: Added to the clock of reply tokens.
        self.later = 0.0
        self.lock = threading.RLock()
        platform = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                platform.serve(self, b"")

            def do_POST(self):
                platform.serve(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))

            def do_DELETE(self):
                platform.serve(self, b"")

            def log_message(self, *_):
                pass

        self.server = Server(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    # What bots request

    def serve(self, request, body: bytes) -> None:
        if self.is_down.is_set():
            request.close_connection = True
            request.connection.close()
            return
        headers = {"x-line-request-id": str(uuid.uuid4())}
        loses = False
        is_allowed = request.headers.get("Authorization") == f"Bearer {self.token}"
        if request.command == "GET" and self.contents.owns(request.path) and is_allowed:
            # Not under the lock: a download takes its time.
            self.requests.append((request.command, request.path, self.contents.serve(request, headers)))
            return
        try:
            with self.lock:
                status, answer = 200, self.answer(request, body, headers)
                if request.command == "POST" and self.answers_lost > 0:
                    self.answers_lost -= 1
                    loses = True
        except Refused as refusal:
            status, answer = refusal.status, {"message": refusal.message}
            if refusal.details:
                answer["details"] = refusal.details
            headers |= refusal.headers
            if refusal.status == 409:
                answer["sentMessages"] = self.retry_keys[request.headers["X-Line-Retry-Key"]]["sentMessages"]
        self.requests.append((request.command, request.path, status))
        self.menus.after(request.command, request.path)
        if loses:
            request.close_connection = True
            request.connection.close()
            return
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

    def answer(self, request, body: bytes, headers: dict) -> dict:
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            raise Refused(401, "Authentication failed. Confirm that the access token in the header is valid.")
        path = (request.command, request.path)
        if self.menus.owns(request.path):
            return self.menus.answer(request, body)
        if path == ("GET", "/v2/bot/info"):
            return {"userId": "U" + "b" * 32, "basicId": "@216ru", "displayName": "Shop bot", "chatMode": "bot",
                    "markAsReadMode": "manual"}
        if request.command == "GET" and request.path.startswith("/v2/bot/profile/"):
            friend = self.friends.get(request.path.rpartition("/")[2])
            if not friend or friend.has_blocked:
                raise Refused(404, "Not found")
            return {"userId": friend.id, "displayName": friend.name, "language": "th",
                    "pictureUrl": f"https://profile.line-scdn.net/{friend.id}", "statusMessage": "Hello"}
        if path == ("GET", "/v2/bot/message/quota"):
            return {"type": "none"} if self.quota is None else {"type": "limited", "value": self.quota}
        if path == ("GET", "/v2/bot/message/quota/consumption"):
            return {"totalUsage": self.pushed}
        if path not in (("POST", "/v2/bot/message/push"), ("POST", "/v2/bot/message/reply")):
            raise Refused(404, "Not found")
        if not request.headers.get("Content-Type", "").startswith("application/json"):
            raise Refused(415, "Unsupported media type")
        try:
            content = json.loads(body)
        except ValueError as fault:
            raise Refused(400, "The request body could not be parsed as JSON") from fault
        if self.limited:
            raise Refused(429, "The API rate limit has been exceeded. Try again later.",
                          headers={"Retry-After": str(self.limited.pop(0))})
        is_push = request.path.endswith("push")
        return (self.push if is_push else self.reply)(content, request.headers.get("X-Line-Retry-Key"), headers)

    def push(self, content: dict, key: str | None, headers: dict) -> dict:
        if key is not None:
            if not UUID.fullmatch(key):
                raise Refused(400, "The retry key is invalid")
            if key in self.retry_keys:
                raise Refused(409, "The retry key is already accepted", headers={
                    "x-line-accepted-request-id": self.retry_keys[key]["request"]})
        to = content.get("to")
        if not isinstance(to, str) or not re.fullmatch("U[0-9a-f]{32}", to):
            raise Refused(400, "The property, 'to', in the request body is invalid (line: -, column: -)")
        check(content.get("messages"))
        friend = self.friends.get(to)
        if not friend:
            raise Refused(400, "Failed to send messages")
        if self.quota is not None and self.pushed + len(content["messages"]) > self.quota:
            raise Refused(429, "You have reached your monthly limit.")
        answer = self.deliver(friend, content["messages"], "push")
        self.pushed += len(content["messages"])
        if key is not None:
            self.retry_keys[key] = {**answer, "request": headers["x-line-request-id"]}
        return answer

    def reply(self, content: dict, key: str | None, _headers: dict) -> dict:
        if key is not None:
            raise Refused(400, "Retry key is not supported")
        token = self.reply_tokens.get(content.get("replyToken"))
        check(content.get("messages"))
        if not token or token.is_used or time.monotonic() + self.later > token.at + REPLY_SECONDS:
            raise Refused(400, "Invalid reply token")
        answer = self.deliver(token.friend, content["messages"], "reply")
        token.is_used = True
        return answer

    def deliver(self, friend: Friend, messages: list, endpoint: str) -> dict:
        if friend.refusals:
            status, message = friend.refusals.pop(0)
            raise Refused(status, message)
        # LINE accepts messages to somebody who has blocked the account, and drops them.
        if not friend.has_blocked:
            friend.came += [(endpoint, message) for message in messages]
        return {"sentMessages": [{"id": str(secrets.randbelow(10**18)), "quoteToken": secrets.token_urlsafe(12)}
                                 for _ in messages]}

    # What people do

    def friend(self, name: str) -> Friend:
        friend = Friend("U" + secrets.token_hex(16), name)
        self.friends[friend.id] = friend
        return friend

    def event(self, friend: Friend, kind: str, with_token=True, **members) -> dict:
        event = {
            "type": kind, **members, "timestamp": int(time.time() * 1000),
            "source": {"type": "user", "userId": friend.id}, "mode": "active",
            "webhookEventId": "01" + secrets.token_hex(12).upper(), "deliveryContext": {"isRedelivery": False},
        }
        if with_token and kind != "unfollow":
            event["replyToken"] = secrets.token_hex(16)
            self.reply_tokens[event["replyToken"]] = ReplyToken(friend, time.monotonic() + self.later)
        return event

    def message(self, friend: Friend, kind: str, with_token=True, **members) -> dict:
        message = {"type": kind, "id": str(secrets.randbelow(10**18)), **members}
        return self.event(friend, "message", with_token, message=message)

    def text(self, friend: Friend, text: str, with_token=True) -> dict:
        return self.message(friend, "text", with_token, text=text, quoteToken=secrets.token_urlsafe(12))

    def body(self, *events: dict) -> bytes:
        return json.dumps({"destination": "U" + "b" * 32, "events": list(events)}, ensure_ascii=False).encode()

    def signature(self, body: bytes) -> str:
        return base64.b64encode(hmac.new(self.secret.encode(), body, hashlib.sha256).digest()).decode()

    def send(self, *events: dict, signature: str | None = None, body: bytes | None = None) -> int:
        """One delivery of a webhook; its status, or 0 without an answer."""
        body = self.body(*events) if body is None else body
        headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "LineBotWebhook/2.0"}
        signed = self.signature(body) if signature is None else signature
        if signed:
            headers["X-Line-Signature"] = signed
        request = urllib.request.Request(self.webhook, body, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as refusal:
            return refusal.code
        except OSError:
            return 0

    def tell(self, event: dict, limit=120.0) -> None:
        """Sends an event, and again as a redelivery until it is taken."""
        end = time.monotonic() + limit
        while (status := self.send(event)) != 200:
            if time.monotonic() > end:
                raise AssertionError(f"the webhook answers {status}")
            event["deliveryContext"]["isRedelivery"] = True
            time.sleep(0.2)


# The rules for message objects


def check(messages) -> None:
    if not isinstance(messages, list) or not 1 <= len(messages) <= 5:
        raise Refused(400, "The request body has 1 error(s)",
                      [{"message": "Size must be between 1 and 5", "property": "messages"}])
    faults = []
    for place, message in enumerate(messages):
        fault = fault_of(message)
        if fault:
            faults.append({"message": fault[0], "property": f"messages[{place}].{fault[1]}"})
    if faults:
        raise Refused(400, f"The request body has {len(faults)} error(s)", faults)


def fault_of(message) -> tuple[str, str] | None:
    kind = message.get("type")
    items = message.get("quickReply", {"items": []}).get("items")
    if not isinstance(items, list) or len(items) > 13:
        return "Size must be between 0 and 13", "quickReply.items"
    for item in items:
        fault = item.get("type") != "action" and ("must be action", "type") or action_fault(item["action"], 20)
        if fault:
            return fault[0], f"quickReply.items.{fault[1]}"
    if kind == "text":
        text = message.get("text")
        if not isinstance(text, str) or not text.strip():
            return "May not be empty", "text"
        if units(text) > TEXT_UNITS:
            return f"Length must be between 0 and {TEXT_UNITS}", "text"
        return None
    if kind == "image":
        for name in ("originalContentUrl", "previewImageUrl"):
            if not message.get(name, "").startswith("https://") or units(message[name]) > 2_000:
                return "Must be a valid HTTPS URL", name
        return None
    if kind == "flex":
        if not 1 <= units(message.get("altText", "")) <= 400:
            return "Length must be between 1 and 400", "altText"
        contents = message.get("contents", {})
        bubbles = contents.get("contents") if contents.get("type") == "carousel" else [contents]
        if not bubbles or len(bubbles) > 12:
            return "Size must be between 1 and 12", "contents"
        for bubble in bubbles:
            fault = bubble_fault(bubble)
            if fault:
                return fault
        return None
    return "must be one of the known types", "type"


def bubble_fault(bubble: dict) -> tuple[str, str] | None:
    if bubble.get("type") != "bubble" or set(bubble) - {"type", "hero", "body", "footer"}:
        return "invalid bubble", "contents"
    hero = bubble.get("hero")
    if hero and (hero.get("type") != "image" or not hero.get("url", "").startswith("https://")):
        return "invalid uri", "contents.hero.url"
    for name in ("body", "footer"):
        box = bubble.get(name)
        if box is None:
            continue
        if box.get("type") != "box" or box.get("layout") != "vertical" or not box.get("contents"):
            return "invalid box", f"contents.{name}"
        for part in box["contents"]:
            if part.get("type") == "text" and not part.get("text"):
                return "must be non-empty text", f"contents.{name}.text"
            if part.get("type") == "button":
                fault = action_fault(part.get("action", {}), 40)
                if fault:
                    return fault
    return None


def action_fault(action: dict, label_units: int) -> tuple[str, str] | None:
    if not 1 <= units(action.get("label", "")) <= label_units:
        return f"Length must be between 1 and {label_units}", "action.label"
    if action.get("type") == "postback":
        if not 1 <= units(action.get("data", "")) <= 300:
            return "Length must be between 1 and 300", "action.data"
    elif action.get("type") == "message":
        if not 1 <= units(action.get("text", "")) <= 300:
            return "Length must be between 1 and 300", "action.text"
    elif action.get("type") == "uri":
        if not re.match("https?://|line://|tel:", action.get("uri", "")) or units(action["uri"]) > 1000:
            return "invalid uri", "action.uri"
    else:
        return "must be one of the known types", "action.type"
    return None
