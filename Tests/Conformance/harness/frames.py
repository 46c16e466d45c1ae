"""WebSocket frames of which every bit may be wrong."""

import struct

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
MASK = b"\x1f\x2e\x3d\x4c"


def masked(payload, mask):
    if not payload:
        return b""
    stretched = (mask * (len(payload) // 4 + 1))[:len(payload)]
    size = len(payload)
    return (int.from_bytes(payload, "big") ^ int.from_bytes(stretched, "big")).to_bytes(size, "big")


def header(first, length, form=None, mask=MASK):
    """Returns a frame header. `first` has FIN, RSV and opcode; `form` is 7, 16 or 64, by default the smallest."""
    form = form or (7 if length < 126 else 16 if length < 65536 else 64)
    bit = 0 if mask is None else 0x80
    if form == 7:
        head = struct.pack("!BB", first, bit | length)
    elif form == 16:
        head = struct.pack("!BBH", first, bit | 126, length)
    else:
        head = struct.pack("!BBQ", first, bit | 127, length)
    return head + (mask or b"")


def frame(opcode, payload=b"", fin=True, rsv=0, mask=MASK, form=None):
    if isinstance(payload, str):
        payload = payload.encode()
    first = (0x80 if fin else 0) | rsv << 4 | opcode
    return header(first, len(payload), form, mask) + (payload if mask is None else masked(payload, mask))


def close(code=None, reason=b""):
    if isinstance(reason, str):
        reason = reason.encode()
    return frame(CLOSE, b"" if code is None else struct.pack("!H", code) + reason)


def fragments(opcode, parts):
    """Returns the frames of one message, one for each part."""
    return [frame(opcode if index == 0 else CONTINUATION, part, fin=index == len(parts) - 1)
            for index, part in enumerate(parts)]
