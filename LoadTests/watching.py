"""Visitors who only watch: each sends its visit once, then heartbeats at the pace that the gateway gives.

Started by watching.sh. Each beacon has a connection of its own, which is the worst case: browsers close an idle one
between two heartbeats. The cost is utime + stime of the gateway (proc(5)), without that of PostgreSQL and of this
process.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import time
from urllib.parse import urlsplit

TICKS = os.sysconf("SC_CLK_TCK")
IDLE_SECONDS = 10


class Site:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        where = urlsplit(options.url)
        self.host, self.port = where.hostname, where.port
        self.pace = 10
        self.sent = 0
        self.refused: list[str] = []
        self.latencies: list[float] = []

    async def beacon(self, number: int, full: bool) -> None:
        body = {"workspace": self.options.key, "secret": f"visitor-{number:08}-{'x' * 12}", "tab": "a", "state": "here"}
        if full:
            body["visit"] = {"age": 5, "pages": 1, "visits": 1, "referrer": "https://search.example/",
                             "trail": [{"page": f"https://shop.example/item/{number % 97}", "title": "A shop", "age": 5}]}
        data = json.dumps(body)
        begin = time.monotonic()
        reader, writer = await asyncio.open_connection(self.host, self.port)
        writer.write((f"POST /api/v1/widget/visit HTTP/1.1\r\nHost: {self.host}\r\nOrigin: https://shop.example\r\n"
                      "Accept-Language: de-CH,de;q=0.9\r\nUser-Agent: Mozilla/5.0\r\nContent-Type: text/plain\r\n"
                      f"Connection: close\r\nContent-Length: {len(data)}\r\n\r\n{data}").encode())
        answer = await reader.read()
        writer.close()
        self.sent += 1
        self.latencies.append(time.monotonic() - begin)
        head, _, text = answer.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            self.refused.append(head.split(b"\r\n")[0].decode() + text.decode()[:200])
            return
        given = json.loads(text)
        self.pace = given["next_seconds"]
        if given.get("needs_visit") and not full:
            await self.beacon(number, True)

    async def arrive(self) -> None:
        """Fifty visitors at a time."""
        waiting = asyncio.Semaphore(50)

        async def one(number: int) -> None:
            async with waiting:
                await self.beacon(number, True)

        await asyncio.gather(*(one(number) for number in range(self.options.visitors)))

    async def stay(self, number: int) -> None:
        await asyncio.sleep(random.random() * self.pace)
        while True:
            await self.beacon(number, False)
            await asyncio.sleep(self.pace)


def used(pid: int) -> tuple[float, float]:
    """The processor time of a process in its own code and in the kernel, in seconds."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) / TICKS, int(fields[12]) / TICKS


async def measure(options: argparse.Namespace) -> int:
    site = Site(options)
    cpu = sum(used(options.pid))
    await asyncio.sleep(IDLE_SECONDS)
    print(f"without visitors: {(sum(used(options.pid)) - cpu) / IDLE_SECONDS * 100:.2f} % of a core")
    begin, cpu = time.monotonic(), sum(used(options.pid))
    await site.arrive()
    print(f"{options.visitors} arrivals in {time.monotonic() - begin:.1f} s cost"
          f" {(sum(used(options.pid)) - cpu) / options.visitors * 1e6:.0f} µs each; then a heartbeat every {site.pace} s")
    site.sent, site.latencies = 0, []
    begin, cpu = time.monotonic(), used(options.pid)
    visitors = [asyncio.create_task(site.stay(number)) for number in range(options.visitors)]
    await asyncio.sleep(options.seconds)
    for visitor in visitors:
        visitor.cancel()
    seconds = time.monotonic() - begin
    user, system = (after - before for after, before in zip(used(options.pid), cpu))
    share = (user + system) / seconds * 100
    latencies = sorted(site.latencies)
    print(f"{site.sent} heartbeats in {seconds:.1f} s: {share:.2f} % of a core,"
          f" {user / site.sent * 1e6:.0f} µs each and {system / site.sent * 1e6:.0f} µs in the kernel,"
          f" P99 {latencies[len(latencies) * 99 // 100] * 1000:.1f} ms; {len(site.refused)} refused {site.refused[:3]}")
    return 0 if share < options.limit and not site.refused else 1


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--url", required=True)
    options.add_argument("--key", required=True)
    options.add_argument("--pid", required=True, type=int)
    options.add_argument("--visitors", type=int, default=10_000)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--limit", type=float, default=2)
    return asyncio.run(measure(options.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
