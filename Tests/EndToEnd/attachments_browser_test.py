"""Files of visitors and operators, from the button to the download.

Started by attachments_browser.sh. Every promise is printed with its verdict; a message on the page's console, a
violated policy and a serious finding of axe are broken promises too.
"""

import base64
import hashlib
import os
import re
import struct
import sys
import time
import zlib
from pathlib import Path

from browser_test import Console, Widget
from playwright.sync_api import Locator, Page, Route, expect
from widget_test import WidgetRun, main
from widget_texts import TEXT

LANGUAGES = Path(__file__).resolve().parents[2] / "Sources/WebAssets/shared/attachments/languages"
WORDS = dict(TEXT.findall((LANGUAGES / "en.js").read_text()))
PART = 65_536
PARTS = re.compile(r"/attachments/([0-9a-f-]{36})/parts/(\d+)$")
#: A file from base64 in a DataTransfer, and an event with it on an element.
BRING = """(node, { type, files }) => {
  const data = new DataTransfer();
  for (const { name, mime, bytes } of files) {
    const raw = Uint8Array.from(atob(bytes), (it) => it.charCodeAt(0));
    data.items.add(new File([raw], name, { type: mime }));
  }
  const more = { bubbles: true, cancelable: true, composed: true };
  const event = type === 'paste' ? new ClipboardEvent(type, { clipboardData: data, ...more })
    : new DragEvent(type, { dataTransfer: data, ...more });
  return !node.dispatchEvent(event);
}"""


def png(width: int, height: int) -> bytes:
    """A picture of noise, which no compression makes smaller."""
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + os.urandom(3 * width) for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


def pdf(size: int) -> bytes:
    return b"%PDF-1.7\n" + os.urandom(size - 9)


def chosen(name: str, mime: str, data: bytes) -> dict:
    return {"name": name, "mimeType": mime, "buffer": data}


def words(key: str, *values: str) -> str:
    """A text of the attachments."""
    return re.sub(r"\{(\d?)\}", lambda match: values[int(match[1] or 1) - 1], WORDS[key])


class AttachmentsRun(WidgetRun):
    PARTS = ("both_ways", "paste_and_drag", "resumed", "offline", "cancelled", "refused", "by_keyboard",
             "viewer", "small", "looks", "settings")

    def run(self) -> None:
        first = self.page(self.context())
        demo = first.request.get(f"{self.options.base_url}/demo").text()
        self.key = re.search('data-workspace="([^"]+)"', demo).group(1)
        self.config = f"{self.options.base_url}/api/v1/widget/config?workspace={self.key}"
        first.close()
        self.widget = self.visitor().open()
        self.widget.say("My freehub clicks.")
        self.widget.committed()
        self.console = Console(self.page(self.context(1440, 900)), self.options.base_url, None, None)
        self.console.login()
        self.console.page.keyboard.press("n")
        expect(self.console.page.get_by_text("Assigned to you", exact=True)).to_be_visible()
        for name in self.PARTS:
            if not self.options.only or name in self.options.only.split(","):
                begin = time.monotonic()
                getattr(self, name)()
                print(f"      {name}: {time.monotonic() - begin:.1f} s", flush=True)

    # What both pages have.

    def tray(self, page: Page) -> Locator:
        return page.locator(".tray li")

    def field(self, page: Page) -> Locator:
        return page.locator(".compose input[type=file]")

    def choose(self, page: Page, *files: dict) -> None:
        before = self.tray(page).count()
        self.field(page).set_input_files(list(files))
        expect(self.tray(page)).to_have_count(before + len(files))

    def bring(self, node: Locator, kind: str, *files: dict) -> bool:
        """An event with files; returns whether the page took it."""
        given = [{"name": it["name"], "mime": it["mimeType"], "bytes": base64.b64encode(it["buffer"]).decode()}
                 for it in files]
        return node.evaluate(BRING, {"type": kind, "files": given})

    def sent(self, page: Page) -> None:
        """Nothing is on its way any more."""
        expect(page.locator(".upload")).to_have_count(0)
        expect(page.locator(".bubble.pending")).to_have_count(0)

    def downloaded(self, page: Page, name: str) -> bytes:
        with page.expect_download() as download:
            page.locator(".attachment").filter(has_text=name).last.click()
        return Path(download.value.path()).read_bytes()

    def shown(self, picture: Locator) -> bool:
        """Whether a picture was loaded and drawn."""
        picture.scroll_into_view_if_needed()
        expect(picture).to_have_class(re.compile("there"))
        return picture.locator("img").evaluate("(it) => it.complete && it.naturalWidth > 0")

    def stored(self, name: str) -> list[str]:
        """PostgreSQL is the witness: the states of the attachments with this name."""
        return self.sql(f"SELECT state FROM chat_attachments WHERE name = '{name}' ORDER BY created_at").split()

    def files_of(self, body: str) -> list[int]:
        """The numbers of files of the messages with this text."""
        answer = self.sql("SELECT jsonb_array_length(payload::jsonb->'attachments') FROM chats"
                          f" WHERE content = '{body}' ORDER BY seq")
        return [int(line) for line in answer.split()]

    # The parts.

    def both_ways(self) -> None:
        widget, console = self.widget, self.console
        guide, photo = pdf(300_000), png(400, 300)
        expect(widget.panel.get_by_role("button", name="Attach files")).to_be_visible()
        self.choose(widget.page, chosen("HB-240 guide.pdf", "application/pdf", guide),
                    chosen("IMG_2109.png", "image/png", photo))
        self.promise("files wait in the tray, and nothing is sent", self.stored("HB-240 guide.pdf") == [])
        widget.panel.get_by_label(WORDS["description"]).fill("Inside of the freehub")
        widget.text.fill("One pawl looks worn.")
        widget.text.press("Enter")
        self.sent(widget.page)
        expect(widget.own.last.locator(".bubble")).to_have_text("One pawl looks worn.")
        self.promise("a caption and two files are one message", self.files_of("One pawl looks worn.") == [2])
        page = console.page
        expect(console.theirs.last).to_have_text("One pawl looks worn.")
        expect(page.locator(".log .pic")).to_have_count(1)
        picture = page.locator(".log .pic").last
        self.promise("the operator sees the picture", self.shown(picture))
        self.promise("its description is its alternative text",
                     picture.locator("img").get_attribute("alt") == "Inside of the freehub")
        same = hashlib.sha256(self.downloaded(page, "HB-240 guide.pdf")).digest() == hashlib.sha256(guide).digest()
        self.promise("the operator downloads the same bytes", same)
        answer = pdf(200_001)
        self.choose(page, chosen("Torque table.pdf", "application/pdf", answer), chosen("hub.png", "image/png", photo))
        console.text.fill("Page 4 shows it.")
        console.text.press("Enter")
        self.sent(page)
        expect(widget.theirs.last).to_have_text("Page 4 shows it.")
        self.promise("the visitor sees the operator's picture", self.shown(widget.panel.locator(".say.in .pic").last))
        self.promise("the visitor downloads the same bytes", self.downloaded(widget.page, "Torque table.pdf") == answer)
        self.choose(page, chosen("silent.pdf", "application/pdf", answer))
        console.text.press("Enter")
        self.sent(page)
        expect(widget.panel.locator(".say.in .attachment").last).to_contain_text("silent.pdf")
        expect(widget.panel.get_by_text("📎")).to_have_count(0)
        self.promise("files without a text are a message too")
        for it in (widget.page, page):
            it.reload()
            expect(it.locator(".attachment")).to_have_count(3)
            expect(it.locator(".pic")).to_have_count(2)
        self.promise("after a reload both pages show them again")

    def paste_and_drag(self) -> None:
        name = re.compile(rf"^{WORDS['screenshot']} \d{{4}}-\d\d-\d\d \d\d\.\d\d\.png$")
        for page, text, zone in (
            (self.widget.page, self.widget.text, self.widget.page.locator("chirrup-chat .log")),
            (self.console.page, self.console.text, self.console.page.locator(".pane .log")),
        ):
            where = "widget" if page == self.widget.page else "console"
            self.promise(f"{where}: a pasted picture is taken",
                         self.bring(text, "paste", chosen("image.png", "image/png", png(60, 40))))
            expect(self.tray(page).locator("b")).to_have_text(name)
            self.promise(f"{where}: it has a name with its time")
            file = chosen("dragged.txt", "text/plain", b"from the desktop\n")
            self.bring(zone, "dragover", file)
            expect(page.locator(".drop")).to_be_visible()
            self.shot(page, f"attachments-drop-{where}")
            box, log = page.locator(".drop").bounding_box(), zone.bounding_box()
            self.promise(f"{where}: the drop zone covers the log and leaves the text", box and log and
                         abs(box["y"] - log["y"]) < 2 and abs(box["height"] - log["height"]) < 2)
            self.promise(f"{where}: a dropped file is taken", self.bring(zone, "drop", file))
            expect(page.locator(".drop")).to_have_count(0)
            expect(self.tray(page)).to_have_count(2)
            text.press("Enter")
            self.sent(page)
            self.bring(zone, "dragover", file)
            expect(page.locator(".drop")).to_have_count(0)
            self.promise(f"{where}: the zone goes when the drag ends elsewhere")
        expect(self.console.page.locator(".attachment").filter(has_text="dragged.txt")).to_have_count(2)
        self.console.page.get_by_role("button", name="Note", exact=True).click()
        self.bring(self.console.text, "paste", chosen("image.png", "image/png", png(20, 20)))
        expect(self.console.page.locator(".refused")).to_contain_text(WORDS["no_note"])
        self.promise("a note takes no file, and says so")
        self.console.page.get_by_label(WORDS["dismiss"]).click()
        self.console.page.get_by_role("button", name="Reply", exact=True).click()

    def resumed(self) -> None:
        """A reload in the middle of an upload: it goes on where the gateway says that it was."""
        for page, text in ((self.widget.page, self.widget.text), (self.console.page, self.console.text)):
            where = "widget" if page == self.widget.page else "console"
            name, data = f"{where} sound.bin.zip", b"PK\3\4" + os.urandom(40 * PART)
            offsets: list[int] = []

            def slowly(route: Route) -> None:
                offsets.append(int(PARTS.search(route.request.url)[2]))
                time.sleep(0.05)
                route.continue_()

            page.route(PARTS, slowly)
            self.choose(page, chosen(name, "application/zip", data))
            text.fill(f"From the {where}")
            text.press("Enter")
            row = page.locator(".upload")
            expect(row).to_contain_text(re.compile(r"\d (MB|kB) of 2\.5 MB"))
            while len(offsets) < 12:
                page.wait_for_timeout(20)
            begun = self.stored(name)
            before = len(offsets)
            page.reload()
            expect(page.locator(".upload")).to_be_visible()
            self.shot(page, f"attachments-resumed-{where}")
            self.sent(page)
            page.unroute(PARTS)
            again = offsets[before:]
            self.promise(f"{where}: the upload had begun: {before} parts", begun == ["uploading"])
            self.promise(f"{where}: after the reload it goes on at part {again[0] // PART}, and sends {len(again)}",
                         again[0] >= (before - 1) * PART and len(offsets) <= -(-len(data) // PART) + 1)
            self.promise(f"{where}: the message is sent once, with its text", self.files_of(f"From the {where}") == [1])
            other = self.console.page if where == "widget" else self.widget.page
            expect(other.locator(".attachment").filter(has_text=name)).to_have_count(1)
            self.promise(f"{where}: what arrives are the same bytes", self.downloaded(other, name) == data)

    def offline(self) -> None:
        """Without a network a file waits, also over a reload of nothing, and goes on."""
        widget = self.widget
        expected, self.watch.expected = self.watch.expected, re.compile("Failed to load resource|WebSocket|chirrup")
        # A reply from the cache of connections may still arrive; the next request fails.
        widget.page.context.set_offline(True)
        self.choose(widget.page, chosen("later.pdf", "application/pdf", pdf(100_000)))
        widget.text.press("Enter")
        expect(widget.own.last.locator(".state")).to_contain_text("Waiting to send")
        expect(widget.panel.locator(".upload")).to_have_count(1)
        self.promise("offline, a file waits", self.stored("later.pdf") == [])
        widget.page.context.set_offline(False)
        self.sent(widget.page)
        self.promise("and goes out with the connection", len(self.stored("later.pdf")) == 1)
        self.watch.expected = expected

    def cancelled(self) -> None:
        page, text = self.widget.page, self.widget.text
        held: list[Route] = []
        page.route(PARTS, lambda route: held.append(route))
        self.choose(page, chosen("wrong.pdf", "application/pdf", pdf(150_000)),
                    chosen("right.pdf", "application/pdf", pdf(1_500)))
        text.fill("Two, or one")
        text.press("Enter")
        expect(page.locator(".upload")).to_have_count(2)
        page.get_by_label(words("cancel", "wrong.pdf")).click()
        expect(page.locator(".upload")).to_have_count(1)
        page.unroute(PARTS)
        self.sent(page)
        self.promise("a cancelled file leaves its message, which goes out without it",
                     self.files_of("Two, or one") == [1])
        page.route(PARTS, lambda route: held.append(route))
        self.choose(page, chosen("never.pdf", "application/pdf", pdf(150_000)))
        text.press("Enter")
        page.get_by_label(words("cancel", "never.pdf")).click()
        self.sent(page)
        page.unroute(PARTS)
        page.wait_for_timeout(300)
        self.promise("the last cancelled file takes the message with it",
                     set(self.stored("never.pdf")) <= {"removed"} and page.get_by_text("never.pdf").count() == 0)

    def refused(self) -> None:
        widget, page = self.widget, self.widget.page
        self.set(page, lambda it: it["attachments"]["bytes_max"] == 1 << 20,
                 attachments={"enabled": True, "bytes_max": 1 << 20, "types": ["images", "pdf"]})
        page.reload()
        expect(widget.text).to_be_visible()
        self.field(page).set_input_files([
            chosen("large.pdf", "application/pdf", pdf((1 << 20) + 1)), chosen("empty.pdf", "application/pdf", b""),
            chosen("table.xlsx", "", b"PK\3\4"), chosen("setup.exe", "", b"MZ"),
        ])
        reasons = page.locator(".refused")
        expect(reasons).to_have_count(4)
        self.promise("each refused file has its reason, before anything is sent", reasons.all_inner_texts() == [
            words("too_large", "1 MB", "large.pdf"), words("empty", "empty.pdf"),
            words("type", "table.xlsx"), words("type", "setup.exe"),
        ])
        self.shot(page, "attachments-refused")
        expect(self.tray(page)).to_have_count(0)
        for _ in range(4):
            page.get_by_label(WORDS["dismiss"]).first.click()
        expect(reasons).to_have_count(0)
        self.field(page).set_input_files([chosen(f"{n}.png", "image/png", png(8, 8)) for n in range(11)])
        expect(self.tray(page)).to_have_count(10)
        expect(reasons).to_have_text(WORDS["many"])
        widget.text.press("Enter")
        self.sent(page)
        expect(widget.own.last.locator(".pic")).to_have_count(4)
        self.promise("ten go out at once; the eleventh is left out, with the reason",
                     "+6" in widget.own.last.locator(".pic-more").inner_text())
        # A page in the clothes of a picture: only the content tells.
        expected, self.watch.expected = self.watch.expected, re.compile("status of 422")
        self.choose(page, chosen("page.png", "image/png", b"<!doctype html><script>window.hurt = 1</script>"))
        widget.text.press("Enter")
        expect(page.locator(".upload.failed")).to_be_visible()
        state = widget.own.last.locator(".state")
        expect(state).to_contain_text(words("type", "page.png"))
        expect(state.get_by_role("button", name=WORDS["retry"])).to_be_visible()
        self.shot(page, "attachments-failed")
        state.get_by_role("button", name=WORDS["delete"]).click()
        self.sent(page)
        self.promise("a file whose content is refused says why, and can be deleted",
                     self.files_of("📎 page.png") == [])
        self.watch.expected = expected
        self.set(page, lambda it: it["attachments"]["enabled"] is False, attachments={"enabled": False})
        page.reload()
        expect(widget.text).to_be_visible()
        page.wait_for_load_state("networkidle")
        expect(widget.panel.get_by_role("button", name="Attach files")).to_have_count(0)
        self.promise("a workspace without attachments has no button")
        self.sql("DELETE FROM system_settings WHERE key = 'attachments'")
        self.set(page, lambda it: it["attachments"]["enabled"])
        page.reload()
        expect(widget.panel.get_by_role("button", name="Attach files")).to_be_visible()

    def by_keyboard(self) -> None:
        """From the text to the viewer and back, without a pointer."""
        for page, text in ((self.widget.page, self.widget.text), (self.console.page, self.console.text)):
            where = "widget" if page == self.widget.page else "console"
            self.choose(page, chosen("a.pdf", "application/pdf", pdf(900)), chosen("b.png", "image/png", png(90, 60)))
            expect(page.get_by_label(WORDS["description"])).to_be_visible()
            expect(text).to_be_focused()
            keys = page.keyboard
            for _ in range(12):
                if page.get_by_label(words("remove", "a.pdf")).evaluate("(it) => it.matches(':focus')"):
                    break
                keys.press("Shift+Tab")
            expect(page.get_by_label(words("remove", "a.pdf"))).to_be_focused()
            keys.press("Enter")
            expect(self.tray(page)).to_have_count(1)
            expect(page.get_by_label(words("remove", "b.png"))).to_be_focused()
            self.promise(f"{where}: a file is removed by the keyboard, and the focus goes to the next")
            keys.press("Tab")
            expect(page.get_by_label(WORDS["description"])).to_be_focused()
            keys.type("Typed")
            keys.press("Enter")
            expect(self.tray(page)).to_have_count(1)
            text.focus()
            keys.press("Enter")
            self.sent(page)
            picture = page.locator(".say.out .pic").last
            expect(picture.locator("img")).to_have_attribute("alt", "Typed")
            picture.focus()
            keys.press("Enter")
            expect(page.locator("dialog.viewer")).to_be_visible()
            keys.press("Escape")
            expect(page.locator("dialog.viewer")).to_have_count(0)
            expect(picture).to_be_focused()
            self.promise(f"{where}: the viewer opens and closes by the keyboard, and the focus returns")

    def viewer(self) -> None:
        for page in (self.widget.page, self.console.page):
            where = "widget" if page == self.widget.page else "console"
            for size in ((120, 300), (500, 200)):
                self.choose(page, chosen("v.png", "image/png", png(*size)))
                self.text_of(page).press("Enter")
                self.sent(page)
            last = page.locator(".say.out .pic").last
            self.shown(last)
            last.click()
            box = page.locator("dialog.viewer")
            total = int(re.search(r"of (\d+)$", box.get_attribute("aria-label") or "")[1])
            self.promise(f"{where}: the viewer has the pictures of the conversation: {total}", total > 2)
            at = lambda: int(re.search(r"(\d+) of", box.get_attribute("aria-label") or "")[1])
            begin = at()
            page.keyboard.press("ArrowLeft")
            expect(box).to_have_attribute("aria-label", words("place", str(begin - 1), str(total)))
            page.keyboard.press("Home")
            expect(box).to_have_attribute("aria-label", words("place", "1", str(total)))
            expect(box.get_by_label(WORDS["previous"])).to_be_disabled()
            page.keyboard.press("End")
            expect(box).to_have_attribute("aria-label", words("place", str(total), str(total)))
            wide = lambda: box.locator("figure img").evaluate("(it) => it.getBoundingClientRect().width")
            box.locator("figure img").evaluate("(it) => it.decode()")
            small = wide()
            page.keyboard.press("+")
            self.promise(f"{where}: arrows move, plus enlarges", wide() > small)
            page.keyboard.press("-")
            with page.expect_download() as download:
                box.get_by_role("button", name=WORDS["download"]).click()
            self.promise(f"{where}: the picture is downloaded under its name",
                         download.value.suggested_filename.endswith(".png"))
            self.accessible(page, f"the viewer of the {where}")
            self.pictures(page, f"attachments-viewer-{where}")
            page.keyboard.press("Escape")
            expect(box).to_have_count(0)

    def text_of(self, page: Page) -> Locator:
        return self.widget.text if page == self.widget.page else self.console.text

    def small(self) -> None:
        """320 px, a right-to-left language, touch targets."""
        widget = Widget(self.page(self.context(320, 640, locale="ar-EG")), self.options.base_url)
        widget.launcher.click()
        page = widget.page
        expect(page.locator(".compose")).to_be_visible()
        page.evaluate("chirrup.setLocale('ar')")
        expect(page.locator(".panel")).to_have_attribute("dir", "rtl")
        self.choose(page, chosen("صورة طويلة الاسم جدا.png", "image/png", png(200, 100)),
                    chosen("a-file-with-a-rather-long-name-that-is-cut.pdf", "application/pdf", pdf(5_000)))
        expect(page.locator(".alt input")).to_be_visible()
        page.locator(".compose textarea").fill("مرحبا")
        self.shot(page, "attachments-small-tray")
        wide = page.evaluate("""() => {
          const root = document.querySelector('chirrup-chat').shadowRoot;
          return [...root.querySelectorAll('.panel, .tray, .tray li, .compose')].filter(
            (it) => it.scrollWidth > it.clientWidth + 1).map((it) => it.className);
        }""")
        self.promise(f"at 320 px nothing is wider than the widget {wide}", wide == [])
        sizes = page.evaluate("""() => [...document.querySelector('chirrup-chat').shadowRoot.querySelectorAll(
          '.compose :is(button, .alt input)')].filter((it) => it.offsetWidth).map(
          (it) => Math.min(it.offsetWidth, it.offsetHeight))""")
        self.promise(f"touch targets have 44 px: {sizes}", min(sizes) >= 44)
        page.locator(".compose textarea").press("Enter")
        self.sent(page)
        self.shot(page, "attachments-small-sent")
        self.accessible(page, "the widget with files, right to left, at 320 px")

    def looks(self) -> None:
        for page in (self.widget.page, self.console.page):
            where = "widget" if page == self.widget.page else "console"
            self.choose(page, chosen("IMG_2110.png", "image/png", png(320, 240)),
                        chosen("Torque table.pdf", "application/pdf", pdf(96_000)))
            expect(page.get_by_label(WORDS["description"])).to_be_visible()
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                self.accessible(page, f"the {where} with a tray, {scheme}")
            page.emulate_media(color_scheme="light")
            self.pictures(page, f"attachments-tray-{where}")
            page.emulate_media(forced_colors="active")
            self.shot(page, f"attachments-forced-{where}")
            page.emulate_media(forced_colors="none")
            held: list[Route] = []
            page.route(PARTS, lambda route: held.append(route))
            self.text_of(page).fill("With the spring seated like this it cannot slip.")
            self.text_of(page).press("Enter")
            expect(page.locator(".upload")).to_have_count(2)
            page.wait_for_timeout(500)
            self.accessible(page, f"the {where} with running uploads")
            self.pictures(page, f"attachments-running-{where}")
            page.unroute(PARTS)  # continues what was held
            self.sent(page)
            self.shown(page.locator(".say.out .pic").last)
            self.pictures(page, f"attachments-sent-{where}")
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                self.accessible(page, f"the {where} with files, {scheme}")
            page.emulate_media(color_scheme="light")

    def settings(self) -> None:
        page = self.console.page
        page.goto(f"{self.options.base_url}/console#/settings/attachments")
        expect(page.get_by_role("heading", name="Attachments", level=1)).to_be_visible()
        page.get_by_label("Largest file").fill("5")
        page.get_by_label("Archives").uncheck()
        page.get_by_role("button", name="Save").click()
        self.set(page, lambda it: it["attachments"]["bytes_max"] == 5 << 20
                 and "archives" not in it["attachments"]["types"])
        self.promise("an administrator sets the largest file and the types")
        expect(page.get_by_text(re.compile(r"of 5 GB"))).to_be_visible()
        self.promise("and sees how much is used")
        self.accessible(page, "the settings of attachments")
        self.pictures(page, "attachments-settings")


if __name__ == "__main__":
    sys.exit(main(AttachmentsRun, "attachments"))
