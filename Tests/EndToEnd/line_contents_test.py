"""Pictures, videos, recordings and files of people on LINE. Started by line_contents.sh."""

import hashlib
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import line_sdk
from attachments_storage_test import EICAR, jpeg, with_exif
from attachments_test import Client, Place, png
from channel_run import ADMIN, CONVERSATIONS, main
from line_platform import Friend
from line_test import LineRun

LINE = {"type": "line"}
MP4 = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom"
M4A = b"\0\0\0\x18ftypM4A \0\0\0\0M4A mp42"
PDF = b"%PDF-1.7\n"
PICTURES, KILLS = 30, 5


class ContentRun(LineRun):
    parts = ("kinds", "order", "not_ready", "rules", "gone", "cut", "many", "outage", "late", "no_token", "banned",
             "killed", "two_gateways", "tidy")

    def run(self) -> None:
        line_sdk.check(self.platform, self.promise)
        key = self.sql("SELECT w.public_key FROM workspaces w JOIN memberships m ON m.workspace_id = w.id LIMIT 1")
        self.platform.webhook = f"{self.options.base_url}/api/v1/channels/line/{key}/webhook"
        for name, secret in (("channel_secret", self.platform.secret), ("channel_access_token", self.platform.token)):
            self.request("PUT", f"{ADMIN}/credentials/line", {"name": name, "secret": secret})
        self.contents = self.platform.contents
        self.run_parts(self.parts)

    # Helpers

    def send(self, friend: Friend, kind: str, data: bytes | None, type_="image/png", name=None, **more):
        """A message with a content; `data` None: LINE has it no longer."""
        members = {"fileName": name, "fileSize": len(data or b"")} if kind == "file" else {"contentProvider": LINE}
        event = self.platform.message(friend, kind, **members)
        content = None if data is None else self.contents.put(event, data, type_, **more)
        self.platform.tell(event)
        return content

    def write(self, friend: Friend, text: str) -> None:
        self.platform.tell(self.platform.text(friend, text))

    def shown(self, friend: Friend) -> list[str]:
        return [text for it in self.conversations(friend) for text in self.inbound(it)]

    def expect(self, friend: Friend, *bodies: str, limit=60) -> None:
        self.until(lambda: f"the conversation has {bodies}: {self.shown(friend)}",
                   lambda: self.shown(friend) == list(bodies), limit)

    def entries(self, friend: Friend) -> list[dict]:
        return [entry for it in self.conversations(friend) for entry in self.messages(it)
                if entry["sender"]["kind"] == "visitor"]

    def download(self, friend: Friend, entry: dict, file=0) -> bytes:
        host, port = self.options.base_url.removeprefix("http://").split(":")
        session = self.sql(f"SELECT session_id FROM chats WHERE id = '{entry['id']}'")
        place = Place(Client((host, int(port)), self.bearer), f"{CONVERSATIONS}/{session}")
        with urllib.request.urlopen(self.options.base_url + place.link(entry["payload"]["attachments"][file]["id"]),
                                    timeout=30) as answer:
            return answer.read()

    def settings(self, **members) -> None:
        self.request("PATCH", f"{ADMIN}/settings", {"settings": {"attachments": members or None}})

    # The parts

    def kinds(self) -> None:
        friend = self.platform.friend("Mali")
        photograph, movie, sound = jpeg(60, 40), MP4 + secrets.token_bytes(300_000), M4A + secrets.token_bytes(90_000)
        bill = PDF + secrets.token_bytes(150_000)
        self.send(friend, "image", png(48, 32))
        self.send(friend, "image", with_exif(photograph, 1), "image/jpeg")
        self.send(friend, "video", movie, "video/mp4", transcoding=["processing", "processing"])
        self.send(friend, "audio", sound, "audio/x-m4a")
        self.send(friend, "file", bill, "application/pdf", "bill of Mali.pdf")
        self.write(friend, "that is all")
        self.expect(friend, "📎 image.png", "📎 image.jpg", "📎 video.mp4", "📎 audio.m4a", "📎 bill of Mali.pdf",
                    "that is all")
        entries = self.entries(friend)
        types = [it["payload"]["attachments"][0]["type"] for it in entries[:5]]
        self.promise(f"pictures, a video, a recording and a file are messages with attachments: {types}",
                     all(it["kind"] == "file" for it in entries[:5]) and types == [
                         "image/png", "image/jpeg", "video/mp4", "audio/mp4", "application/pdf"])
        self.promise("with what LINE has sent about them", [it["payload"]["line"]["type"] for it in entries[:5]] == [
            "image", "image", "video", "audio", "file"])
        image = entries[0]["payload"]["attachments"][0]
        self.promise(f"a picture has its size and a thumbnail: {image}", (image["width"], image["height"]) == (48, 32)
                     and self.sql("SELECT count(*) FROM chat_attachments WHERE has_thumbnail") == "2")
        cleaned = self.download(friend, entries[1])
        self.promise("a photograph is cleaned: the place where it was taken is gone",
                     b"GPSLatitude" in with_exif(photograph, 1) and b"GPSLatitude" not in cleaned
                     and cleaned.startswith(b"\xff\xd8"))
        self.promise("everything else comes byte for byte", [self.download(friend, it) for it in entries[2:5]]
                     == [movie, sound, bill])
        self.promise("what was fetched is counted", self.metric('channel_contents_total{result="stored"}') == 5)
        event = self.platform.message(friend, "image", contentProvider={
            "type": "external", "originalContentUrl": "https://example.com/a.jpg"})
        self.platform.tell(event)
        self.until("a picture that the app has elsewhere is a line", lambda: self.shown(friend)[-1] == "[image]")
        before = len(self.contents.all)
        again = self.platform.message(friend, "image", contentProvider=LINE)
        content = self.contents.put(again, png(20, 20), "image/png")
        for _ in range(3):
            self.platform.send(again)
        again["webhookEventId"] += "X"
        self.platform.send(again)
        self.until("it is there", lambda: self.shown(friend)[-1] == "📎 image.png")
        self.write(friend, "end")
        self.until("the next", lambda: self.shown(friend)[-1] == "end")
        self.promise("a picture whose event comes again is one message",
                     self.shown(friend)[-3:] == ["[image]", "📎 image.png", "end"] and before == len(self.contents.all) - 1
                     and content.requests >= 1)

    def order(self) -> None:
        slow, other = self.platform.friend("Slow"), self.platform.friend("Quick")
        self.say(other, "hello")
        self.send(slow, "image", png(400, 300), pause=1.0)  # Six pieces.
        self.write(slow, "between")
        self.send(slow, "image", png(30, 30))
        begin = time.monotonic()
        self.say(other, "I am not late")
        self.send(other, "image", png(31, 31))
        self.until("the other's picture", lambda: self.shown(other)[-1] == "📎 image.png")
        elapsed, early = time.monotonic() - begin, self.shown(slow)
        self.promise(f"another person does not wait for a slow picture: {elapsed:.1f} s", elapsed < 4 and early == [])
        self.expect(slow, "📎 image.png", "between", "📎 image.png")
        sizes = [it["payload"]["attachments"][0]["width"] for it in self.entries(slow) if it["kind"] == "file"]
        self.promise("picture, text and picture of one person stay in order", sizes == [400, 30])

    def not_ready(self) -> None:
        friend = self.platform.friend("Patient")
        content = self.send(friend, "video", MP4 + bytes(1000), "video/mp4", refusals=[202, 202, 429, 500])
        self.write(friend, "after it")
        self.expect(friend, "📎 video.mp4", "after it")
        self.promise("202, 429 and 500 are asked again", content.requests == 5)
        self.promise("and counted", self.metric("channel_content_attempts_failed_total") >= 4)

    def rules(self) -> None:
        friend = self.platform.friend("Refused")
        self.settings(bytes_max=1_048_576)
        large = self.send(friend, "image", png(900, 700), pause=0.02)
        self.write(friend, "after the large one")
        self.expect(friend, "[1 file was left out: image.png]", "after the large one")
        self.promise(f"a picture that is too large is cut while it comes: {large.sent} of {len(large.data)} bytes",
                     len(large.data) > 1_800_000 and large.sent < 1_600_000 and large.requests == 1)
        announced = self.send(friend, "file", PDF + bytes(1_100_000), "application/pdf", "large.pdf")
        self.until("it is left out", lambda: self.shown(friend)[-1] == "[1 file was left out: large.pdf]")
        self.promise("a file whose announced size is too large is not fetched", announced.requests == 0)
        program = self.send(friend, "file", b"\x7fELF" + bytes(5000), "x/y", "virus.exe")
        self.until("it is left out", lambda: self.shown(friend)[-1] == "[1 file was left out: virus.exe]")
        self.promise("nor one whose name the rules refuse", program.requests == 0)
        for data, kind, name, shown in (
                (b"\x7fELF" + bytes(5000), "image", None, "image.jpg"),
                (b"<html><script>1</script></html>", "file", "photo.png", "photo.png"),
                (b"\x7fELF" + bytes(5000), "file", "notes", "notes")):
            self.send(friend, kind, data, "image/png", name)
            self.until(f"{shown} is left out", lambda it=shown: self.shown(friend)[-1] == f"[1 file was left out: {it}]")
        self.promise("what is no picture, a page with the name of one, and a program are left out by their content")
        self.settings(types=["text"])
        picture = self.send(friend, "image", png(20, 20))
        self.write(friend, "texts only")
        self.until("it is left out", lambda: self.shown(friend)[-2:] == ["[1 file was left out: image.jpg]", "texts only"])
        self.promise("a kind that the workspace forbids is not fetched", picture.requests == 0)
        self.settings(enabled=False)
        self.send(friend, "image", png(20, 20))
        self.until("it is left out", lambda: self.shown(friend)[-1] == "[1 file was left out: image.jpg]")
        used = self.request("GET", f"{ADMIN}/attachments/usage")["bytes"]
        self.settings(total_bytes=used + 1_048_576)
        self.send(friend, "file", PDF + bytes(1_000_000), "application/pdf", "one.pdf")
        self.send(friend, "file", PDF + bytes(1_000_000), "application/pdf", "two.pdf")
        self.until("one is left out", lambda: self.shown(friend)[-2:] == [
            "📎 one.pdf", "[1 file was left out: two.pdf]"] or self.shown(friend)[-2:] == [
            "[1 file was left out: one.pdf]", "📎 two.pdf"])
        self.promise("so it is without attachments, and when the workspace has used its bytes")
        self.settings()
        if self.options.scanner == "yes":
            self.send(friend, "file", EICAR, "text/plain", "test.txt")
            self.until("it is left out", lambda: self.shown(friend)[-1] == "[1 file was left out: test.txt]")
            self.promise("an infected file is left out")
        left = sum("left out" in it for it in self.shown(friend))
        self.promise("each of them is counted", self.metric('channel_contents_total{result="left_out"}') == left)

    def gone(self) -> None:
        friend = self.platform.friend("Gone")
        self.send(friend, "image", None)
        self.send(friend, "image", png(20, 20), refusals=[410])
        self.send(friend, "video", MP4, transcoding=["failed"])
        self.send(friend, "file", PDF, name="bill.pdf", refusals=[403])
        self.write(friend, "did you get them?")
        self.expect(friend, "[image]", "[image]", "[video]", "[file: bill.pdf]", "did you get them?")
        reasons = [it["payload"].get("missing") for it in self.entries(friend)[:4]]
        self.promise(f"contents that LINE has not are lines, with the reason: {reasons}", reasons == [
            "LINE has deleted it.", "LINE has deleted it.", "LINE could not prepare it.", "LINE answered 403"])

    def cut(self) -> None:
        friend = self.platform.friend("Cut")
        data = PDF + secrets.token_bytes(400_000)
        self.send(friend, "file", data, "application/pdf", "cut.pdf", is_cut=True)
        self.expect(friend, "📎 cut.pdf")
        self.promise("a download that ends in its middle begins again, and the file is whole",
                     self.download(friend, self.entries(friend)[0]) == data)

    def many(self) -> None:
        friends = [self.platform.friend(f"Many {n}") for n in range(12)]
        before = self.resident()
        self.contents.most = 0
        for friend in friends:
            for _ in range(3):
                self.send(friend, "file", PDF + bytes(12 << 20), "application/pdf", "large.pdf", pause=0.01)
        peak, end = before, time.monotonic() + 180
        while any(len(self.shown(it)) < 3 for it in friends) and time.monotonic() < end:
            peak = max(peak, self.resident())
            time.sleep(0.5)
        self.promise("36 files of 12 MiB come", all(self.shown(it) == ["📎 large.pdf"] * 3 for it in friends))
        self.promise(f"{self.contents.most} at once, with {peak - before} MiB of memory",
                     self.contents.most == 16 and peak - before < 64)

    def resident(self) -> int:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) >> 10
        return 0

    def outage(self) -> None:
        friends = [self.platform.friend(f"Outage {n}") for n in range(2)]
        self.contents.is_down.set()
        expected = []
        for n in range(8):
            for friend in friends:
                self.send(friend, "file", PDF + f"{n}".encode() * 2000, "application/pdf", f"{n}.pdf")
                self.write(friend, f"text {n}")
            expected += [f"📎 {n}.pdf", f"text {n}"]
        time.sleep(12)
        self.promise("while contents are away, the persons' messages wait", all(self.shown(it) == [] for it in friends))
        self.promise("a metric says so", self.metric("channel_contents_waiting") > 0
                     and self.metric("channel_content_oldest_waiting_seconds") > 0)
        self.contents.is_down.clear()
        begin = time.monotonic()
        for friend in friends:
            self.expect(friend, *expected)
        self.promise(f"afterwards they come, in order: {time.monotonic() - begin:.1f} s")

    def late(self) -> None:
        friend = self.platform.friend("Late")
        self.contents.is_down.set()
        self.send(friend, "image", png(20, 20))
        self.write(friend, "still there?")
        self.until("three attempts", lambda: self.sql(
            "SELECT count(*) FROM channel_contents WHERE state = 'waiting' AND attempts >= 3") == "1")
        self.promise("the person's texts wait as long", self.shown(friend) == [])
        self.sql("UPDATE channel_events SET received_at = now() - interval '7201 seconds' WHERE processed_at IS NULL")
        self.expect(friend, "[image]", "still there?", limit=90)
        self.contents.is_down.clear()
        reason = self.entries(friend)[0]["payload"]["missing"]
        self.promise(f"after two hours it is given up, with the reason: {reason}",
                     reason == "It could not be fetched in time: LINE answered 503")

    def no_token(self) -> None:
        friend = self.platform.friend("No token")
        self.sql("DELETE FROM credentials WHERE name = 'channel_access_token'")
        self.send(friend, "image", png(20, 20))
        self.expect(friend, "[image]")
        self.promise("without an access token a picture is a line at once", self.entries(friend)[0]["payload"]["missing"]
                     == "No channel_access_token is stored for line.")
        self.request("PUT", f"{ADMIN}/credentials/line", {"name": "channel_access_token",
                                                          "secret": self.platform.token})

    def banned(self) -> None:
        friend = self.platform.friend("Banned")
        self.say(friend, "hello")
        self.sql(f"UPDATE visitors SET banned_at = now() WHERE external_id = '{friend.id}'")
        content = self.send(friend, "image", png(20, 20))
        self.until("the event is settled", lambda: self.sql(
            "SELECT result FROM channel_events ORDER BY seq DESC LIMIT 1") == "blocked")
        self.promise("nothing is fetched from a person whom the workspace has blocked", content.requests == 0
                     and self.shown(friend) == ["hello"])

    def killed(self) -> None:
        friends = [self.platform.friend(f"Torture {n}") for n in range(3)]
        expected: dict[str, list] = {it.id: [] for it in friends}

        def write(friend: Friend) -> None:
            for n in range(PICTURES // len(friends)):
                data = PDF + secrets.token_bytes(300_000)
                self.send(friend, "file", data, "application/pdf", f"{n}.pdf", pause=0.1)
                self.write(friend, f"text {n}")
                expected[friend.id] += [hashlib.sha256(data).hexdigest(), f"text {n}"]

        threads = [threading.Thread(target=write, args=(it,)) for it in friends]
        for thread in threads:
            thread.start()
        for n in range(KILLS):
            time.sleep(1.0 + n * 0.37)
            self.kill()
            self.start()
        for thread in threads:
            thread.join()
        self.until("all of it is in the log", lambda: self.sql(
            "SELECT count(*) FROM channel_events WHERE processed_at IS NULL") == "0", 180)
        for friend in friends:
            found = [hashlib.sha256(self.download(friend, it)).hexdigest() if it["kind"] == "file" else it["body"]
                     for it in self.entries(friend)]
            self.promise(f"{len(found)} messages, kill -9 {KILLS} times: none is lost, doubled, out of order or damaged",
                         found == expected[friend.id] and len(self.conversations(friend)) == 1)

    def two_gateways(self) -> None:
        """On one database and one folder: both fetch, and one of them is killed while it does."""
        def stored() -> list[int]:
            return [self.metric('channel_contents_total{result="stored"}', url) for url in urls]

        urls = [self.options.base_url, f"http://{self.options.other}"]
        with open(self.options.log, "ab") as log:
            other = subprocess.Popen(
                [self.options.chirrup, "serve", "--demo", "--listen", self.options.other, "--database-url",
                 self.options.database], stdout=log, stderr=log)
        try:
            self.until("the other one is ready", lambda: self.is_ready(urls[1]))
            friends = [self.platform.friend(f"Two {n}") for n in range(24)]
            before = stored()
            for is_killed in (False, True):
                files = {it.id: PDF + secrets.token_bytes(300_000) for it in friends}
                sent = [self.send(it, "file", files[it.id], "application/pdf", "two.pdf", pause=0.3) for it in friends]
                if is_killed:
                    self.until("downloads run", lambda: self.contents.running == 24, 20)
                    other.kill()
                for friend in friends:
                    self.expect(friend, *["📎 two.pdf"] * (1 + is_killed), limit=120)
                counts = [content.requests for content in sent]
                whole = all(self.download(it, self.entries(it)[-1]) == files[it.id] for it in friends)
                if is_killed:
                    self.promise(f"what the killed one was fetching, the other one fetches: {counts}",
                                 whole and set(counts) == {1, 2})
                else:
                    shares = [after - begin for begin, after in zip(before, stored())]
                    self.promise(f"two gateways share the work, {shares}, and fetch each file once: {counts}",
                                 whole and set(counts) == {1} and min(shares) > 0 and sum(shares) == len(friends))
        finally:
            other.kill()
            other.wait()

    def tidy(self) -> None:
        self.promise("no content is left to be fetched", self.sql("SELECT count(*) FROM channel_contents") == "0")
        self.sql("UPDATE chat_attachments SET removed_at = removed_at - interval '1 hour' WHERE state = 'removed'")
        os.kill(self.pid, signal.SIGTERM)
        if self.process:
            self.promise("the gateway stops with status 0", self.process.wait(60) == 0)
        self.start()
        self.until("the sweep ends", lambda: self.sql(
            "SELECT count(*) FROM chat_attachments WHERE state <> 'bound'") == "0")
        rows = set(self.sql("SELECT id || CASE WHEN has_thumbnail THEN ' t' ELSE '' END FROM chat_attachments").split("\n"))
        wanted = sum(2 if it.endswith(" t") else 1 for it in rows)
        folder = Path(self.options.files)
        stored = [it.name for it in folder.glob("stored/**/*") if it.is_file()]
        self.promise(f"{len(stored)} files are stored, for {len(rows)} rows", len(stored) == wanted and {
            it[:36] for it in stored} == {it[:36] for it in rows})
        parts = [it.name for it in folder.glob("uploads/*")]
        self.promise(f"no part of a file is left: {parts}", parts == [])
        os.kill(self.pid, signal.SIGTERM)
        self.promise("the gateway then stops with status 0", self.process.wait(60) == 0)
        self.process = None


if __name__ == "__main__":
    sys.exit(main(ContentRun, "files", "scanner", "other"))
