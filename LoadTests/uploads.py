"""What uploads of files cost: 1,000 at once, and the chat beside a link that is full of them. Started by uploads.sh.

`storm`: 100 visitors begin ten uploads each, of MIB each; when all have begun, their parts come in turns. Prints the
gateway's memory, its processor time for each GiB, and the rate.
`chat`: rounds of chirrup-load, alone and beside uploads of RATE MB/s; prints the p99 of acks of each, and their ratio.
`link`: sends uploads of RATE MB/s until it is stopped; 0: as many as there is time for.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "Tests/EndToEnd"))
from attachments_test import PART, Client, Place, World  # noqa: E402

DATA = b"PK\x03\x04" + bytes(range(256)) * 256
BURST = 0.02  # s; the parts of a link come in such steps


def field(pid: int, name: str) -> int:
    """A line of /proc/PID/status in KiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name + ":"))


def processor_seconds(pid: int) -> float:
    times = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")


def begin(place: Place, mib: float) -> tuple[str, int]:
    count = int(mib * (1 << 20))
    while True:
        status, item = place.begin("archive.zip", count)
        if status == 201:
            return item["id"], count
        assert status in (429, 503), (status, item)
        time.sleep(0.2)


def part(place: Place, upload: str, offset: int, count: int) -> int:
    """Sends the next part; what was received then."""
    data = DATA[:min(PART, count - offset)]
    while True:
        status, answer = place.part(upload, offset, data)
        if status == 200:
            return answer["received"]
        assert status in (409, 429, 503), (status, answer)
        time.sleep(0.2)


def people(world: World, count: int) -> list[Place]:
    found = []
    for _ in range(count):
        place = world.visitor()
        place.client = Client(world.address, place.token)
        found.append(place)
    return found


def storm(world: World, options) -> bool:
    places = people(world, 100)
    before, peak = field(options.gateway, "VmRSS"), 0
    began = threading.Barrier(len(places) + 1)

    def upload(place: Place) -> None:
        files = [begin(place, options.mib) for _ in range(10)]
        began.wait()
        offsets = dict.fromkeys((it for it, _ in files), 0)
        while any(offsets[it] < count for it, count in files):
            for it, count in files:
                if offsets[it] < count:
                    offsets[it] = part(place, it, offsets[it], count)

    threads = [threading.Thread(target=upload, args=(it,)) for it in places]
    for thread in threads:
        thread.start()
    began.wait()
    seconds, start = processor_seconds(options.gateway), time.monotonic()
    while any(it.is_alive() for it in threads):
        peak = max(peak, field(options.gateway, "VmRSS"))
        time.sleep(0.05)
    took, used = time.monotonic() - start, processor_seconds(options.gateway) - seconds
    gib = 1_000 * options.mib / 1_024
    kib = max(0, peak - before)
    print(f"1,000 uploads of {options.mib:g} MiB at once: {gib * 1_024 / took:.0f} MiB/s; the gateway's memory grew by "
          f"{kib / 1_024:.1f} MiB ({kib / 1_000:.0f} KiB an upload), its processor time is {used / gib:.1f} s a GiB")
    return kib / 1_000 < 64


def link(world: World, options) -> None:
    """Four visitors, each with one upload after the other."""
    lock, sent, began = threading.Lock(), [0], time.monotonic()

    def upload(place: Place) -> None:
        while True:
            file, count = begin(place, options.mib)
            offset = 0
            while offset < count:
                while options.rate and sent[0] > options.rate * 1e6 * (time.monotonic() - began):
                    time.sleep(BURST)
                received = part(place, file, offset, count)
                with lock:
                    sent[0] += received - offset
                offset = received
            place.ask("DELETE", f"/attachments/{file}")

    for place in people(world, 4):
        threading.Thread(target=upload, args=(place,), daemon=True).start()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    print(f"{sent[0] / 1e6 / (time.monotonic() - began):.1f}", flush=True)
    os._exit(0)


def chat(options) -> bool:
    def p99() -> float:
        output = options.folder / "chat.json"
        # It fails if a message is lost, doubled or out of order.
        subprocess.run([options.load, "chat", "--url", options.socket, "--database-url", options.database,
                        "--chirrup", options.chirrup, "--visitors", "100", "--operators", "20", "--rate", "200",
                        "--seconds", str(options.seconds), "--json", output], check=True, stdout=subprocess.DEVNULL)
        return json.loads(output.read_text())["figures"]["ack_p99_ms"]

    def beside() -> tuple[float, float]:
        names = ("url", "operator", "log", "rate", "mib", "gateway")
        flags = [f"--{name}={getattr(options, name)}" for name in names]
        uploads = subprocess.Popen([sys.executable, __file__, "link", *flags], stdout=subprocess.PIPE, text=True)
        time.sleep(2)
        found = p99()
        uploads.terminate()
        return found, float(uploads.communicate(timeout=60)[0])

    ratios = []
    for number in range(options.rounds):
        alone = p99()
        full, rate = beside()
        ratios.append(full / alone)
        print(f"round {number + 1}: p99 of acks {alone:.2f} ms alone, {full:.2f} ms beside {rate:.1f} MB/s of uploads: "
              f"{full / alone:.2f} ×", flush=True)
    print(f"median {statistics.median(ratios):.2f} × ({min(ratios):.2f} to {max(ratios):.2f})")
    return statistics.median(ratios) <= options.limit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("storm", "chat", "link"))
    for name in ("url", "operator", "log"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--gateway", type=int, required=True, help="the process")
    parser.add_argument("--mib", type=float, default=1)
    parser.add_argument("--rate", type=float, default=12.5, help="MB/s of the link")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--limit", type=float, default=1.5)
    parser.add_argument("--load")
    parser.add_argument("--chirrup")
    parser.add_argument("--socket")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--database")
    options = parser.parse_args()
    if options.what == "link":
        # Before there are threads, which would get the signal otherwise.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
        link(World(options), options)
    holds = chat(options) if options.what == "chat" else storm(World(options), options)
    sys.exit(0 if holds else 1)


main()
