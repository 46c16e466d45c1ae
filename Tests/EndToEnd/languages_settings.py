"""The places of settings, analytics and setup whose texts the test of the console's languages looks at."""

SETTINGS = (
    "appearance", "members", "members/new", "teams", "teams/new", "single-sign-on", "hours", "queue", "visitors",
    "deleted", "replies", "replies/new", "macros", "macros/new", "intents", "intents/new", "menus", "menus/new",
    "proactive", "proactive/new", "assist", "messages", "webhooks", "webhooks/new", "keys", "keys/new", "identity",
    "identity/new", "credentials", "credentials/new", "audit", "connections", "account", "notifications", "security",
)
#: The widest pages, for pictures in each language.
LOOKS = tuple((name.replace("/", "-"), f"/{name}") for name in (
    "settings/queue", "settings/teams/new", "settings/members/new", "settings/security", "settings/keys/new",
    "settings/macros/new", "analytics/90", "analytics/90/ratings",
))
#: What is no text of these pages: code, addresses, details of the audit log as the API has them, time zones, tags.
DATA = ("pre, td[dir=ltr], .end-state, .scroll .num, option[value*='/'], option[value=UTC], .range, svg title,"
        " optgroup option, select[aria-label='⟦Tag⟧'] option:not(:first-child), .remarks .chip")
#: What they type or show as an example, names of languages and people, and words that are the same in each language.
TYPED = (
    "/billing", "en, de", "https://", "{{visitor.name}}", "{{operator.name}}", "English", "Deutsch", "Español", "العربية",
    "日本語", "ไทย", "max_completion_tokens", "max_tokens", "URL", "CSV", "LINE", "Telegram", "P50", "P90", "Mika", "Noor",
    ", UTC", "\u00a0MiB", "demo",
)


def at(place: str):
    """A place by its address."""
    def visit(run, page) -> None:
        page.goto(f"{run.options.base_url}/{place}")
        page.wait_for_timeout(700)
    return visit


def setup_step(count: int):
    """A later step of the setup, which an owner reaches by a login."""
    def visit(run, page) -> None:
        page.goto(f"{run.options.base_url}/setup?{count}")
        page.locator("form.step").wait_for()
        for step in range(count):
            if step == 1:  # the gateway stays open for the parts that follow
                page.locator(".segments label").first.click()
            page.locator("form.step [type=submit]").click()
            page.wait_for_timeout(700)
    return visit


PLACES = {
    **{f"settings-{name.replace('/', '-')}": at(f"console#/settings/{name}") for name in SETTINGS},
    "analytics": at("console#/analytics/90"),
    "analytics-ratings": at("console#/analytics/90/ratings"),
    "setup-owner": at("setup#no-code"),
    **{f"setup-step-{count + 2}": setup_step(count) for count in range(3)},
}
