"""What each of the five people of day_test.py sees, compared with the database; and the keyboard as people use it."""

import json
import time

from browser_test import Console, Widget
from playwright.sync_api import Page, expect
from widget_test import WidgetRun
from widget_texts import EN

#: Time in which all views show the same, in seconds.
AGREEMENT = 20
TABS_MAX = 80  # keys until a control has the focus


class Shop(Widget):
    """A visitor's page: the shop on another origin, with the snippet."""

    def __init__(self, page: Page, url: str, texts=EN) -> None:
        super().__init__(page, url, "/")
        self.words = texts
        self.text = self.panel.get_by_label(texts["message"], exact=True)
        self.head = self.panel.locator(".who p")
        self.state = self.panel.locator(".say.out .state").last
        self.place = self.panel.locator(".queue strong")
        self.key = ""

    def shown(self) -> list[str]:
        return self.panel.locator(".say .bubble:not(.typing):not(.pending)").all_text_contents()

    def id(self) -> str:
        return self.page.evaluate("(key) => JSON.parse(localStorage['chirrup:' + key] ?? '{}').session ?? ''", self.key)


class DayViews(WidgetRun):
    desks: dict[str, Console]
    shops: dict[str, Shop]

    # What everyone sees

    def log_of(self, session: str, notes: bool) -> list[str]:
        kinds = "'text', 'note'" if notes else "'text'"
        rows = self.sql(
            f"SELECT coalesce(json_agg(content ORDER BY seq), '[]') FROM chats WHERE session_id = '{session}'"
            f" AND kind IN ({kinds})"
        )
        return json.loads(rows)

    def agree(self, words: str) -> None:
        """Compares every open view with the database."""
        deadline = time.monotonic() + AGREEMENT
        while differences := self.differences():
            if time.monotonic() > deadline:
                self.promise("\n      ".join([f"{words}: all views agree", *differences]), False)
            time.sleep(0.2)
        self.promise(f"{words}: all five see every message once and in order")

    def differences(self) -> list[str]:
        found = []
        for name, shop in self.shops.items():
            # A form may cover the log, or the whole chat may be closed.
            if shop.page.is_closed() or not shop.panel.locator(".log").is_visible() or not (session := shop.id()):
                continue
            if (shown := shop.shown()) != (stored := self.log_of(session, notes=False)):
                found.append(f"{name} sees {shown}, stored are {stored}")
        for name, desk in self.desks.items():
            page = desk.page
            if page.is_closed():
                continue
            if session := page.evaluate("/^#[0-9a-f-]{36}$/.test(location.hash) ? location.hash.slice(1) : ''"):
                shown = page.locator(".log .say .bubble:not(.preview):not(.pending)").all_text_contents()
                if shown != (stored := self.log_of(session, notes=True)):
                    found.append(f"{name} sees {shown}, stored are {stored}")
            found += self.list_differences(name, desk)
        return found

    def list_differences(self, name: str, desk: Console) -> list[str]:
        page = desk.page
        if not page.locator(".tabs").is_visible():
            return []
        me = f"(SELECT id FROM operators WHERE name = '{name}')"
        where = {
            "Waiting": "status = 'waiting'",
            "Mine": f"status = 'active' AND assigned_operator_id = {me}",
            "All": "status <> 'closed'",
            "Closed": "status = 'closed'",
        }
        found = []
        for tab, condition in where.items():
            count = self.sql(f"SELECT count(*) FROM chat_sessions WHERE message_count > 0 AND {condition}")
            shown = page.locator(".tabs button", has_text=tab).locator("span").inner_text()
            if shown != count:
                found.append(f"{name}: {shown} {tab}, stored are {count}")
        current = page.locator(".tabs [aria-current]").evaluate("(it) => it.firstChild.data")
        stored = self.sql(f"SELECT string_agg(id::text, ' ' ORDER BY id) FROM chat_sessions"
                          f" WHERE message_count > 0 AND {where[current]}").split()
        shown = sorted(page.locator(".row").evaluate_all("(rows) => rows.map((row) => row.dataset.id)"))
        if shown != stored:
            found.append(f"{name}: the list {current} has {len(shown)} rows, stored are {len(stored)}")
        return found

    # Keyboard only

    def focused(self, control) -> bool:
        return control.evaluate("(it) => it.getRootNode().activeElement === it")

    def tab_to(self, page: Page, control, key="Tab") -> None:
        """Moves the focus by Tab until the control has it, as a person would."""
        for _ in range(TABS_MAX):
            if control.count() == 1 and self.focused(control):
                return
            page.keyboard.press(key)
        self.promise(f"{control} is reached by {key}", False)

    def walk_to(self, page: Page, name: str) -> None:
        """Opens the visitor's conversation with the keys for the next and the previous one."""
        for key in ["ArrowDown"] * 4 + ["ArrowUp"] * 4:
            if page.locator(".names h2").inner_text() == name:
                return
            page.keyboard.press(f"Alt+{key}")
            page.wait_for_timeout(200)
        expect(page.locator(".names h2")).to_have_text(name)

    def whole(self, page: Page, texts: str) -> None:
        """No text is cut in a window of a small laptop."""
        size = page.viewport_size
        page.set_viewport_size({"width": 1180, "height": 860})
        cut = page.locator(texts).evaluate_all(
            "(all) => all.filter((it) => it.scrollWidth > it.clientWidth).map((it) => it.textContent)")
        page.set_viewport_size(size)
        self.promise(f"at 1180 px no text of the thread's head is cut {cut or ''}", not cut)

    def calm(self, page: Page) -> None:
        """Letters do nothing for a moment after the view has changed by itself."""
        expect(page.locator(".app:not([data-guarded])")).to_have_count(1)

    def type(self, page: Page, text: str) -> None:
        page.keyboard.type(text)
        page.keyboard.press("Enter")
