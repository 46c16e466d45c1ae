"""Teams as administrators, visitors and operators see them.

Started by teams.sh. Pages and sockets are real; SQL creates a second operator, and writes settings.
"""

import json
import re
import sys

from browser_test import Console, Widget
from playwright.sync_api import expect
from widget_test import WidgetRun, main
from widget_texts import EN

#: The gateways look every two seconds, and reload settings as often.
PATIENCE = 30_000


class TeamsRun(WidgetRun):
    def run(self) -> None:
        first = self.page(self.context())
        demo = first.request.get(f"{self.options.base_url}/demo").text()
        self.key = re.search('data-workspace="([^"]+)"', demo).group(1)
        self.config = f"{self.options.base_url}/api/v1/widget/config?workspace={self.key}"
        # A second operator with the password of the first, which the page of the demo fills in.
        self.sql(
            "WITH made AS (INSERT INTO operators (email, name, password_hash) SELECT 'noor@example.com', 'Noor Haddad',"
            " password_hash FROM operators WHERE password_hash IS NOT NULL LIMIT 1 RETURNING id)"
            " INSERT INTO memberships (workspace_id, operator_id, role) SELECT w.id, made.id, 'agent' FROM workspaces w, made"
        )
        self.mika = self.console()
        self.name = self.sql("SELECT name FROM operators WHERE email <> 'noor@example.com' LIMIT 1")
        self.noor = self.console("noor@example.com")
        for part in (self.settings, self.chosen, self.transferred, self.page_chooses, self.rules, self.bot_chooses,
                     self.hours, self.deleted):
            if not self.options.only or part.__name__ in self.options.only.split(","):
                part(first)

    def console(self, email: str | None = None) -> Console:
        desk = Console(self.page(self.context(1440, 900)), self.options.base_url, None, None)
        if email:
            desk.page.get_by_label("Email").fill(email)
        desk.login()
        return desk

    def holder(self, session: str) -> str:
        return self.sql(
            f"SELECT coalesce(o.name, s.status) FROM chat_sessions s LEFT JOIN operators o"
            f" ON o.id = s.assigned_operator_id WHERE s.id = '{session}'"
        )

    def row(self, desk: Console, session: str):
        return desk.page.locator(f'.row[data-id="{session}"]')

    # The parts

    def team(self, name: str, member: str, mode: str) -> None:
        page = self.mika.page
        page.get_by_role("link", name="New team").click()
        editor = page.get_by_role("complementary", name="team")
        editor.get_by_label("Name", exact=True).fill(name)
        editor.get_by_role("checkbox", name=member).check()
        editor.get_by_label("Assignment").select_option(mode)
        editor.get_by_role("button", name="Save", exact=True).click()
        expect(editor.get_by_text("Saved", exact=True)).to_be_visible()

    def settings(self, _) -> None:
        page = self.mika.page
        page.goto(f"{self.options.base_url}/console#/settings/teams")
        expect(page.get_by_text("No teams yet")).to_be_visible()
        self.pictures(page, "teams-empty")
        page.get_by_role("link", name="New team").click()
        editor = page.get_by_role("complementary", name="team")
        editor.get_by_role("button", name="Save", exact=True).click()
        expect(editor.get_by_text("Enter a name.")).to_be_visible()
        self.promise("a team without a name is refused at its field")
        editor.get_by_role("button", name="Cancel").click()
        self.team("Billing", "Noor Haddad", "least_busy")
        self.team("Sales", self.name, "least_busy")
        expect(page.locator(".items .item")).to_have_count(2)
        self.accessible(page, "the teams")
        page.locator(".items .item", has_text="Billing").click()
        editor.get_by_label("Conversations per member").fill("3")
        editor.get_by_label("Languages").fill("en, d e,")
        editor.get_by_text("Its own", exact=True).click()
        self.watch.expected = re.compile("Failed to load resource")
        editor.get_by_role("button", name="Save", exact=True).click()
        expect(editor.get_by_role("alert").filter(has_text="language tags")).to_be_visible()
        self.promise("a wrong language is refused at its field")
        self.watch.expected = re.compile(r"$^")
        editor.get_by_label("Languages").fill("en, de")
        self.pictures(page, "teams-editor")
        self.accessible(page, "the editor of a team")
        editor.get_by_text("As the workspace", exact=True).last.click()
        editor.get_by_role("button", name="Save", exact=True).click()
        expect(editor.get_by_text("Saved", exact=True)).to_be_visible()
        kept = self.sql("SELECT capacity || ' ' || array_to_string(languages, ',') || ' ' || (hours IS NULL)"
                        " FROM chat_teams WHERE name = 'Billing'")
        self.promise(f"an administrator makes and changes teams: {kept}", kept == "3 en,de true")
        self.noor.page.goto(f"{self.options.base_url}/console#/settings/teams")
        expect(self.noor.page.locator(".items .item")).to_have_count(2)
        expect(self.noor.page.get_by_role("link", name="New team")).to_have_count(0)
        self.promise("an agent sees the teams, and cannot change them")
        for desk in (self.mika, self.noor):
            desk.page.goto(f"{self.options.base_url}/console#/")
            expect(desk.page.get_by_role("heading", name="Inbox")).to_be_visible()

    def chosen(self, page) -> None:
        fields = [{"key": "team", "label": "Department", "type": "team", "required": True}]
        self.set(page, lambda it: it["prechat"]["enabled"], prechat={"enabled": True, "fields": fields})
        widget = self.visitor()
        widget.launcher.click()
        panel = widget.panel
        panel.get_by_role("button", name=EN["start"]).click()
        choice = panel.get_by_label("Department")
        expect(choice.get_by_role("option")).to_have_text(["", "Billing", "Sales"])
        choice.select_option("Billing")
        self.pictures(widget.page, "teams-form")
        self.accessible(widget.page, "the form with the teams")
        panel.get_by_role("button", name=EN["start"]).click()
        expect(widget.text).to_be_focused()
        widget.say("My invoice is wrong")
        widget.committed()
        self.widget, self.talk = widget, self.session(widget.page)
        expect(self.row(self.noor, self.talk)).to_contain_text("Billing", timeout=PATIENCE)
        expect(panel.locator(".who p")).to_contain_text("Noor", timeout=PATIENCE)
        self.promise("the visitor's choice: a member of the team gets the conversation",
                     self.holder(self.talk) == "Noor Haddad")
        self.set(page, lambda it: not it["prechat"]["enabled"], prechat={"enabled": False, "fields": []})

    def transferred(self, _) -> None:
        noor, mika = self.noor.page, self.mika.page
        noor.goto(f"{self.options.base_url}/console#{self.talk}")
        expect(noor.locator(".thread .bar .place, .bar .second")).to_contain_text("Billing")
        self.pictures(noor, "teams-thread")
        noor.get_by_label("Message", exact=True).fill("Sales can tell you more.")
        noor.keyboard.press("Enter")
        expect(self.widget.panel.get_by_text("Sales can tell you more.")).to_be_visible()
        expect(self.row(self.noor, self.talk)).to_contain_text("You: Sales can tell you more.")
        noor.get_by_role("button", name="Transfer", exact=True).click()
        sheet = noor.get_by_role("form", name="Transfer to")
        expect(sheet.get_by_text("Queue of Billing")).to_be_visible()
        self.pictures(noor, "teams-transfer")
        self.accessible(noor, "the sheet with the teams")
        sheet.locator("label", has_text="Sales").click()
        sheet.get_by_role("button", name="Transfer", exact=True).click()
        expect(noor.locator(".bar .chip").first).to_have_text(f"With {self.name}", timeout=PATIENCE)
        expect(self.widget.panel.locator(".who p")).to_contain_text(self.name.split()[0], timeout=PATIENCE)
        self.promise("a transfer to another team: the first operator sees it leave, its member gets it",
                     self.holder(self.talk) == self.name)
        mika.locator(".tabs button", has_text="Mine").click()
        expect(self.row(self.mika, self.talk)).to_contain_text("Noor Haddad: Sales can tell you more.")
        self.promise("the list names the colleague who wrote the last reply")
        self.pictures(mika, "teams-list")
        mika.get_by_role("button", name="Filter", exact=True).click()
        team = mika.get_by_label("Team", exact=True)
        expect(team.get_by_role("option")).to_have_text(["All", "No team", "Billing", "Sales"])
        team.select_option(label="Billing")
        expect(mika.get_by_text("No conversations match")).to_be_visible()
        self.accessible(mika, "the list's filter")
        self.pictures(mika, "teams-filter")
        team.select_option(label="Sales")
        expect(self.row(self.mika, self.talk)).to_be_visible()
        self.promise("the list is filtered by team")
        mika.get_by_role("button", name="Filter", exact=True).click()

    def page_chooses(self, _) -> None:
        widget = self.visitor()
        # As if the page had this script tag instead.
        widget.page.evaluate(
            """async (team) => {
              const script = document.createElement('script');
              const old = document.querySelector('script[data-workspace]');
              Object.assign(script, { src: old.src }).dataset.workspace = old.dataset.workspace;
              script.dataset.team = team;
              chirrup.destroy();
              await new Promise((done) => { script.onload = done; document.head.append(script); });
            }""", "Billing")
        widget.open()
        widget.say("From the page of invoices")
        widget.committed()
        expect(widget.panel.locator(".who p")).to_contain_text("Noor", timeout=PATIENCE)
        self.promise("the page's data-team: a member of the team gets the conversation",
                     self.holder(self.session(widget.page)) == "Noor Haddad")
        widget.page.context.close()
        other = self.visitor()
        other.page.evaluate("() => { chirrup.setTeam('Sales'); }")
        other.open()
        other.say("From a script")
        other.committed()
        expect(other.panel.locator(".who p")).to_contain_text(self.name.split()[0], timeout=PATIENCE)
        self.promise("chirrup.setTeam(): a member of the team gets the conversation",
                     self.holder(self.session(other.page)) == self.name)
        other.page.context.close()

    def rules(self, _) -> None:
        """Rules of the queue: by the page, and by the languages of the teams. Billing has en and de."""
        page = self.mika.page
        page.goto(f"{self.options.base_url}/console#/settings/queue")
        for number, (path, language, team) in enumerate((
                ("/nowhere", "", "Sales"), ("/demo", "", "By the visitor’s language"), ("", "fr", "Sales"))):
            page.get_by_role("button", name="Add a rule").click()
            rule = page.get_by_role("group", name=f"Rule {number + 1}", exact=True)
            rule.get_by_label("Page begins with").fill(path)
            rule.get_by_label("Language", exact=True).fill(language)
            rule.get_by_label("Team", exact=True).select_option(label=team)
        self.accessible(page, "the rules of the queue")
        self.pictures(page, "teams-rules")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator(".save > p")).to_have_text("Saved")
        page.reload()
        expect(page.get_by_role("group", name=re.compile("^Rule "))).to_have_count(3)
        rule = page.get_by_role("group", name="Rule 2", exact=True)
        expect(rule.get_by_label("Page begins with")).to_have_value("/demo")
        expect(rule.get_by_label("Team", exact=True)).to_have_value("*")
        self.promise("an administrator writes rules by page and language, which are there after a reload")
        page.wait_for_timeout(2_100)  # SettingsCache.secondsMax
        for locale, team in (("de-AT", "Billing"), ("fr-FR", "Sales"), ("ja-JP", "")):
            widget = self.visitor(locale=locale)
            widget.launcher.click()
            text = widget.panel.locator("textarea").first
            text.fill("Hello")
            text.press("Enter")
            expect(widget.panel.locator(".bubble.pending")).to_have_count(0)
            session = self.session(widget.page)
            found = self.sql("SELECT coalesce(t.name, '') FROM chat_sessions s LEFT JOIN chat_teams t ON t.id = s.team_id"
                             f" WHERE s.id = '{session}'")
            self.promise(f"a visitor with {locale} comes to “{found}”", found == team)
            widget.page.context.close()
        for _ in range(3):
            page.get_by_role("button", name="Remove Rule 1").click()
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator(".save > p")).to_have_text("Saved")
        page.wait_for_timeout(2_100)
        self.promise("rules are removed again", self.sql(
            "SELECT value::jsonb -> 'rules' FROM system_settings WHERE key = 'routing'") == "[]")

    def bot_chooses(self, _) -> None:
        page = self.mika.page
        page.goto(f"{self.options.base_url}/console#/settings/intents")
        page.get_by_role("link", name="New rule").first.click()
        editor = page.get_by_role("complementary", name="rule")
        editor.get_by_label("Name", exact=True).fill("Invoices")
        editor.get_by_label("Words to match").fill("invoice")
        editor.get_by_label("Reply with").select_option(label="Handover to operators")
        editor.get_by_label("Team", exact=True).select_option(label="Billing")
        self.pictures(page, "teams-rule")
        self.accessible(page, "the rule that hands over to a team")
        editor.get_by_role("button", name="Save", exact=True).click()
        expect(editor.get_by_text("Saved", exact=True)).to_be_visible()
        # The page shows the saved rule in its list before it is left.
        expect(page.locator(".items .item", has_text="Invoices")).to_be_visible()
        page.goto(f"{self.options.base_url}/console#/settings/menus")
        page.get_by_role("link", name="New menu").first.click()
        editor = page.get_by_role("complementary", name="menu")
        editor.get_by_label("Name", exact=True).fill("Main")
        editor.get_by_label("Label", exact=True).fill("Talk to sales")
        editor.get_by_label("Action", exact=True).select_option(label="Requests an operator")
        editor.get_by_label("Team", exact=True).select_option(label="Sales")
        self.pictures(page, "teams-menu")
        editor.get_by_role("button", name="Save", exact=True).click()
        expect(editor.get_by_text("Saved", exact=True)).to_be_visible()
        editor.get_by_role("button", name="Publish", exact=True).click()
        expect(editor.get_by_role("button", name="Unpublish")).to_be_visible()
        widget = self.visitor()
        widget.open()
        widget.say("a question about an invoice")
        widget.committed()
        expect(widget.panel.locator(".who p")).to_contain_text("Noor", timeout=PATIENCE)
        self.promise("a rule of the bot hands over to a team: its member gets the conversation",
                     self.holder(self.session(widget.page)) == "Noor Haddad")
        widget.page.context.close()
        other = self.visitor()
        other.open()
        other.panel.locator("details.menu summary").click()
        other.panel.get_by_role("button", name="Talk to sales").click()
        expect(other.panel.locator(".who p")).to_contain_text(self.name.split()[0], timeout=PATIENCE)
        self.promise("an item of the menu requests an operator of a team: its member gets it",
                     self.holder(self.session(other.page)) == self.name)
        other.page.context.close()
        self.sql("DELETE FROM rich_menus")
        self.sql("UPDATE intents SET replies = jsonb_build_array(jsonb_build_object('handover', true, 'team',"
                 " gen_random_uuid()))")
        page.goto(f"{self.options.base_url}/console#/settings/intents")
        # A page that was open keeps its list.
        page.reload()
        page.locator(".items .item", has_text="Invoices").click()
        chosen = page.get_by_role("group", name="Reply").get_by_label("Team").locator("option:checked")
        expect(chosen).to_have_text("A deleted team")
        self.promise("the page shows that the team of a rule is deleted")
        self.sql("DELETE FROM intents")
        page.goto(f"{self.options.base_url}/console#/")

    def hours(self, _) -> None:
        self.sql("UPDATE chat_teams SET assign = 'off' WHERE name = 'Billing'")
        widget = self.visitor()
        widget.page.evaluate("() => { chirrup.setTeam('Billing'); }")
        widget.open()
        widget.say("Anybody there?")
        widget.committed()
        place = widget.panel.locator(".queue")
        expect(place).to_be_visible(timeout=PATIENCE)
        closed = json.dumps({"always": False, "time_zone": "UTC", "days": [], "holidays": []})
        self.sql(f"UPDATE chat_teams SET hours = '{closed}' WHERE name = 'Billing'")
        expect(place).to_have_count(0, timeout=PATIENCE)
        self.promise("outside the team's hours its visitors see no position")
        self.sql("UPDATE chat_teams SET hours = NULL WHERE name = 'Billing'")
        expect(place).to_be_visible(timeout=PATIENCE)
        self.waiting = widget

    def deleted(self, _) -> None:
        page = self.mika.page
        everyones = "SELECT count(*) FROM chat_sessions WHERE team_id IS NULL AND status = 'waiting'"
        before = int(self.sql(everyones))
        page.goto(f"{self.options.base_url}/console#/settings/teams")
        page.locator(".items .item", has_text="Billing").click()
        editor = page.get_by_role("complementary", name="team")
        editor.get_by_role("button", name="Delete").first.click()
        editor.get_by_role("group").get_by_role("button", name="Delete").click()
        expect(page.locator(".items .item")).to_have_count(1)
        more = int(self.sql(everyones)) - before
        self.promise(f"a deleted team leaves its conversations to everyone: {more}", more == 1)


if __name__ == "__main__":
    sys.exit(main(TeamsRun, "teams"))
