"""The rich menus of line_platform.py: LINE's endpoints with their rules for objects, pictures and the default menu."""

import json
import re
import secrets
import struct
import zlib

BAR_UNITS, AREAS, IMAGE_BYTES = 14, 20, 1_048_576


def png(width: int, height: int, shade=0x55) -> bytes:
    """A picture of one colour."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes([shade]) * width) * height
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def size_of(picture: bytes) -> tuple[int, int] | None:
    return struct.unpack(">II", picture[16:24]) if picture.startswith(b"\x89PNG\r\n\x1a\n") else None


class Menus:
    def __init__(self, refused, units) -> None:
        #: The platform's exception, and how it counts characters.
        self.refused, self.units = refused, units
        self.made: dict[str, dict] = {}
        self.pictures: dict[str, bytes] = {}
        self.default: str | None = None
        #: Called after a request was taken and before its answer: (method, path).
        self.after = lambda method, path: None
        #: The next answers, before anything is done: (status, message).
        self.refusals: list[tuple[int, str]] = []

    def owns(self, path: str) -> bool:
        return path.startswith(("/v2/bot/richmenu", "/v2/bot/user/all/richmenu"))

    def answer(self, request, body: bytes) -> dict:
        if self.refusals:
            raise self.refused(*self.refusals.pop(0))
        place = (request.command, request.path)
        if place == ("POST", "/v2/bot/richmenu"):
            return self.create(request, body)
        if place == ("GET", "/v2/bot/richmenu/list"):
            return {"richmenus": [{"richMenuId": id_, **menu} for id_, menu in self.made.items()]}
        if place == ("GET", "/v2/bot/user/all/richmenu"):
            if self.default is None:
                raise self.refused(404, "no default richmenu")
            return {"richMenuId": self.default}
        if place == ("DELETE", "/v2/bot/user/all/richmenu"):
            self.default = None
            return {}
        found = re.fullmatch(r"/v2/bot/(?:user/all/)?richmenu/(richmenu-[0-9a-f]{32})(/content)?", request.path)
        if not found or found[1] not in self.made:
            raise self.refused(404, "richmenu not found" if found else "Not found")
        id_ = found[1]
        if place == ("POST", f"/v2/bot/richmenu/{id_}/content"):
            return self.upload(id_, request.headers.get("Content-Type"), body)
        if place == ("POST", f"/v2/bot/user/all/richmenu/{id_}"):
            if id_ not in self.pictures:
                raise self.refused(400, "must upload richmenu image before applying it to user")
            self.default = id_
            return {}
        if place == ("DELETE", f"/v2/bot/richmenu/{id_}"):
            del self.made[id_]
            self.pictures.pop(id_, None)
            self.default = None if self.default == id_ else self.default
            return {}
        raise self.refused(404, "Not found")

    def create(self, request, body: bytes) -> dict:
        if not request.headers.get("Content-Type", "").startswith("application/json"):
            raise self.refused(415, "Unsupported media type")
        try:
            menu = json.loads(body)
        except ValueError as fault:
            raise self.refused(400, "The request body could not be parsed as JSON") from fault
        fault = self.fault(menu)
        if fault:
            raise self.refused(400, "The request body has 1 error(s)", [{"message": fault[0], "property": fault[1]}])
        id_ = "richmenu-" + secrets.token_hex(16)
        self.made[id_] = menu
        return {"richMenuId": id_}

    def fault(self, menu) -> tuple[str, str] | None:
        if set(menu) != {"size", "selected", "name", "chatBarText", "areas"} or not isinstance(menu["selected"], bool):
            return "May not be empty", "richmenu"
        width, height = menu["size"].get("width"), menu["size"].get("height")
        if not isinstance(width, int) or not 800 <= width <= 2500:
            return "must be between 800 and 2500", "size.width"
        if not isinstance(height, int) or height < 250 or width / height < 1.45:
            return "must have an aspect ratio of at least 1.45", "size.height"
        if not 1 <= self.units(menu["name"]) <= 300:
            return "Length must be between 1 and 300", "name"
        if not 1 <= self.units(menu["chatBarText"]) <= BAR_UNITS:
            return f"Length must be between 1 and {BAR_UNITS}", "chatBarText"
        if not isinstance(menu["areas"], list) or len(menu["areas"]) > AREAS:
            return f"Size must be between 0 and {AREAS}", "areas"
        for place, area in enumerate(menu["areas"]):
            bounds, action = area["bounds"], area["action"]
            if min(bounds[it] for it in ("x", "y", "width", "height")) < 0 or bounds["width"] * bounds["height"] == 0 \
                    or bounds["x"] + bounds["width"] > width or bounds["y"] + bounds["height"] > height:
                return "must be inside of the rich menu", f"areas[{place}].bounds"
            if self.units(action.get("label", "")) > 20:
                return "Length must be between 0 and 20", f"areas[{place}].action.label"
            sizes = {"postback": [("data", 300)], "message": [("text", 300)], "uri": [("uri", 1000)]}
            for name, most in sizes.get(action.get("type"), [("type", 0)]):
                if not 1 <= self.units(action.get(name, "")) <= most:
                    return f"Length must be between 1 and {most}", f"areas[{place}].action.{name}"
            if self.units(action.get("displayText", "")) > 300:
                return "Length must be between 0 and 300", f"areas[{place}].action.displayText"
        return None

    def upload(self, id_: str, kind: str | None, picture: bytes) -> dict:
        if kind not in ("image/png", "image/jpeg"):
            raise self.refused(415, "Unsupported media type")
        if id_ in self.pictures:
            raise self.refused(400, "An image has already been uploaded to the richmenu")
        if len(picture) > IMAGE_BYTES:
            raise self.refused(413, "The image is too large")
        size = self.made[id_]["size"]
        if kind == "image/png" and size_of(picture) != (size["width"], size["height"]):
            raise self.refused(400, "The image size does not match the size of the richmenu")
        self.pictures[id_] = picture
        return {}
