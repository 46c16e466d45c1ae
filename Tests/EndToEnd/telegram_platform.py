"""A platform of Telegram's Bot API for tests: it sends updates to the webhook that setWebhook has set, and takes calls
of methods as Telegram does, with its rules for tokens, secrets, texts, keyboards and limits. telegram_library.py checks
it with a client library, python-telegram-bot: every update that a test sends, and every call that comes.
"""

import json
import re
import secrets
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from line_platform import Server, units

TEXT_UNITS = 4_096
DATA_BYTES = 64
SECRET = re.compile("[A-Za-z0-9_-]{1,256}")
TOKEN = re.compile("[0-9]{6,}:[0-9A-Za-z_-]{35}")
BLOCKED = "Forbidden: bot was blocked by the user"


@dataclass
class Person:
    """Somebody with Telegram's app: what came, and what is to go wrong."""

    id: int
    name: str
    #: The messages that came, in order, as Telegram's objects.
    came: list = field(default_factory=list)
    has_blocked: bool = False
    #: The answers to the next calls for this person: (status, description, parameters), None for success, or "lose"
    #: for one that is lost.
    refusals: list = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        return [message.get("text", "photo") for message in self.came]

    @property
    def chat(self) -> dict:
        return {"id": self.id, "type": "private", "first_name": self.name}

    @property
    def user(self) -> dict:
        return {"id": self.id, "is_bot": False, "first_name": self.name, "language_code": "th"}


class Refused(Exception):
    def __init__(self, status: int, description: str, parameters: dict | None = None) -> None:
        super().__init__(description)
        self.status, self.description, self.parameters = status, description, parameters


class Platform:
    def __init__(self, port: int) -> None:
        self.token = f"{secrets.randbelow(10**9) + 10**9}:{secrets.token_urlsafe(26)[:35]}"
        assert TOKEN.fullmatch(self.token)
        id_ = int(self.token.partition(":")[0])
        self.me = {"id": id_, "is_bot": True, "first_name": "Shop", "username": "shop_bot"}
        self.people: dict[int, Person] = {}
        #: The webhook and its secret, as setWebhook has set them.
        self.webhook, self.secret = "", ""
        #: (method, status) of all calls.
        self.calls: list[tuple[str, int]] = []
        #: Queries of taps that were answered.
        self.answered: list[str] = []
        #: Is called with each update that is sent, and with each call that comes.
        self.check_update = self.check_call = lambda *_: None
        #: Calls that are none of Telegram's.
        self.wrong_calls: list[str] = []
        #: Calls that are done, but whose answer is lost.
        self.answers_lost = 0
        #: Seconds before each answer.
        self.pause = 0.0
        #: While it is set, each call gets this status.
        self.fault = 0
        #: What the description of the next refusals ends with.
        self.words = ""
        self.lock = threading.RLock()
        self.last_update, self.last_message = secrets.randbelow(10**8), 0
        self.server: Server | None = None
        self.port = port
        self.open()

    # What bots call

    def open(self) -> None:
        platform = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                platform.serve(self, b"")

            def do_POST(self):
                platform.serve(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))

            def log_message(self, *_):
                pass

        self.server = Server(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """No connection is taken any more."""
        self.server.shutdown()
        self.server.server_close()

    def serve(self, request, body: bytes) -> None:
        loses = False
        method = request.path.partition("?")[0].rpartition("/")[2]
        try:
            with self.lock:
                status, answer = 200, {"ok": True, "result": self.called(request, method, body)}
                if method.startswith("send") and self.answers_lost > 0:
                    self.answers_lost -= 1
                    loses = True
        except Refused as refusal:
            status = refusal.status
            answer = {"ok": False, "error_code": status, "description": refusal.description + self.words}
            if refusal.parameters:
                answer["parameters"] = refusal.parameters
        self.calls.append((method, status))
        time.sleep(self.pause)
        request.close_connection = True
        if loses:
            request.connection.close()
            return
        data = json.dumps(answer).encode()
        try:
            request.send_response(status)
            for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)),
                                "Connection": "close"}.items():
                request.send_header(name, value)
            request.end_headers()
            request.wfile.write(data)
        except OSError:
            pass  # The gateway was killed.

    def called(self, request, method: str, body: bytes):
        token = urllib.parse.unquote(request.path.split("/")[1].removeprefix("bot"))
        if not TOKEN.fullmatch(token):
            raise Refused(404, "Not Found")
        if token != self.token:
            raise Refused(401, "Unauthorized")
        if self.fault:
            raise Refused(self.fault, "Bad Gateway")
        members = self.members(request, body)
        try:
            self.check_call(method, members)
        except Exception as fault:
            self.wrong_calls.append(f"{method} {members}: {fault}")
        return self.call(method, members)

    def call(self, method: str, members: dict):
        """A call of a method, also one that answers a webhook."""
        calls = {"getMe": lambda _: self.me, "getChat": self.get_chat, "sendMessage": self.send_message,
                 "sendPhoto": self.send_photo, "answerCallbackQuery": self.answer_tap, "setWebhook": self.set_webhook}
        if method not in calls:
            raise Refused(404, "Not Found")
        return calls[method](members)

    @staticmethod
    def members(request, body: bytes) -> dict:
        """JSON, or a form whose values that are no texts are JSON."""
        if request.headers.get("Content-Type", "").startswith("application/json"):
            try:
                return json.loads(body)
            except ValueError as fault:
                raise Refused(400, "Bad Request: can't parse JSON") from fault
        found = {}
        for name, value in urllib.parse.parse_qsl(body.decode() or urllib.parse.urlsplit(request.path).query):
            is_json = value[:1] in "[{" or name == "chat_id"
            found[name] = json.loads(value) if is_json and name != "text" else value
        return found

    def person_of(self, members: dict) -> Person:
        person = self.people.get(members.get("chat_id"))
        if not person:
            raise Refused(400, "Bad Request: chat not found")
        return person

    def get_chat(self, members: dict) -> dict:
        return self.person_of(members).chat | {
            "accent_color_id": 1, "max_reaction_count": 11, "last_name": "Suksan",
            "accepted_gift_types": {"unlimited_gifts": True, "limited_gifts": True, "unique_gifts": True,
                                    "premium_subscription": True, "gifts_from_channels": True}}

    def send_message(self, members: dict) -> dict:
        text = members.get("text")
        if not isinstance(text, str) or not text.strip():
            raise Refused(400, "Bad Request: message text is empty")
        if units(text) > TEXT_UNITS:
            raise Refused(400, "Bad Request: message is too long")
        for entity in members.get("entities", []):
            if not 0 <= entity["offset"] < entity["offset"] + entity["length"] <= units(text):
                raise Refused(400, "Bad Request: entity is out of bounds")
        return self.deliver(members, {name: members[name] for name in ("text", "entities", "link_preview_options")
                                      if name in members})

    def send_photo(self, members: dict) -> dict:
        if not re.match("https?://[^/]", str(members.get("photo", ""))):
            raise Refused(400, "Bad Request: wrong file identifier/HTTP URL specified")
        size = {"file_id": members["photo"], "file_unique_id": secrets.token_hex(4), "width": 40, "height": 30}
        return self.deliver(members, {"photo": [size]})

    def deliver(self, members: dict, content: dict) -> dict:
        person = self.person_of(members)
        refusal = person.refusals.pop(0) if person.refusals else None
        if refusal == "lose":
            self.answers_lost += 1
        elif refusal:
            raise Refused(*refusal)
        if person.has_blocked:
            raise Refused(403, BLOCKED)
        if "reply_markup" in members:
            check_keyboard(members["reply_markup"])
            content["reply_markup"] = members["reply_markup"]
        self.last_message += 1
        message = {"message_id": self.last_message, "from": self.me, "chat": person.chat, "date": int(time.time()),
                   **content}
        person.came.append(message)
        return message

    def answer_tap(self, members: dict) -> bool:
        if not isinstance(members.get("callback_query_id"), str):
            raise Refused(400, "Bad Request: query is too old and response timeout expired or query ID is invalid")
        self.answered.append(members["callback_query_id"])
        return True

    def set_webhook(self, members: dict) -> bool:
        if not SECRET.fullmatch(members.get("secret_token", "")):
            raise Refused(400, "Bad Request: secret token contains unallowed characters")
        self.webhook, self.secret = members["url"], members["secret_token"]
        return True

    # What people do

    def person(self, name: str) -> Person:
        person = Person(secrets.randbelow(2**40) + 2**33, name)
        self.people[person.id] = person
        return person

    def update(self, **members) -> dict:
        with self.lock:
            self.last_update += 1
            return {"update_id": self.last_update, **members}

    def message(self, person: Person, kind="message", **members) -> dict:
        with self.lock:
            self.last_message += 1
            return self.update(**{kind: {"message_id": self.last_message, "from": person.user, "chat": person.chat,
                                         "date": int(time.time()), **members}})

    def text(self, person: Person, text: str) -> dict:
        return self.message(person, text=text)

    def tap(self, person: Person, message: dict, data: str) -> dict:
        return self.update(callback_query={
            "id": str(secrets.randbelow(10**18)), "from": person.user, "message": message, "data": data,
            "chat_instance": str(secrets.randbelow(10**18))})

    def member(self, person: Person, old: str, new: str) -> dict:
        """The person blocks the bot (kicked), or no longer (member)."""
        def status(name: str) -> dict:
            return {"user": self.me, "status": name} | ({"until_date": 0} if name == "kicked" else {})
        return self.update(my_chat_member={
            "chat": person.chat, "from": person.user, "date": int(time.time()), "old_chat_member": status(old),
            "new_chat_member": status(new)})

    def send(self, update: dict | None = None, secret: str | None = None, body: bytes | None = None) -> int:
        """One delivery of an update; its status, or 0 without an answer."""
        if body is None:
            self.check_update(update)
            body = json.dumps(update).encode()  # As Telegram's: with escapes.
        headers = {"Content-Type": "application/json"}
        signed = self.secret if secret is None else secret
        if signed:
            headers["X-Telegram-Bot-Api-Secret-Token"] = signed
        request = urllib.request.Request(self.webhook, body, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                call = json.loads(answer.read())
                if "method" in call:
                    self.call(call.pop("method"), call)
                return answer.status
        except urllib.error.HTTPError as refusal:
            return refusal.code
        except OSError:
            return 0

    def tell(self, update: dict, limit=120.0) -> None:
        """Sends an update, and again until it is taken."""
        end = time.monotonic() + limit
        while (status := self.send(update)) != 200:
            if time.monotonic() > end:
                raise AssertionError(f"the webhook answers {status}")
            time.sleep(0.2)


def check_keyboard(markup: dict) -> None:
    rows = markup["inline_keyboard"]
    if sum(len(row) for row in rows) > 100:
        raise Refused(400, "Bad Request: reply markup is too long")
    for button in (button for row in rows for button in row):
        if not button.get("text"):
            raise Refused(400, "Bad Request: text button is empty")
        if "url" in button and not re.match("(https?|tg)://", button["url"]):
            raise Refused(400, "Bad Request: BUTTON_URL_INVALID")
        if "url" not in button and not 1 <= len(button.get("callback_data", "").encode()) <= DATA_BYTES:
            raise Refused(400, "Bad Request: BUTTON_DATA_INVALID")
