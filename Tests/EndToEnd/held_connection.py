"""A visitor's connection that stays open until the gateway closes it: held_connection.py URL TOKEN.

Prints its id.
"""

import json
import sys

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

url, token = sys.argv[1:3]
with connect(url.replace("http", "ws", 1) + "/api/v1/ws", subprotocols=["chirrup.v1"]) as socket:
    socket.send(json.dumps({"type": "hello", "ref": "h", "token": token}))
    welcome = json.loads(socket.recv(30).split("\n")[0])
    print(welcome["connection"], flush=True)
    try:
        while True:
            socket.recv()
    except ConnectionClosed:
        pass
