"""Attachments over HTTP: uploads in parts, messages, links and downloads, with hostile names, contents and callers.

Started by attachments.sh, which also starts attachments_storm.py.
"""

import argparse
import concurrent.futures
import http.client
import json
import os
import re
import random
import socket
import struct
import sys
import time
import urllib.parse
import uuid
import zlib

PART = 65_536
failures = 0


def promise(what, is_true=True, detail=""):
    global failures
    print(f"{'PASS' if is_true else 'FAIL'}  {what}{'' if is_true else f': {detail}'}", flush=True)
    failures += not is_true


def png(width, height, extra=b""):
    """A whole PNG image."""
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    rows = b"".join(b"\0" + random.randbytes(width * 3) for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"") + extra)


class Client:
    """One kept-alive connection."""

    def __init__(self, address, token=None):
        self.address, self.token, self.connection = address, token, None

    def ask(self, method, path, body=None, raw=None, headers=None):
        fields = {"Content-Type": "application/json" if raw is None else "application/octet-stream"}
        if self.token:
            fields["Authorization"] = "Bearer " + self.token
        fields.update(headers or {})
        data = raw if raw is not None else None if body is None else json.dumps(body)
        for attempt in (0, 1):
            if self.connection is None:
                self.connection = http.client.HTTPConnection(*self.address, timeout=60)
            try:
                self.connection.request(method, path, data, fields)
                answer = self.connection.getresponse()
                text = answer.read()
                break
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                self.connection = None
                if attempt:
                    raise
        if answer.will_close:
            self.connection = None
        self.headers = answer.headers
        is_json = "json" in (answer.headers["Content-Type"] or "")
        return answer.status, json.loads(text) if is_json and text else text


class Place:
    """A caller in a conversation: the base of its routes."""

    def __init__(self, client, base):
        self.client, self.base = client, base

    def ask(self, method, path, body=None, **more):
        return self.client.ask(method, self.base + path, body, **more)

    def begin(self, name, count, id=None, **more):
        return self.ask("POST", "/attachments", {"id": id or str(uuid.uuid4()), "name": name, "bytes": count, **more})

    def part(self, id, offset, data, **more):
        return self.ask("PUT", f"/attachments/{id}/parts/{offset}", raw=data, **more)

    def upload(self, name, data, **more):
        """The answer to the last part."""
        status, item = self.begin(name, len(data), **more)
        if status not in (200, 201):
            return status, item
        for offset in range(0, len(data), PART):
            status, item = self.part(item["id"], offset, data[offset:offset + PART])
            if status != 200:
                return status, item
        return status, item

    def say(self, ids, body=None, id=None):
        return self.ask("POST", "/messages", {"id": id or str(uuid.uuid4()), "attachments": ids, "body": body})

    def link(self, id):
        status, answer = self.ask("POST", "/attachments/links", {"ids": [id]})
        return answer["links"][0]["url"] if status == 200 and answer["links"] else None


class World:
    def __init__(self, options):
        host, port = options.url.removeprefix("http://").split(":")
        self.address = (host, int(port))
        self.operator_token = json.load(open(options.operator))["token"]
        self.key = re.search(r'data-workspace="(pk_[^"]+)"', open(options.log, errors="replace").read())[1]
        self.nobody = Client(self.address)

    def visitor(self):
        status, visit = Client(self.address).ask("POST", "/api/v1/widget/token", {"workspace": self.key})
        assert status == 200, visit
        place = Place(Client(self.address, visit["token"]), f"/api/v1/widget/sessions/{visit['session']}")
        place.session, place.token = visit["session"], visit["token"]
        return place

    def operator(self, session):
        return Place(Client(self.address, self.operator_token), f"/api/v1/admin/live-chat/conversations/{session}")


# MARK: The contract


def contract(world, only):
    visitor = world.visitor()
    desk = world.operator(visitor.session)
    for check in (uploads, resumes, messages, downloads, ranges, refusals, contents, names, strangers, forged, quotas,
                  slow_reader, sockets):
        if not only or check.__name__ in only:
            check(world, visitor, desk)


def uploads(world, visitor, desk):
    image = png(300, 200)
    status, item = visitor.begin("brake.png", len(image), type="image/png", alt="A brake")
    promise("an upload begins", status == 201 and item["received"] == 0 and item["part_bytes"] == PART
            and item["state"] == "uploading", (status, item))
    id = item["id"]
    status, again = visitor.begin("brake.png", len(image), id=id)
    promise("beginning it again gives its state", status == 200 and again["id"] == id, (status, again))
    status, answer = visitor.part(id, PART, image[PART:2 * PART])
    promise("a part out of order is refused and told where to go on",
            status == 409 and answer["type"].endswith("wrong_offset") and answer["received"] == 0, (status, answer))
    first = image[:PART]
    status, answer = visitor.part(id, 0, first)
    promise("a part is received", status == 200 and answer["received"] == len(first), (status, answer))
    status, answer = visitor.part(id, 0, first)
    promise("a repeated part changes nothing", status == 200 and answer["received"] == len(first), (status, answer))
    status, answer = visitor.say([id])
    promise("a message waits for the whole file", status == 409, (status, answer))
    for offset in range(PART, len(image), PART):
        status, answer = visitor.part(id, offset, image[offset:offset + PART])
    promise("the last part stores it, with type and size of the image",
            status == 200 and answer["state"] == "stored" and answer["type"] == "image/png"
            and (answer["width"], answer["height"]) == (300, 200) and answer["alt"] == "A brake", (status, answer))
    status, answer = visitor.part(id, 0, first)
    promise("a repeated part of a stored file changes nothing", status == 200 and answer["state"] == "stored", answer)
    status, _ = visitor.ask("DELETE", f"/attachments/{id}")
    gone, _ = visitor.ask("GET", f"/attachments/{id}")
    promise("a file that is in no message can be removed", (status, gone) == (204, 404), (status, gone))


def resumes(world, visitor, desk):
    data = b"a line of text\n" * 20_000
    _, item = visitor.begin("notes.txt", len(data))
    visitor.part(item["id"], 0, data[:PART])
    other = Place(Client(world.address, visitor.token), visitor.base)
    status, state = other.ask("GET", f"/attachments/{item['id']}")
    promise("another connection resumes where the first one ended", status == 200 and state["received"] == PART, state)
    for offset in range(state["received"], len(data), PART):
        status, state = other.part(item["id"], offset, data[offset:offset + PART])
    promise("and completes it", status == 200 and state["state"] == "stored" and state["type"] == "text/plain", state)
    status, state = other.part(item["id"], len(data), b"")
    promise("an empty part at the end asks for the last step", status == 200 and state["state"] == "stored", state)


def messages(world, visitor, desk):
    image, text = png(20, 10), b"hello\n" * 100
    ids = [visitor.upload("one.png", image)[1]["id"], visitor.upload("two.txt", text)[1]["id"]]
    message = str(uuid.uuid4())
    status, answer = visitor.say(ids, id=message)
    promise("a message with two attachments is committed", status == 201 and answer["seq"] > 0, (status, answer))
    status, again = visitor.say(ids, id=message)
    promise("sending it again stores nothing", status == 200 and again["seq"] == answer["seq"], (status, again))
    status, answer = visitor.say(ids)
    promise("an attachment is in one message only", status == 409, (status, answer))
    status, answer = visitor.ask("DELETE", f"/attachments/{ids[0]}")
    promise("an attachment of a message cannot be cancelled", status == 409, (status, answer))
    _, page = desk.ask("GET", "/messages")
    entry = page["messages"][-1]
    promise("the operator reads it", entry["kind"] == "file" and entry["body"] == "📎 one.png, two.txt"
            and [a["name"] for a in entry["payload"]["attachments"]] == ["one.png", "two.txt"]
            and entry["payload"]["attachments"][0]["width"] == 20 and entry["payload"]["caption"] is False, entry)
    _, shown = desk.ask("GET", "")
    promise("the list's preview has words", shown["conversation"]["last_message"]["preview"] == "📎 one.png, two.txt",
            shown)
    id = desk.upload("answer.pdf", b"%PDF-1.7\n" + b"x" * 1000)[1]["id"]
    status, answer = desk.say([id], body="Here it is")
    _, page = desk.ask("GET", "/messages")
    entry = next(m for m in reversed(page["messages"]) if m["kind"] == "file")
    promise("the operator answers with a file and a caption", status == 201 and entry["body"] == "Here it is"
            and entry["payload"]["caption"] is True and entry["sender"]["kind"] == "operator", entry)
    promise("the visitor gets a link to it", visitor.link(id) is not None)
    status, text = visitor.ask("GET", "/transcript")
    promise("the transcript names the files", b"one.png" in text and b"answer.pdf" in text, text)


def downloads(world, visitor, desk):
    image = png(400, 300)
    id = visitor.upload("picture.png", image)[1]["id"]
    visitor.say([id])
    url = desk.link(id)
    status, data = world.nobody.ask("GET", url)
    fields = world.nobody.headers
    promise("a link needs no login, and the bytes are the same", status == 200 and data == image, (status, len(data)))
    promise("a raster image is shown, in a sandbox", fields["Content-Disposition"].startswith("inline;")
            and fields["Content-Type"] == "image/png" and fields["X-Content-Type-Options"] == "nosniff"
            and fields["Content-Security-Policy"] == "sandbox; default-src 'none'"
            and fields["Cross-Origin-Resource-Policy"] == "cross-origin"
            and fields["Cache-Control"].startswith("private"), dict(fields))
    status, data = world.nobody.ask("HEAD", url)
    promise("HEAD has the length and no body", status == 200 and data == b""
            and world.nobody.headers["Content-Length"] == str(len(image)), (status, data))
    status, _ = world.nobody.ask("GET", url, headers={"If-None-Match": fields["ETag"]})
    promise("a known file is not sent again", status == 304, status)
    large = random.randbytes(3_000_000)
    id = visitor.upload("large.zip", b"PK\x03\x04" + large)[1]["id"]
    visitor.say([id])
    status, data = world.nobody.ask("GET", visitor.link(id))
    promise("a file of many pieces comes whole", data == b"PK\x03\x04" + large, (status, len(data)))
    promise("other files are downloads", world.nobody.headers["Content-Disposition"].startswith("attachment;"))


def ranges(world, visitor, desk):
    data = bytes(range(1, 127)) * 4000
    data = b"%PDF-1.7 " + data
    id = visitor.upload("range.pdf", data)[1]["id"]
    visitor.say([id])
    url, size = visitor.link(id), len(data)
    for field, status, part in (
            ("bytes=0-9", 206, data[:10]), ("bytes=-10", 206, data[-10:]), (f"bytes={size - 1}-", 206, data[-1:]),
            ("bytes=100000-300000", 206, data[100000:300001]), ("bytes=5-99999999999999999999999", 206, data[5:]),
            (f"bytes={size}-", 416, None), ("bytes=-0", 416, None), ("bytes=9-5", 200, data), ("bytes=a-b", 200, data),
            ("bytes=0-1,3-4", 200, data), ("lines=0-9", 200, data), ("bytes=-", 200, data)):
        found, got = world.nobody.ask("GET", url, headers={"Range": field})
        promise(f"Range: {field} gives {status}", found == status and (part is None or got == part), (found, len(got)))
    found, got = world.nobody.ask("GET", url, headers={"Range": "bytes=0-9", "If-Range": '"another"'})
    promise("If-Range with another tag gives the whole file", found == 200 and got == data, found)


def refusals(world, visitor, desk):
    for name, count, want in (("a.exe", 10, 422), ("a.png", 200 << 20, 400), ("a.png", 30 << 20, 413),
                              ("a.png", 0, 400), ("a.png", -1, 400)):
        status, answer = visitor.begin(name, count)
        promise(f"{name} of {count} bytes is refused before any byte ({want})", status == want, (status, answer))
    _, item = visitor.begin("a.txt", 10)
    for offset, data, want in ((0, b"12345678901", 409), (-1, b"1", 400), (5, b"1", 409), (0, b"", 400),
                               ("99999999999999999999", b"1", 400)):
        status, answer = visitor.part(item["id"], offset, data)
        promise(f"a part at {offset} of {len(data)} bytes is refused ({want})", status == want, (status, answer))
    status, answer = visitor.part(item["id"], 0, b"1", headers={"Content-Type": "text/plain"})
    promise("a part of another media type is refused", status == 415, (status, answer))
    visitor.ask("DELETE", f"/attachments/{item['id']}")
    status, answer = visitor.part(item["id"], 0, b"1234567890")
    promise("a cancelled upload takes no part", status == 404, (status, answer))


def contents(world, visitor, desk):
    """What is not what its name says, and what a browser would run."""
    page = b"<!doctype html><script>alert(1)</script>"
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'
    gif = b"GIF89a" + b"/*" + b"\0" * 20 + b"*/=1;alert(1)//<script>alert(1)</script>"
    rest = b"\0" * 60
    for name, data, want in (("photo.png", page, 422), ("photo.jpg", svg, 422), ("program.txt", b"\x7fELF" + rest, 422),
                             ("no-name", b"MZ\0\0" + rest, 422), ("x.pdf", b"PK\x03\x04" + rest, 422),
                             ("page.html", page, 200), ("drawing.svg", svg, 200), ("bare", page, 200),
                             ("poly.gif", gif, 200)):
        status, item = visitor.upload(name, data)
        promise(f"{name}: {want}", status == want, (status, item))
        if status != 200:
            continue
        visitor.say([item["id"]])
        status, got = world.nobody.ask("GET", visitor.link(item["id"]))
        fields = world.nobody.headers
        is_safe = fields["Content-Security-Policy"] == "sandbox; default-src 'none'" and \
            fields["X-Content-Type-Options"] == "nosniff"
        if name == "poly.gif":
            promise("an image that is also a script has the type of an image", fields["Content-Type"] == "image/gif"
                    and is_safe, dict(fields))
        else:
            is_download = fields["Content-Disposition"].startswith("attachment;") and got == data
            promise(f"{name} is a download without a type",
                    fields["Content-Type"] == "application/octet-stream" and is_download and is_safe, dict(fields))


def names(world, visitor, desk):
    for sent, kept in (("../../etc/passwd.txt", "passwd.txt"), ("C:\\windows\\a.txt", "a.txt"), ("..", "file"),
                       ("a\r\nSet-Cookie: x=1.txt", "a  Set-Cookie: x=1.txt"), ('quo"te\'s.txt', 'quo"te\'s.txt'),
                       ("photo\u202egnp.txt", "photognp.txt"), ("  .txt. ", ".txt"), ("смета 💶.txt", "смета 💶.txt"),
                       ("a/b/", "b"), ("x" * 300 + ".txt", "x" * 156 + ".txt")):
        status, item = visitor.upload(sent, b"text of a file")
        promise(f"the name {sent[:40]!r} becomes {kept[:40]!r}", status == 200 and item["name"] == kept, (status, item))
        url = visitor.link(item["id"])
        status, _ = world.nobody.ask("GET", url)
        value = world.nobody.headers["Content-Disposition"]
        encoded = urllib.parse.quote(kept, safe="._~-")
        promise("and is encoded in its header", status == 200 and value.endswith(f"filename*=UTF-8''{encoded}")
                and value.count('"') == 2 and world.nobody.headers["Set-Cookie"] is None, value)
        visitor.ask("DELETE", f"/attachments/{item['id']}")


def strangers(world, visitor, desk):
    """Other visitors, and conversations that are not theirs."""
    id = visitor.upload("mine.txt", b"mine and nobody else's")[1]["id"]
    other = world.visitor()
    intruder = Place(other.client, visitor.base)
    for what, (status, answer) in {
            "reads its state": intruder.ask("GET", f"/attachments/{id}"),
            "reads its state below their own conversation": other.ask("GET", f"/attachments/{id}"),
            "sends a part of it": other.part(id, 0, b"x"),
            "cancels it": other.ask("DELETE", f"/attachments/{id}"),
            "begins in the conversation": intruder.begin("a.txt", 5),
            "writes in the conversation": intruder.say([id])}.items():
        promise(f"no other visitor {what}", status == 404, (status, answer))
    status, answer = other.say([id])
    promise("no other visitor sends it", status == 409, (status, answer))
    promise("no other visitor gets a link to it", other.link(id) is None)
    status, answer = desk.say([id])
    promise("no operator sends what a visitor has uploaded", status == 409, (status, answer))
    status, answer = visitor.client.ask("POST", desk.base + "/attachments", {"id": id, "name": "a", "bytes": 1})
    promise("a visitor has no routes of operators", status == 403, (status, answer))
    status, answer = world.nobody.ask("POST", visitor.base + "/attachments", {"id": id, "name": "a", "bytes": 1})
    promise("nobody uploads without a token", status == 401, (status, answer))
    visitor.ask("DELETE", f"/attachments/{id}")


def forged(world, visitor, desk):
    id = visitor.upload("secret.txt", b"the secret of a file")[1]["id"]
    visitor.say([id])
    url = visitor.link(id)
    later = re.sub(r"expires=(\d+)", lambda m: f"expires={int(m[1]) + 3600}", url)
    for what, forgery in {
            "a later end": later, "no signature": url.split("&signature")[0],
            "another id": url.replace(id, str(uuid.uuid4())),
            "a cut signature": url[:-4], "a thumbnail": url + "&thumbnail=1", "no query": url.split("?")[0],
            "another workspace": re.sub("workspace=[^&]+", f"workspace={uuid.uuid4()}", url)}.items():
        status, _ = world.nobody.ask("GET", forgery)
        promise(f"a link with {what} is refused", status == 403, status)
    visitor.client.connection = None


def quotas(world, visitor, desk):
    loud = world.visitor()
    begun = [loud.begin("a.txt", 1000) for _ in range(25)]
    taken = [answer["id"] for status, answer in begun if status == 201]
    promise("a visitor has at most 20 files that are in no message", len(taken) == 20
            and begun[-1][0] == 429 and begun[-1][1]["limit"] == "uploads", begun[-1])
    loud.ask("DELETE", f"/attachments/{taken[0]}")
    promise("a cancelled one makes room", loud.begin("a.txt", 1000)[0] == 201)
    change = world.operator(visitor.session).client
    _, usage = change.ask("GET", "/api/v1/admin/attachments/usage")
    total = usage["bytes"] + 5_000_000
    status, settings = change.ask("PATCH", "/api/v1/admin/settings",
                                  {"settings": {"attachments": {"total_bytes": total, "types": ["text"]}}})
    promise("the settings have a total", status == 200 and settings["settings"]["attachments"]["total_bytes"] == total,
            settings)
    status, answer = visitor.begin("a.png", 1000)
    promise("a type that the workspace does not allow is refused before any byte", status == 422, (status, answer))
    people = [world.visitor() for _ in range(20)]
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda place: place.begin("a.txt", 1_000_000), people))
    statuses = sorted(status for status, _ in answers)
    promise("twenty uploads that begin at once get five times a fifth of the rest", statuses == [201] * 5 + [409] * 15,
            statuses)
    _, usage = change.ask("GET", "/api/v1/admin/attachments/usage")
    promise("the usage is the total", usage["bytes"] == total, (usage, total))
    change.ask("PATCH", "/api/v1/admin/settings", {"settings": {"attachments": {"enabled": False}}})
    status, answer = visitor.begin("a.txt", 1000)
    promise("attachments can be turned off", status == 403, (status, answer))
    _, config = world.nobody.ask("GET", f"/api/v1/widget/config?workspace={world.key}")
    promise("the widget is told so", config["attachments"]["enabled"] is False, config["attachments"])
    change.ask("PATCH", "/api/v1/admin/settings", {"settings": {"attachments": None}})
    for place, (status, answer) in zip(people, answers):
        if status == 201:
            place.ask("DELETE", f"/attachments/{answer['id']}")


def slow_reader(world, visitor, desk):
    """A client that reads nothing costs two pieces, and blocks nobody."""
    data = b"%PDF-1.7 " + random.randbytes(12_000_000)
    id = visitor.upload("slow.pdf", data)[1]["id"]
    visitor.say([id])
    url = visitor.link(id)
    readers = []
    before = resident(world)
    for _ in range(40):
        reader = socket.create_connection(world.address)
        reader.sendall(f"GET {url} HTTP/1.1\r\nHost: {world.address[0]}:{world.address[1]}\r\n\r\n".encode())
        readers.append(reader)
    time.sleep(2)
    grown = resident(world) - before
    promise("40 clients that do not read a file of 12 MB cost less than 20 MB", grown < 20_000_000, grown)
    begin = time.monotonic()
    status, got = world.nobody.ask("GET", url)
    promise("others download beside them", status == 200 and got == data and time.monotonic() - begin < 20, status)
    first = readers[0]
    first.settimeout(30)
    got = b""
    while len(got) < len(data):
        piece = first.recv(1 << 20)
        if not piece:
            break
        got += piece
    promise("one that reads after all gets everything", got.split(b"\r\n\r\n", 1)[1][:len(data)][:1000] == data[:1000]
            and len(got) >= len(data), len(got))
    for reader in readers:
        reader.close()


def resident(world):
    _, text = world.nobody.ask("GET", "/metrics")
    return int(float(re.search(rb"^process_resident_memory_bytes (\S+)", text, re.M)[1]))


def sockets(world, visitor, desk):
    """Only the gateway makes messages of the kind file."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Conformance"))
    from harness.chat import Chat
    from harness.peer import Peer
    forgery = {"attachments": [{"id": str(uuid.uuid4()), "name": "x.png", "type": "image/png", "bytes": 1}]}
    for who, token in (("visitor", visitor.token), ("operator", world.operator_token)):
        chat = Chat(Peer(world.address))
        chat.peer.upgrade("/api/v1/ws", [("Sec-WebSocket-Protocol", "chirrup.v1")])
        chat.hello(token, visitor.session, tail=0)
        chat.say(type="send", ref="f", session=visitor.session, id=str(uuid.uuid4()), kind="file", body="x",
                 payload=forgery)
        answer = chat.until("error", ref="f")
        promise(f"the socket of a {who} refuses the kind file", answer["code"] == "rejected", answer)
    status, answer = desk.ask("POST", "/messages", {"kind": "file", "body": "x", "payload": forgery})
    promise("REST refuses the kind file", status == 400, (status, answer))


def main():
    parser = argparse.ArgumentParser()
    for name in ("url", "operator", "log"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--only", nargs="*", help="functions of the contract")
    options = parser.parse_args()
    contract(World(options), options.only)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
