"""The visitor of visitor.py in a terminal: sends each line of its input, prints what arrives, and keeps its state in a
file, so that it continues after an end of any kind.

    python3 visitor_terminal.py http://127.0.0.1:8080 PUBLIC_KEY state.json
"""

import asyncio
import json
import os
import sys

from visitor import Visitor

base, workspace, path = sys.argv[1:4]


class Terminal(Visitor):
    def changed(self):
        with open(path + ".new", "w") as file:
            json.dump(self.state, file)
        os.replace(path + ".new", path)

    def message(self, frame):
        print(f"{frame['seq']} {frame.get('sender', {}).get('kind', 'hidden')}: {frame.get('body', '')}", flush=True)

    def failed(self, id, code):
        print(f"failed: {id} {code}", flush=True)

    def reset(self):
        print("reset", flush=True)


async def main():
    visitor = Terminal(base, workspace, json.load(open(path)) if os.path.exists(path) else {})
    running = asyncio.create_task(visitor.run())
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        await visitor.send(line.decode().rstrip("\n"))
    sys.exit(f"stopped: closed with {await running}")


asyncio.run(main())
