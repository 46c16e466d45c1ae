"""A WebSocket server with picows on uvloop: picows_peer.py PORT serves /echo, /sub, /pub."""

import asyncio
import resource
import sys

import uvloop
from picows import WSListener, WSMsgType, ws_create_server

subscribers = set()


class Echo(WSListener):
    def on_ws_frame(self, transport, frame):
        if frame.msg_type == WSMsgType.CLOSE:
            transport.disconnect()
        else:
            transport.send(frame.msg_type, frame.get_payload_as_memoryview(), frame.fin)


class Subscriber(WSListener):
    def on_ws_connected(self, transport):
        subscribers.add(transport)

    def on_ws_disconnected(self, transport):
        subscribers.discard(transport)

    def on_ws_frame(self, transport, frame):
        if frame.msg_type == WSMsgType.CLOSE:
            transport.disconnect()


class Publisher(WSListener):
    def on_ws_frame(self, transport, frame):
        if frame.msg_type == WSMsgType.CLOSE:
            transport.disconnect()
            return
        message = frame.get_payload_as_bytes()
        for subscriber in list(subscribers):
            subscriber.send(frame.msg_type, message)


async def serve(port):
    listeners = {b"/echo": Echo, b"/sub": Subscriber, b"/pub": Publisher}
    server = await ws_create_server(
        lambda request: listeners[request.path](), "127.0.0.1", port, backlog=4096
    )
    await server.serve_forever()


if __name__ == "__main__":
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    uvloop.run(serve(int(sys.argv[1])))
