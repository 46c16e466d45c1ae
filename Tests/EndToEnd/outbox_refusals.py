"""The second half of outbox_test.py: what the gateway refuses, delays or ends, limits, and the operator's side."""

import json
import re
import time

from playwright.sync_api import expect

from browser_test import Console, Run
from outbox_world import Place, Switch, postgres
from widget_texts import EN

WAITING, UNSURE = EN["waiting"], EN["unsure"]  # the console has the same
FILL = """(texts) => {
  const { shadowRoot } = document.querySelector('chirrup-chat');
  const field = shadowRoot.querySelector('textarea');
  for (const text of texts) {
    field.value = text;
    field.dispatchEvent(new Event('input'));
    field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }));
  }
}"""


class Refusals(Run):
    def too_fast(self) -> None:
        """The gateway takes 60 at once and 20 a second."""
        place = Place(self)
        widget = place.started("fast 000")
        expected = ["fast 000", *(f"fast {n:03}" for n in range(1, 81))]
        place.switch.shut()
        widget.page.evaluate(FILL, expected[1:])
        expect(widget.own).to_have_count(81)
        place.switch.open(widget.page)
        self.stored("a rate limit delays, and keeps the order", expected)
        widget.committed()
        place.close()

    def refused(self) -> None:
        place = Place(self)
        widget = place.started("refused 0")
        widget.page.evaluate(FILL, ["refused \ud800 1", "refused 2"])
        widget.committed()
        failed = widget.own.locator(".state.failed")
        expect(failed).to_contain_text(EN["rejected"])
        self.shot(widget.page, "outbox-refused")
        widget.page.reload()
        expect(failed).to_have_count(1)
        self.stored("what cannot be stored stops nothing else", ["refused 0", "refused 2"])
        failed.get_by_role("button", name=EN["edit"]).click()
        expect(failed).to_have_count(0)
        expect(widget.text).to_have_value(re.compile("^refused .* 1$"))
        widget.say("refused 3")
        widget.committed()
        self.stored("and can be written anew", ["refused 0", "refused 2", "refused 3"])
        widget.page.evaluate(FILL, ["refused \ud800 4"])
        failed.get_by_role("button", name=EN["delete"]).click()
        expect(failed).to_have_count(0)
        widget.page.reload()
        expect(widget.own).to_have_count(3)
        self.promise("or deleted, for good", failed.count() == 0)
        place.close()

    def operator(self, method: str, path: str) -> dict:
        """Sends a REST request as the console does."""
        page = self.desk.page
        return page.evaluate(
            "async ([method, path]) => (await fetch(path, { method })).json()",
            [method, f"/api/v1/admin/live-chat/conversations{path}"],
        )

    def closed_meanwhile(self) -> None:
        place = Place(self)
        widget = place.started("closed 0")
        expected = ["closed 0", *self.write_shut(widget, place, "closed 1", "closed 2")]
        session = self.session(widget)
        self.operator("POST", f"/{session}/claim")
        self.operator("POST", f"/{session}/close")
        place.switch.open(widget.page)
        failed = widget.own.locator(".state.failed")
        expect(failed).to_have_count(2)
        expect(failed.first).to_contain_text(EN["closed"])
        self.shot(widget.page, "outbox-closed")
        widget.page.reload()
        expect(failed).to_have_count(2)
        self.promise("closed meanwhile: refused, with the reason, also after a reload")
        failed.first.get_by_role("button", name=EN["again"]).first.click()
        widget.committed()
        expect(failed).to_have_count(0)
        expect(widget.own).to_have_count(2)
        self.stored("one click takes all of it into a new one", expected)
        self.promise("which is another one", self.session(widget) != session)
        place.close()

    @staticmethod
    def session(widget) -> str:
        known = widget.page.evaluate(
            "Object.entries(localStorage).find(([key, value]) => value.includes('refresh'))[1]"
        )
        return json.loads(known)["session"]

    def limits(self) -> None:
        place = Place(self)
        widget = place.started("limit 000")
        expected = ["limit 000", *(f"limit {n:03}" for n in range(1, 101))]
        place.switch.shut()
        widget.page.evaluate(FILL, [*expected[1:], "limit one too many"])
        expect(widget.own).to_have_count(101)
        expect(widget.panel.get_by_role("status").first).to_contain_text(EN["full"])
        expect(widget.text).to_have_value("limit one too many")
        self.shot(widget.page, "outbox-full")
        widget.page.evaluate(FILL, ["x" * 17_000])
        expect(widget.panel.get_by_role("status").first).to_contain_text(EN["too_large"])
        self.promise("beyond its limits the outbox accepts nothing, shows the reason and drops nothing")
        place.switch.open(widget.page)
        self.stored("and what it took goes out", expected)
        place.close()

    def migration(self) -> None:
        """As the version before kept it: localStorage, one key an item, no place and no tries."""
        place = Place(self)
        widget = place.started("older 0")
        session = self.session(widget)
        ids = ["0193a000-0000-7000-8000-00000000000" + digit for digit in "12"]
        ids = [f"{time.time_ns() // 10**6:012x}"[:8] + known[8:] for known in ids]
        widget.page.evaluate(
            """([session, ids]) => {
              const workspace = document.querySelector('[data-workspace]').dataset.workspace;
              ids.forEach((id, index) => localStorage.setItem(`chirrup:${workspace}:out:${id}`,
                JSON.stringify({ id, session, kind: 'text', body: `older ${index + 1}`, at: Date.now() })));
            }""",
            [session, ids],
        )
        widget.page.reload()
        widget.committed()
        self.stored("an outbox of the version before is taken over", ["older 0", "older 1", "older 2"])
        left = widget.page.evaluate("Object.keys(localStorage).filter((key) => key.includes(':out:'))")
        self.promise("once", left == [])
        place.close()

    def new_token(self) -> None:
        place = Place(self)
        widget = place.started("token 0")
        expected = ["token 0", *self.write_shut(widget, place, "token 1")]
        widget.page.evaluate(
            """() => Object.entries(localStorage).forEach(([key, value]) => {
              const identity = JSON.parse(value);
              if (!identity?.refresh) return;
              const expires_at = new Date(0).toISOString();
              localStorage.setItem(key, JSON.stringify({ ...identity, expires_at, token: 'expired' }));
            })"""
        )
        place.switch.open(widget.page)
        widget.committed()
        self.stored("a token that expired meanwhile is renewed first", expected)
        place.close()

    def paused(self) -> None:
        place = Place(self)
        widget = place.started("paused 0")
        postgres("stop_cluster immediate")
        widget.say("paused 1")
        widget.say("paused 2")
        expect(widget.panel.get_by_role("status").first).to_contain_text(
            EN["busy"], timeout=20_000
        )
        expect(widget.own.last.locator(".state")).to_contain_text(re.compile(f"{UNSURE}|{WAITING}"))
        self.shot(widget.page, "outbox-busy")
        self.promise("without a database the server is shown as busy")
        postgres("start_cluster")
        expect(widget.panel.locator(".bubble.pending")).to_have_count(0, timeout=40_000)
        self.stored("and goes on by itself", ["paused 0", "paused 1", "paused 2"])
        place.close()

    def console(self) -> None:
        place = Place(self)
        first, second = place.started("desk 0"), None
        other = Place(self)
        second = other.started("counter 0")
        desk = self.desk
        desk.page.reload()
        # The list draws only what fits.
        desk.page.set_viewport_size({"width": 1280, "height": 4_000})
        expect(desk.rows.filter(has_text="desk 0")).to_be_visible()
        desk.rows.filter(has_text="desk 0").click()
        expect(desk.theirs).to_have_text(["desk 0"])
        self.desk_switch.shut()
        desk.say("desk 1")
        desk.page.get_by_role("button", name="Note", exact=True).click()
        desk.say("desk 2")
        expect(desk.page.locator(".log .bubble.pending")).to_have_count(2)
        expect(desk.page.locator(".log .state").last).to_contain_text(WAITING)
        self.shot(desk.page, "outbox-console")
        self.accessible(desk.page, "the console with a full outbox")
        desk.rows.filter(has_text="counter 0").click()
        expect(desk.page.locator(".log .bubble.pending")).to_have_count(0)
        desk.say("counter 1")
        self.kept_again(desk, 3)
        desk.page.reload()
        expect(desk.page.locator(".log .bubble.pending")).to_have_text(["counter 1"])
        self.promise("an operator's replies wait over a reload too")
        self.desk_switch.open(desk.page)
        self.stored("and go out, also where no conversation is open", ["desk 0", "desk 1", "desk 2"])
        self.stored("each in its own", ["counter 0", "counter 1"])
        expect(first.theirs).to_have_text(["desk 1"])
        expect(second.theirs).to_have_text(["counter 1"])
        self.promise("the visitors see them")
        self.kept_again(desk, 0)  # the answers may come after the visitors have the messages
        self.desk_switch.shut()
        desk.say("counter 2")
        desk.page.get_by_label("Log out").click()
        expect(desk.page.get_by_text("1 unsent reply is kept on this device")).to_be_visible()
        self.desk_switch.open()
        desk.page.get_by_role("button", name="Log in").click()
        self.stored("logged out and in again", ["counter 0", "counter 1", "counter 2"])
        place.close()
        other.close()

    def open_desk(self) -> None:
        context = self.context(1440, 900)
        self.desk_switch = Switch(context)
        self.desk = Console(self.page(context), self.gateway.base, None, None)
        self.desk.login()
