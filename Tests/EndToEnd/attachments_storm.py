"""A thousand uploads at once, beside each other, with a kill in the middle.

Started by attachments.sh. `storm` begins them and goes on until it kills the gateway; `resume` finishes them at the
next gateway and compares every acknowledged file by its SHA-256.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import random
import sys
import threading
import time
import uuid

import attachments_test as run
from attachments_test import PART, Client, Place, World


def identifier(seed):
    """The same id for the same seed: the second program goes on with those of the first."""
    return str(uuid.UUID(int=random.Random(seed).getrandbits(128), version=4))


class Upload:
    def __init__(self, place, number, seed):
        size = random.Random(seed).randrange(1_000, 200_000)
        self.place, self.number, self.id = place, number, identifier(seed + 1)
        self.data = b"PK\x03\x04" + random.Random(seed).randbytes(size)
        self.sha = hashlib.sha256(self.data).hexdigest()
        self.offset, self.is_stored = 0, False

    def begin(self):
        status, answer = self.place.begin(f"{self.number}.zip", len(self.data), id=self.id)
        if status in (200, 201):
            self.offset, self.is_stored = answer["received"], answer["state"] != "uploading"
        return status

    def step(self):
        """The next part. Returns whether something is left."""
        status, answer = self.place.part(self.id, self.offset, self.data[self.offset:self.offset + PART])
        if status == 200:
            self.offset, self.is_stored = answer["received"], answer["state"] != "uploading"
        elif status == 409 and "received" in answer:
            self.offset = min(answer["received"], (len(self.data) - 1) // PART * PART)
        elif status in (409, 429, 503):
            time.sleep(0.2)
        else:
            raise AssertionError(f"{status} {answer}")
        return not self.is_stored


class Storm:
    """A hundred visitors with ten files each, two messages of five files for each visitor."""

    def __init__(self, world, options, visits=None):
        self.world, self.options = world, options
        self.visits = visits or [{"token": p.token, "session": p.session} for p in
                                 (world.visitor() for _ in range(options.visitors))]
        self.people = []
        for number, visit in enumerate(self.visits):
            place = Place(None, f"/api/v1/widget/sessions/{visit['session']}")
            place.token, place.session, place.number = visit["token"], visit["session"], number
            place.files = [Upload(place, number * 10 + n, options.seed + number * 10 + n) for n in range(10)]
            place.messages = [identifier(f"{options.seed} {number} {n}") for n in range(2)]
            self.people.append(place)
        self.lock = threading.Lock()
        self.acknowledged = {}
        self.parts = 0

    def person(self, place):
        """One visitor: all uploads begin, then their parts come in turns, then the messages."""
        place.client = Client(self.world.address, place.token)
        for file in place.files:
            while file.begin() not in (200, 201):
                time.sleep(0.2)
        self.barrier.wait()
        left = [file for file in place.files if not file.is_stored]
        order = random.Random(place.number)
        while left:
            file = order.choice(left)
            if not file.step():
                left.remove(file)
            with self.lock:
                self.parts += 1
            self.send(place)
        self.send(place)

    def send(self, place):
        """Messages whose files are all stored."""
        for n, message in enumerate(place.messages):
            files = place.files[5 * n:5 * n + 5]
            if message in self.acknowledged or not all(file.is_stored for file in files):
                continue
            for _ in range(20):
                status, answer = place.say([file.id for file in files], id=message)
                if status in (200, 201):
                    with self.lock:
                        self.acknowledged[message] = {"session": place.session, "seq": answer["seq"],
                                                      "files": {file.id: file.sha for file in files}}
                    break
                if status not in (429, 503):
                    raise AssertionError(f"{status} {answer}")
                time.sleep(0.5)

    def run(self):
        """Returns the errors by which visitors ended."""
        self.barrier = threading.Barrier(len(self.people))
        errors = []

        def live(place):
            try:
                self.person(place)
            except Exception as error:
                self.barrier.abort()
                errors.append(f"{type(error).__name__}: {error}")

        threads = [threading.Thread(target=live, args=(place,)) for place in self.people]
        for thread in threads:
            thread.start()
        return threads, errors


def storm(world, options):
    storm = Storm(world, options)
    threads, errors = storm.run()
    deadline = time.monotonic() + 300
    while storm.parts < options.kill_after and time.monotonic() < deadline and any(t.is_alive() for t in threads):
        time.sleep(0.02)
    os.kill(options.gateway, 9)
    for thread in threads:
        thread.join(60)
    stored = sum(file.is_stored for place in storm.people for file in place.files)
    acknowledged = len(storm.acknowledged)
    run.promise(f"killed after {storm.parts} parts: {stored} files stored, {acknowledged} messages acknowledged",
                0 < len(storm.acknowledged) < 2 * options.visitors, errors[:3])
    json.dump({"visits": storm.visits, "acknowledged": storm.acknowledged,
               "stored": {f.id: f.sha for p in storm.people for f in p.files if f.is_stored}},
              open(options.state, "w"))


def resume(world, options):
    state = json.load(open(options.state))
    storm = Storm(world, options, state["visits"])
    lost = []
    for place in storm.people:
        place.client = Client(world.address, place.token)
        for file in place.files:
            if file.id in state["stored"]:
                status, answer = place.ask("GET", f"/attachments/{file.id}")
                if status != 200 or answer["state"] not in ("stored", "bound"):
                    lost.append((file.id, status, answer))
    run.promise(f"{len(state['stored'])} files that were acknowledged as stored are stored", not lost, lost[:3])
    compare(world, storm, state["acknowledged"], "acknowledged before the kill")
    begin = time.monotonic()
    threads, errors = storm.run()
    for thread in threads:
        thread.join(300)
    run.promise(f"all uploads go on and all messages are sent, in {time.monotonic() - begin:.1f} s",
            not errors and len(storm.acknowledged) == 2 * options.visitors, errors[:3])
    compare(world, storm, storm.acknowledged, "in the end")
    same = all(storm.acknowledged[id]["seq"] == item["seq"] for id, item in state["acknowledged"].items()
               if id in storm.acknowledged)
    run.promise("messages of before the kill kept their numbers", same)
    # Left behind, for the sweep: an upload that never ends, and a stored file that is in no message.
    visitor = world.visitor()
    _, item = visitor.begin("never.txt", 1000)
    visitor.part(item["id"], 0, b"x" * 500)
    visitor.upload("unsent.txt", b"nobody sends this")


def compare(world, storm, acknowledged, when):
    places = {place.session: place for place in storm.people}
    wrong = []

    def check(message):
        item = acknowledged[message]
        place = places[item["session"]]
        mine = Place(Client(world.address, place.token), place.base)
        status, answer = mine.ask("POST", "/attachments/links", {"ids": list(item["files"])})
        links = {link["id"]: link["url"] for link in answer["links"]} if status == 200 else {}
        reader = Client(world.address)
        for id, sha in item["files"].items():
            status, data = reader.ask("GET", links[id]) if id in links else (None, b"")
            if hashlib.sha256(data).hexdigest() != sha:
                wrong.append((message, id, status, len(data)))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(check, acknowledged))
    run.promise(f"all files of {len(acknowledged)} messages {when} are the same by SHA-256", not wrong, wrong[:3])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=("storm", "resume"))
    for name in ("url", "operator", "log", "state"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--gateway", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--visitors", type=int, default=100)
    parser.add_argument("--kill-after", type=int, default=1000)
    options = parser.parse_args()
    {"storm": storm, "resume": resume}[options.part](World(options), options)
    sys.exit(run.failures > 0)


if __name__ == "__main__":
    main()
