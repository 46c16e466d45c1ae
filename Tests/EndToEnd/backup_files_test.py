"""Files of messages before a backup and after a restore. Started by backup_files.sh.

backup_files_test.py send: sends messages with files, and adds each file's SHA-256 to the state.
backup_files_test.py fetch: downloads each file of the state through a new link, and compares.
backup_files_test.py visitor: prints the id of the visitor who has sent the first file.
backup_files_test.py exported: compares the folder of `chirrup visitor export --files` with the files of that visitor.
"""

import argparse
import hashlib
import json
import os
import random
import re
import sys
import urllib.parse

from attachments_test import World, png


def load(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def download(world, session, id):
    link = world.operator(session).link(id)
    assert link, f"no link for {id}"
    path = urllib.parse.urlsplit(link)
    status, data = world.nobody.ask("GET", f"{path.path}?{path.query}")
    assert status == 200, (status, id)
    return data


def send(world, state, count, size):
    sent = load(state)
    visitor = world.visitor()
    for number in range(count):
        # Every fourth is an image.
        data = png(80, 60) if number % 4 == 0 else b"%PDF-1.7\n" + random.randbytes(size + number)
        status, item = visitor.upload(f"file {number}.{'png' if number % 4 == 0 else 'pdf'}", data)
        assert status == 200, (status, item)
        status, answer = visitor.say([item["id"]])
        assert status in (200, 201), (status, answer)
        # The gateway encodes images again, so they are compared with its own download.
        stored = download(world, visitor.session, item["id"])
        assert stored == data or number % 4 == 0, f"file {number} was changed"
        digest = hashlib.sha256(stored).hexdigest()
        sent.append({"session": visitor.session, "id": item["id"], "sha256": digest, "bytes": len(stored)})
        with open(state + ".new", "w", encoding="utf-8") as file:
            json.dump(sent, file)
        os.replace(state + ".new", state)


def fetch(world, state):
    sent = load(state)
    assert len(sent) >= 30, f"{len(sent)} files prove nothing"
    for item in sent:
        data = download(world, item["session"], item["id"])
        assert len(data) == item["bytes"] and hashlib.sha256(data).hexdigest() == item["sha256"], item
    print(f"{len(sent)} files have their bytes")


def first_conversation(state):
    return load(state)[0]["session"]


def visitor(world, state):
    status, answer = world.operator(first_conversation(state)).ask("GET", "")
    assert status == 200, answer
    print(answer["conversation"]["visitor"]["id"])


def exported(state, folder, path):
    session = first_conversation(state)
    sent = {item["id"]: item["sha256"] for item in load(state) if item["session"] == session}
    others = len(load(state)) - len(sent)
    assert sent and others, "there must be files of two visitors"
    # A name is the id of the file, a hyphen, and the file's name without blanks.
    written = {}
    for name in os.listdir(folder):
        assert re.fullmatch(r"[0-9a-f-]{36}-file_\d+\.(png|pdf)", name), name
        with open(os.path.join(folder, name), "rb") as file:
            written[name[:36]] = hashlib.sha256(file.read()).hexdigest()
    assert written == sent, (len(written), len(sent))
    with open(path, encoding="utf-8") as file:
        text = file.read()
    json.loads(text)
    missing = [id for id in sent if id not in text]
    assert not missing, missing


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=["send", "fetch", "visitor", "exported"])
    for name in ("url", "operator", "log", "state"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--bytes", type=int, default=0)
    parser.add_argument("--folder")
    parser.add_argument("--object")
    options = parser.parse_args()
    world = World(options)
    if options.way == "send":
        send(world, options.state, options.count, options.bytes)
    elif options.way == "fetch":
        fetch(world, options.state)
    elif options.way == "visitor":
        visitor(world, options.state)
    else:
        exported(options.state, options.folder, options.object)


if __name__ == "__main__":
    sys.exit(main())
