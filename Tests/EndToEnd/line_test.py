"""The LINE channel, from the webhook to the inbox and back. Started by line.sh."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

import line_sdk
from attachments_test import Client, Place, png
from channel_run import ADMIN, CONVERSATIONS, PUBLIC_URL, ChannelRun, Failure, main
from line_menus_test import MenuRun
from line_platform import Friend, Platform, units

#: Messages in each direction while the gateway is killed.
MANY = 200
KILLS = 5
PAUSE = 0.4  # s; between the messages of one person, so that they last longer than the kills


class LineRun(ChannelRun):
    def make_platform(self) -> None:
        words = (f"{it}-of-{uuid.uuid4().hex}" for it in ("secret", "token"))
        self.platform = Platform(self.options.platform_port, *words)

    def conversations(self, friend: Friend) -> list[str]:
        """The person's conversations, the oldest first."""
        return self.sql("SELECT s.id FROM chat_sessions s JOIN visitors v ON v.id = s.user_id WHERE s.channel = 'line' "
                        f"AND v.external_id = '{friend.id}' ORDER BY s.created_at").split()

    def say(self, friend: Friend, text: str, with_token=True) -> str:
        """Returns the conversation, after the text is in it."""
        self.platform.tell(self.platform.text(friend, text, with_token))
        self.until(f"“{text[:60]}” is in the log", lambda: any(
            text in self.inbound(it) for it in self.conversations(friend)))
        return next(it for it in self.conversations(friend)[::-1] if text in self.inbound(it))

    # The parts

    def run(self) -> None:
        line_sdk.check(self.platform, self.promise)
        key = self.sql("SELECT w.public_key FROM workspaces w JOIN memberships m ON m.workspace_id = w.id LIMIT 1")
        self.platform.webhook = f"{self.options.base_url}/api/v1/channels/line/{key}/webhook"
        self.run_parts((
            "without_credentials", "both_ways", "signatures", "again", "kinds", "shapes", "files", "refusals",
            "lost_answers", "contact", "closed", "imported", "menus", "down", "killed"))

    def without_credentials(self) -> None:
        friend = self.platform.friend("Nobody")
        self.promise("without a stored secret the webhook is 404",
                     self.platform.send(self.platform.text(friend, "?")) == 404)
        for name, secret in (("channel_secret", self.platform.secret), ("channel_access_token", self.platform.token)):
            self.request("PUT", f"{ADMIN}/credentials/line", {"name": name, "secret": secret})

    def menus(self) -> None:
        MenuRun(self).all()

    def both_ways(self) -> None:
        self.mali = friend = self.platform.friend("Mali")
        session = self.say(friend, "hello from LINE")
        self.until("the name is that of the profile", lambda: self.sql(
            f"SELECT name FROM visitors WHERE external_id = '{friend.id}'") == "Mali")
        self.promise("a text of a person is a message of a visitor in a conversation of the channel, which waits",
                     self.sql(f"SELECT status || ' ' || (waiting_since IS NOT NULL) FROM chat_sessions "
                              f"WHERE id = '{session}'") == "waiting true")
        self.promise("the visitor has the name and the picture of the profile", friend.id in self.sql(
            f"SELECT attributes ->> 'picture_url' FROM visitors WHERE external_id = '{friend.id}'"))
        first = self.answer(session, "Good morning")
        self.until("the answer comes", lambda: friend.texts == ["Good morning"])
        self.promise("an operator's answer uses the reply token", friend.came[0][0] == "reply")
        second = self.answer(session, "What can I do for you?")
        self.until("the second comes", lambda: len(friend.texts) == 2)
        self.promise("the next one is pushed, with a retry key of the message's id",
                     friend.came[1][0] == "push" and second in self.platform.retry_keys)
        self.until("both are noted as sent", lambda: [self.delivery(it) for it in (first, second)] == ["sent"] * 2)
        self.request("POST", f"{CONVERSATIONS}/{session}/notes", {"body": "A note that only we see"})
        self.answer(session, "after the note")
        self.until("the third comes", lambda: friend.texts[2:] == ["after the note"])
        self.promise("notes and events are not sent")

    def signatures(self) -> None:
        before, friend = self.metric("channel_signatures_refused_total"), self.platform.friend("Mallory")
        event = self.platform.text(friend, "forged")
        statuses = [self.platform.send(event, signature=it) for it in (
            "", "no base64", self.platform.signature(b"{}"), self.platform.signature(self.platform.body(event))[:-1])]
        self.promise(f"wrong and missing signatures are 401: {statuses}", statuses == [401] * 4)
        self.promise("they are counted, and nothing is stored",
                     self.metric("channel_signatures_refused_total") - before == 4
                     and self.sql("SELECT count(*) FROM channel_events WHERE payload LIKE '%forged%'") == "0")
        self.promise("a body of more than 64 KiB is refused before it is read",
                     self.platform.send(body=b"x" * 70_000, signature="x") in (413, 0))
        self.promise("a signed body that is no webhook is 400", self.platform.send(body=b"[1]") == 400)
        self.promise("one without events is 200: LINE verifies the address with it", self.platform.send() == 200)

    def again(self) -> None:
        friend = self.platform.friend("Echo")
        event = self.platform.text(friend, "only once")
        statuses = [self.platform.send(event) for _ in range(3)]
        session = self.say(friend, "then this")
        event["webhookEventId"] += "X"  # The platform may lose its own id, but not the message's.
        self.platform.send(event)
        self.say(friend, "and this")
        self.promise(f"an event that comes again is 200 and stored once: {statuses}", statuses == [200] * 3
                     and self.inbound(session) == ["only once", "then this", "and this"])

    def kinds(self) -> None:
        friend = self.platform.friend("Somchai")
        events = [event for event, _, _ in line_sdk.all_events(self.platform, friend) if event["type"] != "unfollow"]
        unknown = self.platform.event(friend, "hologram", hologram={"size": 3})
        null = self.platform.text(friend, "a\u0000b")
        half = self.platform.text(friend, "half \ud83d")
        group = self.platform.text(friend, "in a group")
        group["source"] = {"type": "group", "groupId": "C" + "1" * 32, "userId": friend.id}
        body = json.dumps({"destination": "x", "events": [*events, unknown, null, half, group]}).encode()
        self.promise("events of all kinds are taken", self.platform.send(body=body) == 200)
        session = self.say(friend, "the end")
        self.promise(f"each is a line of the log: {self.inbound(session)}", self.inbound(session) == [
            "สวัสดี 🎉", "[sticker: happy]", "[image]", "[video]", "[audio]", "[file: bill.pdf]",
            "[location: Shop, 1 Silom Rd, 13.72, 100.53]", "order=7", "a\ufffdb", "half \ufffd", "the end"])
        payloads = [it.get("payload") for it in self.messages(session)]
        self.promise("with what LINE has sent about it", payloads[1]["line"]["stickerId"] == "1988"
                     and payloads[5]["line"]["fileSize"] == 2138 and payloads[7]["reply"]["value"] == "order=7")
        self.promise("an event of an unknown type and one of a group are kept", self.sql(
            "SELECT string_agg(result, ' ') FROM channel_events WHERE payload LIKE '%hologram%' OR payload LIKE "
            "'%in a group%'") == "unsupported unsupported")

    def shapes(self) -> None:
        friend = self.platform.friend("Long")
        session = self.say(friend, "tell me")
        text = "".join(f"{n} ฿ 🎉\n" for n in range(1_000))
        self.answer(session, text)
        self.until("the long text comes", lambda: "".join(friend.texts).rstrip() == text.rstrip())
        self.promise(f"a text of {units(text)} characters comes in {len(friend.texts)} parts of at most 5,000",
                     len(friend.texts) > 1 and all(units(it) <= 5_000 for it in friend.texts))
        button = {"label": "Track it", "value": "track"}
        link = {"label": "Shop", "type": "url", "value": "https://shop.example/"}
        card = {"title": "Order 7", "text": "On its way", "image_url": "https://shop.example/7.png",
                "buttons": [button, link]}
        objects = {
            "b": ("buttons", {"text": "What now?", "buttons": [button]}), "c": ("card", card),
            "d": ("carousel", {"cards": [card, {"title": "Order 8"}]}),
            "e": ("text", {"text": "Yes?", "quick_replies": [{"label": "Oh yes", "value": "y"}]}),
        }
        for name, (kind, payload) in objects.items():
            self.request("PUT", f"{ADMIN}/reply-objects/{name}", {"object_type": kind, "payload": payload})
        self.request("POST", f"{ADMIN}/intents", {"name": "all", "keyword": "show all", "match_kind": "exact",
                                                  "replies": [{"object": it} for it in objects]})
        asker = self.platform.friend("Asker")
        self.say(asker, "show all")
        self.until(lambda: f"the bot's answers come: {asker.came}", lambda: len(asker.came) == 4)
        kinds = [message["contents"]["type"] if message["type"] == "flex" else message["type"]
                 for _, message in asker.came]
        self.promise("a bot's buttons, card and carousel come as Flex messages, quick replies as such",
                     kinds == ["bubble", "bubble", "carousel", "text"] and "quickReply" in asker.came[3][1])
        action = asker.came[0][1]["contents"]["footer"]["contents"][0]["action"]
        self.platform.tell(self.platform.event(asker, "postback", postback={"data": action["data"]}))
        session = self.conversations(asker)[0]
        self.until("the tap is in the log", lambda: "Track it" in self.inbound(session))
        self.promise("a tap on a button is the visitor's choice, as in the widget",
                     self.messages(session)[-1]["payload"]["reply"]["value"] == "track")

    def files(self) -> None:
        friend = self.platform.friend("Files")
        session = self.say(friend, "show me")
        host, port = self.options.base_url.removeprefix("http://").split(":")
        place = Place(Client((host, int(port)), self.bearer), f"{CONVERSATIONS}/{session}")
        contents = {"photo.png": png(40, 30), "bill.txt": b"to pay: 7"}
        ids = [place.upload(name, data)[1]["id"] for name, data in contents.items()]
        status, message = place.say(ids, "here they are")
        self.promise("an operator sends two files", status == 201)
        self.until("they come", lambda: len(friend.came) == 3)
        caption, image, links = (it for _, it in friend.came)
        self.promise("with the words beside them", caption["text"] == "here they are")
        name, url = links["text"].split("\n")
        urls = {"photo.png": image["originalContentUrl"], name: url}
        self.promise(f"the image as one, the other as a link at the public URL: {links['text']}",
                     name == "bill.txt" and image["previewImageUrl"] == urls["photo.png"]
                     and all(it.startswith(PUBLIC_URL + "/") for it in urls.values()))
        for name, url in urls.items():
            with urllib.request.urlopen(self.options.base_url + url.removeprefix(PUBLIC_URL), timeout=30) as answer:
                data, kind = answer.read(), answer.headers["Content-Type"]
            self.promise(f"the link of {name} brings it, as {kind}", data == contents[name] or (
                kind == "image/png" and data.startswith(b"\x89PNG")))
        self.until("it is noted", lambda: self.delivery(message["id"]) == "sent")

    def refusals(self) -> None:
        friend = self.platform.friend("Refused")
        session = self.say(friend, "hi", with_token=False)
        friend.refusals = [(400, "Failed to send messages"), (403, "This channel does not have permission")]
        bad, worse = self.answer(session, "bad"), self.answer(session, "worse")
        good = self.answer(session, "good")
        self.until("the good one comes", lambda: friend.texts == ["good"])
        self.until("it is noted", lambda: self.delivery(good) == "sent")
        self.promise("400 and 403 are failures with LINE's reason, and the next message is sent",
                     self.delivery(bad) == "failed|LINE answered 400: Failed to send messages"
                     and self.delivery(worse) == "failed|LINE answered 403: This channel does not have permission")
        self.platform.limited = [1, 1]
        friend.refusals = [(500, "Internal server error"), (503, "Unavailable")]
        late = self.answer(session, "late")
        self.until("it comes", lambda: friend.texts == ["good", "late"])
        self.until("it is noted", lambda: self.delivery(late) == "sent")
        self.promise("429, 500 and 503 are repeated until it is sent, once")
        session = self.say(friend, "with a token")
        self.platform.limited = [1]
        self.answer(session, "limited")
        self.until("it comes", lambda: friend.texts[2:] == ["limited"])
        self.promise("so is a reply that 429 has refused", friend.came[-1][0] == "push")

    def lost_answers(self) -> None:
        friend = self.platform.friend("Lost")
        session = self.say(friend, "hi")
        for text, endpoint in (("reply", "reply"), ("push", "push")):
            self.platform.answers_lost = 1
            message = self.answer(session, text)
            self.until(f"the {text} is noted", lambda it=message: self.delivery(it) == "sent")
            self.promise(f"a {text} whose answer is lost is repeated, and comes once",
                         friend.texts.count(text) == 1 and friend.came[-1][0] == endpoint)
        statuses = [status for _, path, status in self.platform.requests if path.endswith("push")]
        self.promise("by its retry key, which is 409 then", statuses.count(409) > 1)
        session = self.say(friend, "again")
        self.platform.later += 61  # The token is too old for LINE, but not for the gateway.
        self.answer(session, "too late")
        self.until("it is pushed", lambda: friend.texts[2:] == ["too late"])
        self.platform.later -= 61
        self.promise("a reply token that LINE does not take any more is replaced by a push")

    def contact(self) -> None:
        friend = self.platform.friend("Away")
        session = self.say(friend, "bye")
        self.platform.tell(self.platform.event(friend, "unfollow"))
        events = ("SELECT string_agg(e.event, ' ' ORDER BY e.created_at) FROM friend_events e JOIN visitors v "
                  f"ON v.id = e.visitor_id WHERE e.channel = 'line' AND v.external_id = '{friend.id}'")
        self.until("the event of the contact", lambda: self.sql(events) == "unfollow")
        friend.has_blocked = True
        lost = self.answer(session, "are you there?")
        self.until("it has failed", lambda: self.delivery(lost) == "failed|The person has blocked the account.")
        friend.has_blocked = False
        self.platform.tell(self.platform.event(friend, "follow", follow={"isUnblocked": True}))
        self.until("the second event", lambda: self.sql(events) == "unfollow refollow")
        self.answer(session, "welcome back")
        self.until("it comes", lambda: friend.texts == ["welcome back"])
        self.promise("a person who has blocked the account gets nothing, the reason is shown, and is reached again "
                     "afterwards")
        visitor = self.sql(f"SELECT id FROM visitors WHERE external_id = '{friend.id}'")
        self.sql(f"UPDATE visitors SET banned_at = now() WHERE id = '{visitor}'")
        self.platform.tell(self.platform.text(friend, "let me in"))
        self.until("the event is settled", lambda: self.sql(
            "SELECT result FROM channel_events ORDER BY seq DESC LIMIT 1") == "blocked")
        self.promise("a person whom the workspace has blocked cannot write", self.inbound(session) == ["bye"])

    def closed(self) -> None:
        friend = self.platform.friend("Back")
        session = self.say(friend, "first")
        self.answer(session, "done")
        self.request("POST", f"{CONVERSATIONS}/{session}/close", {})
        other = self.say(friend, "second")
        self.promise("after a closed conversation a new one begins", other != session
                     and self.conversations(friend) == [session, other])
        self.answer(session, "one more thing")
        self.until("it comes", lambda: "one more thing" in friend.texts)
        self.promise("what an operator writes in a closed conversation is sent, too")

    def imported(self) -> None:
        friend, stranger = self.platform.friend("Nok"), self.platform.friend("Ploy")
        self.sql(f"""
          CREATE TABLE users (id serial, line_user_id text, display_name text, picture_url text,
            created_at timestamptz);
          CREATE TABLE messages (id serial, line_user_id text, direction text, message_type text, content text,
            payload jsonb, sender_role text, operator_name text, created_at timestamptz);
          INSERT INTO users (line_user_id, display_name, picture_url, created_at)
            SELECT id, name, NULL, now() - interval '1 year' FROM (VALUES ('{friend.id}', 'Nok'),
              ('{stranger.id}', 'Ploy')) AS t (id, name);
          INSERT INTO messages (line_user_id, direction, message_type, content, sender_role, created_at)
            SELECT id, 'incoming', 'text', 'old question', 'USER', now() - interval '1 year'
            FROM (VALUES ('{friend.id}'), ('{stranger.id}')) AS t (id);
          INSERT INTO messages (line_user_id, direction, message_type, content, sender_role, created_at)
            SELECT id, 'outgoing', 'text', 'old answer', 'ADMIN', now() - interval '364 days'
            FROM (VALUES ('{friend.id}'), ('{stranger.id}')) AS t (id);""")
        workspace = self.sql("SELECT w.name FROM workspaces w JOIN memberships m ON m.workspace_id = w.id LIMIT 1")
        done = subprocess.run(
            [self.options.chirrup, "import", "line-oa", "--workspace", workspace, "--yes", "--database-url",
             self.options.database], capture_output=True, text=True, check=False)
        self.promise(f"the import succeeds: {done.stdout} {done.stderr}", done.returncode == 0)
        imported = self.conversations(friend)
        session = self.say(friend, "it is me again")
        self.promise("the next message of an imported friend lands in the imported conversation, which is open again",
                     imported == [session] and self.inbound(session) == ["old question", "it is me again"]
                     and self.sql(f"SELECT status FROM chat_sessions WHERE id = '{session}'") == "waiting")
        self.answer(session, "welcome")
        self.until("it comes", lambda: friend.texts == ["welcome"])
        other = self.conversations(stranger)[0]
        self.request("POST", f"{CONVERSATIONS}/{other}/reopen", {})
        self.answer(other, "do you still need us?")
        self.until("it comes", lambda: stranger.texts == ["do you still need us?"])
        self.promise("an operator may write first, and nothing of what was imported is sent")

    def down(self) -> None:
        friends = [self.platform.friend(f"Down {n}") for n in range(3)]
        sessions = [self.say(it, "before", with_token=n > 0) for n, it in enumerate(friends)]
        self.platform.is_down.set()
        expected = [str(n) for n in range(12)]
        for text in expected:
            for session in sessions:
                self.answer(session, text)
        time.sleep(15)
        self.promise("while the platform is down, nothing is lost and nothing has failed",
                     all(it.texts == [] for it in friends) and self.sql(
                         "SELECT count(*) FROM channel_conversations WHERE due_at IS NOT NULL") == "3")
        self.promise("what waits is told by a metric, and why by the conversation", self.sql(
            "SELECT count(*) FROM channel_conversations WHERE due_at IS NOT NULL AND last_error <> ''") == "3"
            and self.metric("channel_waiting") > 0)
        self.platform.is_down.clear()
        self.until(lambda: f"all come: {[it.texts for it in friends]}", lambda: all(
            len(it.texts) >= len(expected) for it in friends))
        time.sleep(1)
        self.promise("afterwards all of it comes, once and in order", all(it.texts == expected for it in friends))

    def killed(self) -> None:
        friends = [self.platform.friend(f"Torture {n}") for n in range(4)]
        sessions = [self.say(it, "begin") for it in friends]
        per_friend = MANY // len(friends)
        texts = [f"message {n}" for n in range(per_friend)]
        faults: list[str] = []

        def write(friend: Friend) -> None:
            for text in texts:
                self.platform.tell(self.platform.text(friend, text))
                time.sleep(PAUSE)

        def reply(session: str) -> None:
            for text in texts:
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

        threads = [threading.Thread(target=write, args=(it,)) for it in friends]
        threads += [threading.Thread(target=reply, args=(it,)) for it in sessions]
        for thread in threads:
            thread.start()
        kills = 0
        while any(it.is_alive() for it in threads) and kills < KILLS:
            time.sleep(2.0)
            self.kill()
            kills += 1
            self.start()
        for thread in threads:
            thread.join()
        self.promise(f"{MANY} messages each way while the gateway was killed {kills} times: {faults}",
                     kills == KILLS and not faults)
        self.until(lambda: f"all answers come: {[len(it.texts) for it in friends]}", lambda: all(
            len(it.texts) >= per_friend for it in friends))
        self.until("all messages are in the log", lambda: self.sql(
            "SELECT count(*) FROM channel_events WHERE processed_at IS NULL") == "0")
        self.until("nothing waits", lambda: self.sql(
            "SELECT count(*) FROM channel_conversations WHERE due_at IS NOT NULL") == "0")
        came = [(len(it.texts), len(set(it.texts)), it.texts == texts) for it in friends]
        self.promise(f"answers: 0 lost, 0 doubled, in order: {came}", all(it[2] for it in came))
        stored = [self.inbound(it) for it in sessions]
        self.promise(f"messages: 0 lost, 0 doubled, in order: {[len(it) for it in stored]}",
                     all(it == ["begin", *texts] for it in stored)
                     and all(len(self.conversations(it)) == 1 for it in friends))
        os.kill(self.pid, signal.SIGTERM)
        self.promise("the gateway then stops with status 0", self.process.wait(60) == 0)
        self.process = None


if __name__ == "__main__":
    sys.exit(main(LineRun))
