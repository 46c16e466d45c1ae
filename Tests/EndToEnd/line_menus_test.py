"""The published menu as a rich menu of LINE, for line_test.py: picture, states, refusals, kill -9 after each step."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from line_menus import png

MENUS = "/api/v1/admin/rich-menus"
ITEMS = [{"label": "Opening hours", "type": "message", "value": "When are you open?"},
         {"label": "Shop", "type": "url", "value": "https://shop.example.com/"},
         {"label": "Talk to us", "type": "operator"}, {"label": "Orders", "type": "message", "value": "Orders"}]


class Pictures:
    """A server of pictures, by path."""

    def __init__(self) -> None:
        self.files = {"/menu.png": png(1200, 600), "/second.png": png(800, 400, 0xAA), "/tall.png": png(800, 800),
                      "/text.png": b"no picture", "/long.png": png(800, 400) + bytes(1_048_576)}
        pictures = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                data = pictures.files.get(self.path)
                self.send_response(200 if data else 404)
                self.end_headers()
                try:
                    self.wfile.write(data or b"")
                except OSError:
                    pass  # The gateway reads no more than it needs.

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class MenuRun:
    """`run` is the test's LineRun."""

    def __init__(self, run) -> None:
        self.run, self.line, self.pictures = run, run.platform.menus, Pictures()

    def menu(self, id_: str) -> dict:
        menus = self.run.request("GET", MENUS)["rich_menus"]
        return next(it for it in menus if it["id"] == id_)

    def make(self, name: str, picture: str | None = "/menu.png", **more) -> dict:
        body = {"name": name, "actions": ITEMS, **more}
        if picture:
            body["image_url"] = picture if "://" in picture else self.pictures.url + picture
        return self.run.request("POST", MENUS, body)["rich_menu"]

    def change(self, id_: str, **members) -> dict:
        return self.run.request("PATCH", f"{MENUS}/{id_}", members)["rich_menu"]

    def settles(self, id_: str, state: str, limit=60) -> dict:
        self.run.until(lambda: f"{state}, but {self.menu(id_)}", lambda: self.menu(id_)["sync_status"] == state, limit)
        return self.menu(id_)

    def shown(self) -> dict | None:
        """What LINE shows, if nothing else is there."""
        if list(self.line.made) != ([self.line.default] if self.line.default else []):
            return None
        return self.line.made.get(self.line.default)

    def all(self) -> None:
        promise = self.run.promise
        first = self.make("Main menu of the shop")
        promise("a draft has no copy", first["sync_status"] == "none")
        stranger = {"size": {"width": 800, "height": 300}, "selected": False, "name": "by hand", "chatBarText": "x",
                    "areas": []}
        self.line.made["richmenu-" + "0" * 32] = stranger
        promise("a published one is pending at once",
                self.change(first["id"], status="published")["sync_status"] == "pending")
        self.settles(first["id"], "synced")
        made = self.line.made[self.line.default]
        promise("and then LINE's default for all people, with its picture",
                self.line.pictures[self.line.default] == self.pictures.files["/menu.png"]
                and made["size"] == {"width": 1200, "height": 600} and made["chatBarText"] == "Main menu of …")
        promise(f"its items divide the picture: {[it['bounds'] for it in made['areas']]}",
                [tuple(it["bounds"].values()) for it in made["areas"]] == [
                    tuple(dict(zip(made["areas"][0]["bounds"], it)).values()) for it in self.grid(made)])
        promise("a menu of somebody else stays", self.line.made.pop("richmenu-" + "0" * 32) == stranger)
        self.tap(made)
        self.change(first["id"], image_url=self.pictures.url + "/second.png")
        self.settles(first["id"], "synced")
        promise("another picture replaces the menu, and nothing is left", self.shown() is not None
                and self.line.pictures[self.line.default] == self.pictures.files["/second.png"])
        second = self.make("Second", status="published")
        self.settles(second["id"], "synced")
        promise("another menu replaces it", second["id"] in self.shown()["name"]
                and self.settles(first["id"], "none")["status"] == "inactive")
        self.refusals(second["id"])
        self.killed(second["id"])
        self.change(second["id"], status="inactive")
        self.settles(second["id"], "none")
        promise("a withdrawn menu is gone from LINE", not self.line.made and self.line.default is None)
        self.change(second["id"], status="published")
        self.settles(second["id"], "synced")
        self.run.request("DELETE", f"{MENUS}/{second['id']}")
        self.run.until("a deleted one too", lambda: not self.line.made and self.line.default is None)
        promise("a deleted one too")

    @staticmethod
    def grid(made: dict) -> list[tuple]:
        """Two rows of two, in the order of the bounds' members."""
        places = {"x": (0, 600, 0, 600), "y": (0, 0, 300, 300), "width": (600,) * 4, "height": (300,) * 4}
        return [tuple(places[name][at] for name in made["areas"][0]["bounds"]) for at in range(4)]

    def tap(self, made: dict) -> None:
        action = made["areas"][0]["action"]
        friend = self.run.platform.friend("Somchai")
        self.run.platform.tell(self.run.platform.event(friend, "postback", postback={"data": action["data"]}))
        self.run.until("the tap is in the log", lambda: any(
            "When are you open?" in self.run.inbound(it) for it in self.run.conversations(friend)))
        self.run.promise("a tap says what it says in the widget",
                         made["areas"][1]["action"]["uri"] == "https://shop.example.com/")

    def refusals(self, id_: str) -> None:
        promise, before = self.run.promise, self.line.default
        for picture, words in (("/tall.png", "800 × 800"), ("/text.png", "no PNG or JPEG"), ("/long.png", "1 MB"),
                               ("/none.png", "answered 404"), ("http://169.254.169.254/a.png", "not allowed"),
                               ("", "no picture")):
            url = picture if "://" in picture or not picture else self.pictures.url + picture
            self.change(id_, image_url=url)
            menu = self.settles(id_, "failed")
            promise(f"a picture that cannot be shown fails: {menu['sync_error']}", words in menu["sync_error"]
                    and self.line.default == before and self.shown() is not None)
        self.line.refusals = [(400, "The request body has 1 error(s)")]
        self.change(id_, image_url=self.pictures.url + "/menu.png")
        menu = self.settles(id_, "failed")
        promise(f"LINE's reason is shown: {menu['sync_error']}", "400: The request body" in menu["sync_error"]
                and self.shown() is not None)
        self.line.refusals = [(500, "Internal"), (429, "The API rate limit has been exceeded. Try again later.")]
        self.change(id_, name="Again")
        self.settles(id_, "synced")
        promise("500 and 429 are tried again", self.shown()["chatBarText"] == "Again" and not self.line.refusals)
        token = self.run.platform.token
        self.run.platform.token = "another"
        self.change(id_, name="Once more")
        menu = self.settles(id_, "failed")
        self.run.platform.token = token
        promise(f"a wrong token fails: {menu['sync_error']}", "401" in menu["sync_error"])
        self.run.request("PUT", "/api/v1/admin/credentials/line", {"name": "channel_access_token", "secret": token})
        self.settles(id_, "synced")
        promise("a new one brings the menu to LINE", self.shown()["chatBarText"] == "Once more")

    def killed(self, id_: str) -> None:
        """kill -9 after LINE has taken a step, and before the gateway knows."""
        steps = {"create": ("POST", "/v2/bot/richmenu"), "upload": ("POST", "/content"), "default": ("POST", "/all/"),
                 "delete": ("DELETE", "/v2/bot/richmenu/"), "unset": ("DELETE", "/all/")}
        for step, (method, part) in steps.items():
            reached, killed = threading.Event(), threading.Event()

            def stop(its_method, path, method=method, part=part, step=step, reached=reached, killed=killed):
                is_it = path.endswith(part) if step in ("create", "upload") else part in path
                if its_method == method and is_it and not reached.is_set():
                    reached.set()
                    killed.wait(30)

            self.line.after = stop
            if step == "unset":
                self.change(id_, status="inactive")
            else:
                self.change(id_, name=f"Kill {step}")
            if not reached.wait(30):
                self.run.promise(f"{step} is reached", False)
            self.run.kill()
            killed.set()
            self.line.after = lambda method, path: None
            left = len(self.line.made)
            begin = time.monotonic()
            self.run.start()
            self.settles(id_, "none" if step == "unset" else "synced", 90)
            shown = self.shown()
            holds = not self.line.made if step == "unset" else bool(shown) and shown["chatBarText"] == f"Kill {step}"
            self.run.promise(f"kill -9 after {step}, which leaves {left} at LINE: in {time.monotonic() - begin:.0f} s "
                             "LINE has what it must have, and no more", holds)
        self.change(id_, status="published")
        self.settles(id_, "synced")
