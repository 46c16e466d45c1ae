"""The Telegram channel, from the webhook to the inbox and back. Started by telegram.sh."""

import asyncio
import json
import os
import signal
import sys
import threading
import time
import urllib.request
import uuid

import telegram_library
from attachments_test import Client, Place, png
from channel_run import ADMIN, CONVERSATIONS, PUBLIC_URL, ChannelRun, Failure, main
from telegram_platform import BLOCKED, Person, Platform, units

#: Messages in each direction while the gateway is killed.
MANY = 50
KILLS = 3
PAUSE = 0.4  # s; between the messages of one person, so that they last longer than the kills
DOWN = 15  # s


class TelegramRun(ChannelRun):
    def make_platform(self) -> None:
        self.platform = Platform(self.options.platform_port)
        with open(self.options.token_file, "w", encoding="utf-8") as file:
            file.write(self.platform.token)

    def conversations(self, friend: Person) -> list[str]:
        return self.sql(f"SELECT session_id FROM channel_conversations WHERE channel = 'telegram' "
                        f"AND address = '{friend.id}' ORDER BY session_id").split()

    def visitor(self, person: Person, column: str) -> str:
        return self.sql(f"SELECT {column} FROM visitors WHERE external_id = 'telegram:{person.id}'")

    def say(self, friend: Person, text: str) -> str:
        self.platform.tell(self.platform.text(friend, text))
        self.until(f"“{text[:60]}” is in the log", lambda: any(
            text in self.inbound(it) for it in self.conversations(friend)))
        return next(it for it in self.conversations(friend) if text in self.inbound(it))

    def store(self, name: str, secret: str) -> None:
        self.request("PUT", f"{ADMIN}/credentials/telegram", {"name": name, "secret": secret})

    def trial(self) -> dict:
        return self.request("POST", f"{ADMIN}/channels/telegram/test")

    parts = ("without_credentials", "both_ways", "wrong_secrets", "again", "kinds", "hostile", "shapes", "files",
             "refusals", "token", "unknown", "contact", "down", "killed", "secrecy")

    def run(self) -> None:
        telegram_library.check(self.platform, self.promise)
        self.run_parts(self.parts)

    # The parts

    def without_credentials(self) -> None:
        key = self.sql("SELECT w.public_key FROM workspaces w JOIN memberships m ON m.workspace_id = w.id LIMIT 1")
        secret = "secret-of-" + uuid.uuid4().hex
        asyncio.run(telegram_library.set_webhook(
            self.platform, f"{self.options.base_url}/api/v1/channels/telegram/{key}/webhook", secret))
        person = self.platform.person("Nobody")
        self.promise("without a stored secret the webhook is 404",
                     self.platform.send(self.platform.text(person, "?")) == 404)
        self.store("webhook_secret", secret)
        self.store("bot_token", self.platform.token)
        self.promise("a test finds the bot", self.trial() == {
            "works": True, "account": "@shop_bot", "detail": "The account answers."})

    def both_ways(self) -> None:
        person = self.platform.person("Mali")
        # A customer of the workspace's own site, whose id is the same number.
        self.sql("INSERT INTO visitors (id, workspace_id, external_id, name) SELECT gen_random_uuid(), workspace_id, "
                 f"'{person.id}', 'Somebody else' FROM memberships LIMIT 1")
        self.platform.tell(self.platform.text(person, "/start"))
        self.until("the event of the contact", lambda: self.events(person) == "follow")
        self.until("the name is Telegram's", lambda: self.visitor(person, "name") == "Mali Suksan")
        self.promise("/start is an event of the contact, and no conversation", self.conversations(person) == [])
        session = self.say(person, "hello from Telegram")
        self.promise("a text of a person is a message of a visitor in a conversation of the channel, which waits",
                     self.sql("SELECT concat_ws(' ', s.channel, s.status, waiting_since IS NOT NULL, v.name) FROM "
                              f"chat_sessions s JOIN visitors v ON v.id = s.user_id WHERE s.id = '{session}'")
                     == "telegram waiting t Mali Suksan")
        first, second = self.answer(session, "Good morning"), self.answer(session, "What can I do for you?")
        self.until("the answers come", lambda: person.texts == ["Good morning", "What can I do for you?"])
        self.until("both are noted as sent", lambda: [self.delivery(it) for it in (first, second)] == ["sent"] * 2)
        self.request("POST", f"{CONVERSATIONS}/{session}/notes", {"body": "A note that only we see"})
        self.answer(session, "after the note")
        self.until("the third comes", lambda: person.texts[2:] == ["after the note"])
        self.promise("answers come in order, notes and events are not sent")

    def events(self, person: Person) -> str:
        return self.sql("SELECT string_agg(e.event, ' ' ORDER BY e.created_at, e.event DESC) FROM friend_events e JOIN "
                        f"visitors v ON v.id = e.visitor_id WHERE v.external_id = 'telegram:{person.id}'")

    def wrong_secrets(self) -> None:
        before, person = self.metric("channel_signatures_refused_total"), self.platform.person("Mallory")
        update, secret = self.platform.text(person, "forged"), self.platform.secret
        statuses = [self.platform.send(update, secret=it) for it in ("", secret[:-1], secret + "x", secret.upper())]
        self.promise(f"wrong and missing secrets are 401: {statuses}", statuses == [401] * 4)
        self.promise("they are counted, and nothing is stored",
                     self.metric("channel_signatures_refused_total") - before == 4
                     and self.sql("SELECT count(*) FROM channel_events WHERE payload LIKE '%forged%'") == "0")
        self.promise("a body of more than 64 KiB is refused before it is read",
                     self.platform.send(body=b"x" * 70_000) in (413, 0))

    def again(self) -> None:
        person = self.platform.person("Echo")
        update = self.platform.text(person, "only once")
        statuses = [self.platform.send(update) for _ in range(3)]
        session = self.say(person, "then this")
        # The platform may lose its own number, but not the message's.
        self.platform.send(self.platform.update(message=update["message"]))
        self.say(person, "and this")
        self.promise(f"an update that comes again is 200 and stored once: {statuses}", statuses == [200] * 3
                     and self.inbound(session) == ["only once", "then this", "and this"])

    def kinds(self) -> None:
        person = self.platform.person("Somchai")
        kinds = telegram_library.all_kinds(self.platform, person)
        for update, _ in kinds:
            self.platform.tell(update)
        group = self.platform.text(person, "in a group")
        group["message"]["chat"] = {"id": -person.id, "type": "group", "title": "Friends"}
        for update in (group, self.platform.message(person, "edited_message", text="edited", edit_date=7)):
            self.platform.tell(update)
        for text in ("a\u0000b", "half \ud83d"):  # Telegram sends neither.
            self.promise("escapes that PostgreSQL refuses are taken", self.platform.send(
                body=json.dumps(self.platform.text(person, text)).encode()) == 200)
        session = self.say(person, "the end")
        self.promise(f"each is a line of the log: {self.inbound(session)}", self.inbound(session) == [
            *(line for _, line in kinds), "a\ufffdb", "half \ufffd", "the end"])
        payloads = [it.get("payload") for it in self.messages(session)]
        self.promise("with what Telegram has sent about it", payloads[7]["telegram"]["document"]["file_id"] == "f"
                     and payloads[1]["telegram"]["entities"][0]["type"] == "bold" and not payloads[0])
        self.promise("edited messages and groups are kept as they came", self.sql(
            "SELECT string_agg(result, ' ') FROM channel_events WHERE payload LIKE '%\"edited\"%' OR payload LIKE "
            "'%in a group%'") == "unsupported unsupported")

    def hostile(self) -> None:
        person = self.platform.person("Hostile")
        chat, bodies = json.dumps(person.chat), []
        for content in ('"text": 7', '"text": {}', '"text": ""', '"sticker": []', '"location": {"latitude": "x"}',
                        '"text": "x", "caption": 7, "entities": ' + "[" * 10 + "]" * 10,
                        '"text": "huge date", "date": 9223372036854775807', '"message_id": 1e400, "text": "x"',
                        '"contact": null, "text": null'):
            bodies.append(f'{{"message": {{"message_id": 9, "chat": {chat}, {content}}}}}')
        for id_ in ("-77", "1e300", '"77"', "null", "[]", "9" * 20):
            other = f'{{"id": {id_}, "type": "private"}}'
            bodies.append(f'{{"message": {{"message_id": 9, "chat": {other}, "text": "x"}}}}')
        for other in ('{"callback_query": 7}', '{"callback_query": {"id": 7, "data": [], "message": {}}}',
                      '{"my_chat_member": {"chat": ' + chat + ', "date": -1e9, "new_chat_member": "kicked"}}'):
            bodies.append(other)
        statuses = []
        for body in bodies:
            self.platform.last_update += 1
            numbered = f'{{"update_id": {self.platform.last_update}, {body[1:]}'
            statuses.append(self.platform.send(body=numbered.encode()))
        self.promise(f"signed updates with wrong types are 200: {statuses}", set(statuses) == {200})
        bad = [b"", b"[1]", b"{}", b'{"update_id": "x"}', b'{"update_id": 1e300}', b"[" * 60_000,
               b'{"update_id": 1, "message": ' + b"[" * 30_000 + b"]" * 30_000 + b"}", b'{"update_id": 1, "\xff": 1}']
        statuses = [self.platform.send(body=it) for it in bad]
        self.promise(f"what is no update is 400: {statuses}", set(statuses) == {400})
        session = self.say(person, "still here")
        self.until("all are processed", lambda: self.sql(
            "SELECT count(*) FROM channel_events WHERE processed_at IS NULL") == "0")
        self.promise(f"the next text comes: {self.inbound(session)}", self.inbound(session)[-1] == "still here"
                     and set(self.inbound(session)) <= {"x", "huge date", "[sticker]", "[location]", "still here"})

    def shapes(self) -> None:
        person = self.platform.person("Long")
        session = self.say(person, "tell me")
        text = "".join(f"{n} ฿ 🎉\n" for n in range(1_000))
        # The second part is limited: the first must not come again.
        person.refusals = [None, (429, "Too Many Requests: retry after 2", {"retry_after": 2}), (500, "Internal", None)]
        began = time.monotonic()
        message = self.answer(session, text)
        self.until("the long text comes", lambda: "".join(it + "\n" for it in person.texts).split() == text.split())
        self.promise(f"a text of {units(text)} characters comes in {len(person.texts)} messages of at most 4,096, each "
                     "once, although the second was limited", len(person.texts) > 1 and time.monotonic() - began > 2
                     and all(units(it) <= 4_096 for it in person.texts))
        self.until("it is noted once", lambda: self.delivery(message) == "sent")
        asker, long = self.platform.person("Asker"), "v" * 63
        button = {"label": "Track it", "value": "track"}
        link = {"label": "Shop", "type": "url", "value": "https://shop.example/"}
        card = {"title": "Order 7", "text": "On its way", "image_url": "https://shop.example/7.png",
                "buttons": [button, link]}
        objects = {
            "tb": ("buttons", {"text": "What now?", "buttons": [button, {"label": "Long", "value": long}]}),
            "tc": ("card", card), "td": ("carousel", {"cards": [card, {"title": "Order 8"}]}),
            "te": ("text", {"text": "Yes?", "quick_replies": [{"label": "Oh yes", "value": "y"}]}),
        }
        for name, (kind, payload) in objects.items():
            self.request("PUT", f"{ADMIN}/reply-objects/{name}", {"object_type": kind, "payload": payload})
        self.request("POST", f"{ADMIN}/intents", {"name": "all t", "keyword": "show all", "match_kind": "exact",
                                                  "replies": [{"object": it} for it in objects]})
        session = self.say(asker, "show all")
        self.until(lambda: f"the bot's answers come: {asker.texts}", lambda: len(asker.came) == 5)
        order = "Order 7\nOn its way"
        self.promise(f"buttons, a card, each card of a carousel and quick replies come: {asker.texts}",
                     asker.texts == ["What now?", order, order, "Order 8", "Yes?"])
        keyboards = [[button["text"] for row in it.get("reply_markup", {"inline_keyboard": []})["inline_keyboard"]
                      for button in row] for it in asker.came]
        self.promise(f"with their buttons: {keyboards}", keyboards == [
            ["Track it", "Long"], ["Track it", "Shop"], ["Track it", "Shop"], [], ["Oh yes"]])
        for row, value in ((0, "track"), (1, None)):
            message = asker.came[0]
            pressed = message["reply_markup"]["inline_keyboard"][row][0]
            tap = self.platform.tap(asker, message, pressed["callback_data"])
            self.platform.tell(tap)
            self.until("the tap is in the log", lambda it=pressed: self.inbound(session)[-1] == it["text"])
            payload = self.messages(session)[-1].get("payload") or {}
            self.promise("a tap is the visitor's choice, as in the widget; of a value that does not fit, its label",
                         payload.get("reply", {}).get("value") == value)
            self.promise("and is answered, so that the button does not wait",
                         tap["callback_query"]["id"] in self.platform.answered)

    def files(self) -> None:
        person = self.platform.person("Files")
        session = self.say(person, "show me")
        host, port = self.options.base_url.removeprefix("http://").split(":")
        place = Place(Client((host, int(port)), self.bearer), f"{CONVERSATIONS}/{session}")
        contents = {"photo.png": png(40, 30), "bill.txt": b"to pay: 7"}
        ids = [place.upload(name, data)[1]["id"] for name, data in contents.items()]
        status, message = place.say(ids, "here they are")
        self.promise("an operator sends two files", status == 201)
        self.until("they come, and it is noted", lambda: self.delivery(message["id"]) == "sent")
        caption, photo, links = person.came
        name, url = links["text"].split("\n")
        urls = {"photo.png": photo["photo"][0]["file_id"], name: url}
        self.promise(f"the words, the photo as one, the other as a link at the public URL: {person.texts}",
                     caption["text"] == "here they are" and name == "bill.txt"
                     and all(it.startswith(PUBLIC_URL + "/") for it in urls.values()))
        for name, url in urls.items():
            with urllib.request.urlopen(self.options.base_url + url.removeprefix(PUBLIC_URL), timeout=30) as answer:
                data = answer.read()
            self.promise(f"the link of {name} brings it", data == contents[name] or data.startswith(b"\x89PNG"))

    def refusals(self) -> None:
        person = self.platform.person("Refused")
        session = self.say(person, "hi")
        person.refusals = [(400, "Bad Request: chat not found", None), (403, BLOCKED, None)]
        bad, worse, good = (self.answer(session, it) for it in ("bad", "worse", "good"))
        self.until("the good one comes", lambda: self.delivery(good) == "sent")
        self.promise("400 and 403 are failures with Telegram's reason, and the next message is sent",
                     person.texts == ["good"] and self.delivery(worse) == f"failed|Telegram answered 403: {BLOCKED}"
                     and self.delivery(bad) == "failed|Telegram answered 400: Bad Request: chat not found")
        person.refusals = [(429, "Too Many Requests: retry after 3", {"retry_after": 3}), (502, "Bad Gateway", None)]
        began = time.monotonic()
        late = self.answer(session, "late")
        self.until("it comes", lambda: self.delivery(late) == "sent")
        self.promise("429 waits as long as Telegram wants, it and 502 are repeated until it is sent, once",
                     person.texts == ["good", "late"] and time.monotonic() - began > 3)

    def token(self) -> None:
        person, good = self.platform.person("Token"), self.platform.token
        session = self.say(person, "hi")
        wrong = good[:-1] + ("a" if good[-1] != "a" else "b")
        self.store("bot_token", wrong)
        # A platform, or a server in front of it, that repeats the URL.
        self.platform.words = f" for /bot{wrong}/sendMessage"
        message = self.answer(session, "patience")
        self.until("it waits", lambda: "401" in self.problem(session))
        self.promise(f"a message waits for the right token, and the reason does not have it: {self.problem(session)}",
                     self.delivery(message) == "" and wrong[11:30] not in self.problem(session))
        self.promise("so does the test say", self.trial() == {
            "works": False, "account": None, "detail": "The platform answered 401."})
        self.store("bot_token", "../" + wrong + "?x=\r\ny")
        self.promise("a token of any other form stays in its part of the path",
                     self.trial()["detail"] == "The platform answered 404.")
        self.platform.words = ""
        self.store("bot_token", good)
        self.until("it comes", lambda: self.delivery(message) == "sent")
        self.promise("with the right token it is sent", person.texts == ["patience"])

    def problem(self, session: str) -> str:
        return self.request("GET", f"{CONVERSATIONS}/{session}/deliveries")["problem"] or ""

    def unknown(self) -> None:
        person = self.platform.person("Lost")
        session = self.say(person, "hi")
        self.platform.answers_lost = 1
        lost, after = self.answer(session, "lost"), self.answer(session, "after")
        self.until("the next one comes", lambda: self.delivery(after) == "sent")
        self.promise(f"a message whose answer is lost is `unknown`, with the reason: {self.delivery(lost)}",
                     self.delivery(lost).startswith("unknown|Telegram's answer is missing: "))
        time.sleep(3)
        self.promise("it is not sent a second time, and the next message is sent", person.texts == ["lost", "after"])
        listed = self.request("GET", f"{CONVERSATIONS}/{session}/deliveries")["deliveries"]
        self.promise("operators see it at the message", [it["status"] for it in listed] == ["unknown", "sent"])
        person.refusals = [None, "lose"]
        long = self.answer(session, "\n".join(it * 4_000 for it in "xyz"))
        self.until("it is noted", lambda: self.delivery(long).startswith("unknown|"))
        time.sleep(3)
        self.promise("so is one whose second part of three has no answer: nothing more of it is sent",
                     [it[0] for it in person.texts[2:]] == ["x", "y"])
        for message in (lost, long):
            self.request("POST", f"{CONVERSATIONS}/{session}/deliveries/{message}/send-again", {}, (202,))
            self.until("it is sent", lambda it=message: self.delivery(it) == "sent")
        came = [it[:9] for it in person.texts[4:]]
        self.promise("an operator sends both again: the first one whole, the other from the part without an answer: "
                     f"{came}", [it[0] for it in came] == ["l", "y", "z"])

    def contact(self) -> None:
        person = self.platform.person("Away")
        session = self.say(person, "bye")
        self.platform.tell(self.platform.member(person, "member", "kicked"))
        self.until("the event of the contact", lambda: self.events(person) == "unfollow")
        person.has_blocked = True
        lost = self.answer(session, "are you there?")
        self.until("it has failed", lambda: self.delivery(lost) == "failed|The person has blocked the account.")
        person.has_blocked = False
        time.sleep(1)  # Telegram's times are in seconds.
        self.platform.tell(self.platform.member(person, "kicked", "member"))
        self.until("the second event", lambda: self.events(person) == "unfollow refollow")
        self.answer(session, "welcome back")
        self.until("it comes", lambda: person.texts == ["welcome back"])
        self.promise("a person who has blocked the bot gets nothing, the reason is shown, and is reached again later")

    def down(self) -> None:
        people = [self.platform.person(f"Down {n}") for n in range(3)]
        sessions = [self.say(it, "before") for it in people]
        self.platform.close()
        expected = [str(n) for n in range(12)]
        for text in expected:
            for session in sessions:
                self.answer(session, text)
        time.sleep(DOWN)
        self.promise("the test of the channel says so, without the URL",
                     self.trial()["works"] is False and "bot" not in self.trial()["detail"])
        self.platform.open()
        self.platform.fault = 502
        self.until("502 comes, too", lambda: all("502" in self.problem(it) for it in sessions), 90)
        self.promise("while the platform is down, nothing is sent, lost or failed", all(
            it.texts == [] for it in people) and self.metric("channel_waiting") >= 3 and all(
            {it["status"] for it in self.request("GET", f"{CONVERSATIONS}/{session}/deliveries")["deliveries"]}
            == {"pending"} for session in sessions))
        self.platform.fault = 0
        self.until(lambda: f"all come: {[it.texts for it in people]}", lambda: all(
            len(it.texts) >= len(expected) for it in people), 120)
        time.sleep(1)
        self.promise("afterwards all of it comes, once and in order", all(it.texts == expected for it in people))

    def killed(self) -> None:
        people = [self.platform.person(f"Torture {n}") for n in range(2)]
        sessions = [self.say(it, "begin") for it in people]
        written: dict[str, list[str]] = {}
        faults: list[str] = []
        kills_are_over = threading.Event()
        self.platform.pause = 0.1  # So that kills meet messages that are being sent.

        def texts(writer: str):
            """As many as are wanted, and as last until all kills were: on a slow machine a start takes long."""
            written[writer] = []
            for number in range(1_000):
                if number >= MANY // len(people) and kills_are_over.is_set():
                    return
                written[writer].append(f"message {number}")
                yield written[writer][-1]

        def write(person: Person) -> None:
            for text in texts(person.id):
                self.platform.tell(self.platform.text(person, text))
                time.sleep(PAUSE)

        def reply(session: str) -> None:
            for text in texts(session):
                body, end = {"id": str(uuid.uuid4()), "body": text}, time.monotonic() + 120
                while True:
                    try:
                        self.request("POST", f"{CONVERSATIONS}/{session}/messages", body)
                        time.sleep(PAUSE)
                        break
                    except (OSError, Failure) as fault:
                        if time.monotonic() > end:
                            faults.append(str(fault))
                            return
                        time.sleep(0.2)

        threads = [threading.Thread(target=write, args=(it,)) for it in people]
        threads += [threading.Thread(target=reply, args=(it,)) for it in sessions]
        for thread in threads:
            thread.start()
        try:
            for _ in range(KILLS):
                self.wait_for_call()
                self.kill()
                self.start()
        finally:
            kills_are_over.set()
        for thread in threads:
            thread.join()
        self.platform.pause = 0
        self.promise(f"{MANY} messages each way while the gateway was killed {KILLS} times: {faults}", not faults)
        self.until("all messages are in the log", lambda: self.sql(
            "SELECT count(*) FROM channel_events WHERE processed_at IS NULL") == "0")
        self.until("nothing waits", lambda: self.sql(
            "SELECT count(*) FROM channel_conversations WHERE due_at IS NOT NULL") == "0", 120)
        stored = [self.inbound(it) for it in sessions]
        self.promise(f"messages: 0 lost, 0 doubled, in order: {[len(it) for it in stored]}",
                     all(it == ["begin", *written[person.id]] for it, person in zip(stored, people)))
        unknown = 0
        for person, session in zip(people, sessions):
            listed = self.request("GET", f"{CONVERSATIONS}/{session}/deliveries")["deliveries"]
            answers = written[session]
            states = dict(zip(answers, [it["status"] for it in listed]))
            # On a slow machine there are time limits, too.
            unknown += sum("The gateway ended" in (it["reason"] or "") for it in listed)
            self.promise(f"answers: none doubled, in order, each noted: {len(person.texts)}",
                         person.texts == [it for it in answers if it in person.texts] and len(listed) == len(answers)
                         and set(states.values()) <= {"sent", "unknown"})
            self.promise("each that is noted as sent has come, and each that has not is `unknown`",
                         all(text in person.texts for text in answers if states[text] == "sent"))
        self.promise(f"at most one of a conversation and a kill is `unknown` because of it, and some are: {unknown}",
                     0 < unknown <= KILLS * len(people))
        os.kill(self.pid, signal.SIGTERM)
        self.promise("the gateway then stops with status 0", self.process.wait(60) == 0)
        self.process = None

    def wait_for_call(self) -> None:
        """Returns while a message is being sent."""
        time.sleep(2)
        count = len(self.platform.calls)
        self.until("a message is sent", lambda: len(self.platform.calls) > count)

    def secrecy(self) -> None:
        self.promise(f"the library knows each call of the gateway, and each member: {self.platform.wrong_calls}",
                     not self.platform.wrong_calls and len(self.platform.calls) > MANY)
        secret = self.platform.token.partition(":")[2]
        tables = "channel_deliveries channel_conversations channel_people channel_events audit_log credentials".split()
        found = [self.sql(f"SELECT count(*) FROM {it} AS t WHERE t::text LIKE '%{secret}%'") for it in tables]
        self.promise(f"the bot's token is in no reason, event or entry of the audit log: {found}", set(found) == {"0"})


if __name__ == "__main__":
    sys.exit(main(TelegramRun, "token-file"))
