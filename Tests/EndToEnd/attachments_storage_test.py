"""Attachments in a bucket, with a virus scanner and cleaned images. Started by attachments_storage.sh."""

import argparse
import ctypes
import hashlib
import json
import random
import struct
import sys
import time
import urllib.request
import uuid
import zlib

import attachments_test
from attachments_test import Client, World, png, promise

EICAR = rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"


def control(options, path, **plan):
    data = json.dumps(plan).encode() if plan else None
    request = urllib.request.Request(f"{options.bucket}/{path}", data, method="PUT" if plan else "GET")
    return json.load(urllib.request.urlopen(request))


def peak(options):
    """The most memory that the gateway had, in MiB."""
    lines = open(f"/proc/{options.gateway}/status").read()
    return int(lines.split("VmHWM:")[1].split()[0]) >> 10


def jpeg(width, height):
    """Made by the library of the gateway: a red left half, a blue right half."""
    library = ctypes.CDLL("libturbojpeg.so.0")
    library.tjInitCompress.restype = ctypes.c_void_p
    row = b"\xf0\0\0" * (width // 2) + b"\0\0\xf0" * (width - width // 2)
    made, count = ctypes.c_void_p(), ctypes.c_ulong()
    status = library.tjCompress2(ctypes.c_void_p(library.tjInitCompress()), row * height, width, 0, height, 0,
                                 ctypes.byref(made), ctypes.byref(count), 0, 90, 0)
    assert status == 0
    return ctypes.string_at(made, count.value)


def corner(data):
    """Width, height and the top left pixel of a JPEG."""
    library = ctypes.CDLL("libturbojpeg.so.0")
    library.tjInitDecompress.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(library.tjInitDecompress())
    width, height, kind = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    assert library.tjDecompressHeader2(handle, data, ctypes.c_ulong(len(data)), ctypes.byref(width),
                                       ctypes.byref(height), ctypes.byref(kind)) == 0
    pixels = ctypes.create_string_buffer(width.value * height.value * 3)
    library.tjDecompress2(handle, data, ctypes.c_ulong(len(data)), pixels, width.value, 0, height.value, 0, 0)
    return width.value, height.value, tuple(pixels.raw[:3]), tuple(pixels.raw[-3:])


def with_exif(data, orientation):
    """A photograph with a place, held as the number says."""
    block = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0" + bytes([orientation]) + b"\0\0\0" + b"\0" * 4
    block += b"GPSLatitude 52.516 13.377 Canon"
    return data[:2] + b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block + data[2:]


def fetch(world, place, id, headers=None):
    reader = Client(world.address)
    status, data = reader.ask("GET", place.link(id), headers=headers)
    return status, data, reader.headers


def bucket(world, options):
    visitor = world.visitor()
    before = peak(options)
    # PDFs, since the gateway looks at the content. The first goes up in one piece, the second in parts.
    for count in (1_000_003, 19_000_001):
        data = b"%PDF-1.7\n" + random.randbytes(count - 9)
        begin = time.monotonic()
        status, item = visitor.upload("invoice.pdf", data)
        promise(f"a file of {count} bytes is stored", status == 200 and item["state"] == "stored", (status, item))
        print(f"      in {time.monotonic() - begin:.1f} s")
        seen = control(options, "_seen")
        promise("in one request, or in parts above 8 MiB",
                sum("partNumber=" in it for it in seen) == (3 if count > 8 << 20 else 0), seen)
        begin = time.monotonic()
        status, back, fields = fetch(world, visitor, item["id"])
        promise("and comes back", status == 200 and hashlib.sha256(back).digest() == hashlib.sha256(data).digest(),
                (status, len(back)))
        print(f"      in {time.monotonic() - begin:.1f} s, {len(control(options, '_seen'))} requests to the bucket")
        status, part, fields = fetch(world, visitor, item["id"], {"Range": "bytes=999990-1000099"})
        promise("a range of it too", status == 206 and part == data[999_990:1_000_100], (status, len(part)))
    promise("the bucket has keys of ids only",
            all(len(it) == 73 and it[36] == "/" for it in (key.removesuffix(".thumbnail")
                                                            for key in control(options, "_objects"))))
    promise("no upload in parts is left", control(options, "_uploads") == [])
    grown = peak(options) - before
    promise(f"the gateway's memory grew by {grown} MiB at most", grown < 96, grown)

    control(options, "_faults", status=503, code="SlowDown", times=2, method="PUT")
    status, item = visitor.upload("a.txt", b"slow down\n" * 20)
    promise("a busy bucket is asked again", status == 200 and item["state"] == "stored", (status, item))

    text = b"not now\n" * 20
    control(options, "_faults", status=500, code="InternalError", times=99, method="PUT")
    status, item = visitor.begin("b.txt", len(text))
    id = item["id"]
    status, problem = visitor.part(id, 0, text)
    promise("a bucket that fails is a 503", status == 503 and problem["type"].endswith("storage_unavailable"),
            (status, problem))
    control(options, "_faults", status=500, code="x", times=0, method="PUT")
    status, item = visitor.part(id, 0, text)
    promise("and the same part again ends the upload", status == 200 and item["state"] == "stored", (status, item))

    control(options, "_faults", status=500, code="InternalError", times=99, method="GET")
    status, data, _ = fetch_or_fail(world, visitor, id)
    promise("a download that the bucket fails is no empty success", status is None or status >= 500 or len(data) == 0,
            (status, data))
    control(options, "_faults", status=500, code="x", times=0, method="GET")
    status, data, _ = fetch(world, visitor, id)
    promise("and works afterwards", data == text, (status, data))

    status, item = visitor.upload("cancelled.txt", b"cancelled\n" * 9)
    promise("an upload can be cancelled", visitor.ask("DELETE", f"/attachments/{item['id']}")[0] == 204)
    json.dump({"cancelled": item["id"]}, open(options.state, "w"))


def fetch_or_fail(world, place, id):
    try:
        return fetch(world, place, id)
    except Exception:  # the connection ended in the middle
        return None, b"", {}


def images(world, options):
    visitor = world.visitor()
    photo = with_exif(jpeg(900, 300), 6) + b"PK\x03\x04<script>alert(1)</script>"
    status, item = visitor.upload("holiday.jpg", photo, alt="A photograph")
    promise("a photograph is stored, turned as the camera was held",
            status == 200 and (item["width"], item["height"]) == (300, 900), (status, item))
    status, data, fields = fetch(world, visitor, item["id"])
    promise("it has the number of bytes that the answer says", len(data) == item["bytes"], (len(data), item))
    promise("place, camera and what was appended are gone",
            not any(it in data for it in (b"GPS", b"Canon", b"Exif", b"script", b"PK\x03\x04")))
    width, height, first, last = corner(data)
    promise("its pixels are turned too", (width, height) == (300, 900) and first[0] > 200 and last[2] > 200,
            (width, height, first, last))
    promise("it is shown inline as what it is", fields["Content-Type"] == "image/jpeg"
            and fields["Content-Disposition"].startswith("inline"), fields.items())
    status, answer = visitor.ask("POST", "/attachments/links", {"ids": [item["id"]]})
    reader = Client(world.address)
    status, small = reader.ask("GET", answer["links"][0]["thumbnail_url"])
    promise("a smaller image is a WebP", status == 200 and small[:4] == b"RIFF" and small[8:12] == b"WEBP"
            and reader.headers["Content-Type"] == "image/webp" and len(small) < len(data), (status, small[:12]))
    promise("of 640 pixels", 640 in struct.unpack("<HH", small[26:30]), small[:32])

    bomb = bytearray(png(1, 1))
    bomb[16:24] = struct.pack(">II", 29_000, 29_000)
    bomb[29:33] = struct.pack(">I", zlib.crc32(bytes(bomb[12:29])))
    for what, name, data, type in (
            ("an image of 841 million pixels", "bomb.png", bytes(bomb), "image_too_large"),
            ("a damaged image", "bad.png", png(30, 30)[:-60], "image_unreadable"),
            ("an image that is a script", "x.gif", b"GIF89a/*" + b"\0" * 99 + b"*/=1;alert(1)", "image_unreadable")):
        status, problem = visitor.upload(name, data)
        promise(f"{what} is refused", status == 422 and problem["type"].endswith(type), (status, problem))
        promise("with a sentence", status == 422 and problem["detail"].endswith("."), problem)

    pixels = 16_000_000
    rows = zlib.compress(b"\0" * ((4_000 * 3 + 1) * 4_000), 1)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    large = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 4_000, 4_000, 8, 2, 0, 0, 0))
             + chunk(b"IDAT", rows) + chunk(b"IEND", b""))
    before, begin = peak(options), time.monotonic()
    status, item = visitor.upload("large.png", large)
    promise(f"an image of {pixels // 1_000_000} million pixels is cleaned", status == 200, (status, item))
    promise(f"in {time.monotonic() - begin:.1f} s, without memory of the gateway", peak(options) - before < 64,
            peak(options) - before)


def viruses(world, options):
    visitor = world.visitor()
    before = control(options, "_objects")
    status, problem = visitor.upload("test.txt", EICAR)
    promise("a virus is refused with its name", status == 422 and problem["type"].endswith("file_infected")
            and "Eicar-Test-Signature" in problem["detail"], (status, problem))
    archive = b"%PDF-1.7\n" + random.randbytes(3_000_000) + EICAR
    status, problem = visitor.upload("late.pdf", archive)
    promise("a virus at the end of a large file too", status == 422, (status, problem))
    promise("nothing of it is in the bucket", control(options, "_objects") == before)
    status, item = visitor.upload("clean.txt", b"clean\n")
    promise("a clean file is stored", status == 200 and item["state"] == "stored", (status, item))
    with urllib.request.urlopen(f"{options.url}/metrics") as answer:
        lines = [it for it in answer.read().decode().split("\n") if it.startswith("chirrup_attachment_scans_total")]
    promise("the metrics count them", any('"infected"} 2' in it for it in lines), lines)


def waits(world, options):
    visitor = world.visitor()
    text = b"waits for the scanner\n"
    status, item = visitor.begin("waits.txt", len(text))
    status, problem = visitor.part(item["id"], 0, text)
    promise("without a scanner the last part gets 503", status == 503, (status, problem))
    status, item = visitor.ask("GET", f"/attachments/{item['id']}")
    promise("and the upload stays, with all bytes", item["state"] == "uploading" and item["received"] == len(text), item)
    state = json.load(open(options.state))
    json.dump({**state, "base": visitor.base, "token": visitor.token, "id": item["id"], "text": text.decode()},
              open(options.state, "w"))


def goes_on(world, options):
    state = json.load(open(options.state))
    visitor = attachments_test.Place(Client(world.address, state["token"]), state["base"])
    status, item = visitor.part(state["id"], 0, state["text"].encode())
    promise("the same part again ends the upload", status == 200 and item["state"] == "stored", (status, item))
    status, message = visitor.say([state["id"]], id=str(uuid.uuid4()))
    promise("and it can be sent", status in (200, 201), (status, message))


def removed(world, options):
    id = json.load(open(options.state))["cancelled"]
    limit = time.monotonic() + 120
    while time.monotonic() < limit and any(id in it for it in control(options, "_objects")):
        time.sleep(1)
    promise("a cancelled upload leaves the bucket", not any(id in it for it in control(options, "_objects")))


def main():
    parts = {it.__name__: it for it in (bucket, images, viruses, waits, goes_on, removed)}
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=parts)
    for name in ("url", "operator", "log", "bucket", "state"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--gateway", type=int, required=True)
    options = parser.parse_args()
    parts[options.part](World(options), options)
    sys.exit(attachments_test.failures > 0)


if __name__ == "__main__":
    main()
