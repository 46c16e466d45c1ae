"""Single sign-on in a browser with glewlwyd, an identity provider that we did not write (Debian's package, unpacked).

Started by oidc.sh; needs a gateway with --demo and its database. glewlwyd gets a database and an address of its own.
"""

import gzip
import http.cookiejar
import json
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from playwright.sync_api import Page, expect

from browser_test import begin
from signin_browser_test import SigninRun

SECRET, PASSWORD = "wet-paint-17", "correct horse 17"
# Refusals that the test itself causes, as the browser reports them.
REFUSALS = r"the server responded with a status of (400|401|403|404)"

CONFIGURATION = """
port={port}
bind_address="127.0.0.1"
external_url="{url}"
login_url="login.html"
api_prefix="api"
static_files_path="/usr/share/glewlwyd/webapp/"
log_mode="console"
log_level="INFO"
cookie_domain="127.0.0.1"
cookie_secure=0
session_key="GLEWLWYD2_SESSION_ID"
admin_session_authentication="cookie"
profile_session_authentication="cookie"
login_api_enabled=true
admin_scope="g_admin"
profile_scope="g_profile"
user_module_path="{modules}/user"
user_middleware_module_path="{modules}/user"
client_module_path="{modules}/client"
user_auth_scheme_module_path="{modules}/scheme"
plugin_module_path="{modules}/plugin"
use_secure_connection=false
secure_connection_key_file="-"
secure_connection_pem_file="-"
secure_connection_ca_file="-"
hash_algorithm="SHA512"
database={{ type="sqlite3"; path="{folder}/glewlwyd.db"; }};
static_files_mime_types=({{ extension=".html"; mime_type="text/html"; compress=0; }})
"""


class Glewlwyd:
    """The program in a folder of its own, with a client, two people and a key."""

    def __init__(self, place: Path, port: int, console: str) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.api, self.issuer = f"{self.url}/api", f"{self.url}/api/oidc"
        self.folder = tempfile.TemporaryDirectory(prefix="chirrup-glewlwyd.")
        folder = Path(self.folder.name)
        with gzip.open(place / "usr/share/doc/glewlwyd/database/init.sqlite3.sql.gz", "rt") as text:
            with sqlite3.connect(folder / "glewlwyd.db") as database:
                database.executescript(text.read())
        (folder / "glewlwyd.conf").write_text(CONFIGURATION.format(
            port=port, url=self.url, modules=place / "usr/lib/glewlwyd", folder=folder))
        self.log = (folder / "log").open("w+")
        self.process = subprocess.Popen(
            [place / "usr/bin/glewlwyd", f"--config-file={folder}/glewlwyd.conf"], stdout=self.log, stderr=self.log)
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        try:
            self.await_start()
            self.configure(console)
        except BaseException:
            self.end()
            raise

    def await_start(self) -> None:
        for _ in range(300):
            try:
                return self.opener.open(f"{self.url}/config", timeout=30).close()
            except OSError:
                time.sleep(0.1)
        self.log.seek(0)
        raise AssertionError("glewlwyd does not start: " + self.log.read()[-500:])

    def call(self, method: str, path: str, body: object = None) -> object:
        request = urllib.request.Request(
            self.api + path, None if body is None else json.dumps(body).encode(), {"Content-Type": "application/json"},
            method=method)
        with self.opener.open(request, timeout=30) as answer:
            text = answer.read()
            return json.loads(text) if text else None

    def configure(self, console: str) -> None:
        self.call("POST", "/auth/", {"username": "admin", "password": "password"})
        key = rsa.generate_private_key(65537, 2048)
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL,
                                    serialization.NoEncryption()).decode()
        public = key.public_key().public_bytes(serialization.Encoding.PEM,
                                               serialization.PublicFormat.SubjectPublicKeyInfo).decode()
        self.call("POST", "/mod/plugin/", {"module": "oidc", "name": "oidc", "display_name": "OIDC", "parameters": {
            "iss": self.issuer, "jwt-type": "rsa", "jwt-key-size": "256", "key": private, "cert": public,
            "access-token-duration": 3600, "refresh-token-duration": 3600, "code-duration": 600,
            "refresh-token-rolling": False, "allow-non-oidc": False, "auth-type-code-enabled": True,
            "auth-type-token-enabled": False, "auth-type-implicit-enabled": False, "auth-type-password-enabled": False,
            "auth-type-client-enabled": False, "auth-type-refresh-enabled": False, "jwks-show": True,
            "pkce-allowed": True, "pkce-required": True, "pkce-method-plain-allowed": False, "subject-type": "public",
            "name-claim": "mandatory", "email-claim": "mandatory", "scope-claim": "no", "oauth-as-iss-id": True,
            "claims": [
                {"name": "groups", "user-property": "groups", "type": "string", "mandatory": True},
                {"name": "email_verified", "user-property": "email_verified", "type": "boolean", "mandatory": True,
                 "boolean-value-true": "1", "boolean-value-false": "0"}]}})
        users = self.call("GET", "/mod/user/database")
        users["parameters"]["data-format"] |= {
            "groups": {"multiple": True, "read": True, "write": True},
            "email_verified": {"multiple": False, "read": True, "write": True}}
        self.call("PUT", "/mod/user/database", users)
        self.call("PUT", "/mod/reload/")
        for name in ("email", "profile"):
            self.call("POST", "/scope/", {"name": name, "display_name": name, "description": name,
                                          "password_required": False, "scheme": {}})
        scopes = ["openid", "email", "profile"]
        self.call("POST", "/client/?source=database", {
            "client_id": "chirrup", "name": "Chirrup", "confidential": True, "enabled": True, "client_secret": SECRET,
            "password": SECRET, "redirect_uri": [console], "authorization_type": ["code"],
            "token_endpoint_auth_method": ["client_secret_basic"], "scope": scopes})
        for name, groups, verified in (("grace", ["staff", "support-leads"], "1"), ("mallory", ["support-leads"], "0")):
            self.call("POST", "/user/?source=database", {
                "username": name, "name": name.title(), "email": f"{name}@example.com", "password": PASSWORD,
                "enabled": True, "scope": [*scopes, "g_profile"], "groups": groups, "email_verified": verified})

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(10)
        self.folder.cleanup()


class GlewlwydRun(SigninRun):
    def run(self) -> None:
        self.base = self.options.base_url
        self.provider = Glewlwyd(Path(self.options.glewlwyd), int(self.options.provider_port), f"{self.base}/console")
        self.watch.expected = re.compile(REFUSALS)
        try:
            self.settings()
            self.sign_in()
            self.refusal()
            self.second_step()
        finally:
            self.provider.end()

    def settings(self) -> None:
        self.email, self.password = self.account("owner")
        page = self.boss = self.page(self.context(1440, 900))
        page.goto(f"{self.base}/console#/settings/single-sign-on")
        self.fill(page)
        expect(page.get_by_role("heading", name="Single sign-on", exact=True)).to_be_visible()
        expect(page.get_by_label("Redirect URI")).to_have_text(f"{self.base}/console")
        switch = page.get_by_role("switch", name=re.compile("^Single sign-on"))
        expect(switch).to_be_disabled()
        expect(switch).not_to_be_checked()
        expect(page.get_by_text("Fill in the provider and save it, then switch it on")).to_be_visible()
        self.promise("before there is a provider the switch is off, and says why")
        page.get_by_label("Name", exact=True).fill("Glewlwyd")
        page.get_by_label("Issuer").fill(f"{self.provider.url}/wrong")
        page.get_by_label("Client ID").fill("chirrup")
        page.get_by_label("Client secret").fill(SECRET)
        page.get_by_label("Create members").check()
        page.get_by_label("Groups claim").fill("groups")
        page.get_by_role("button", name="Add a group").click()
        page.get_by_label("Group", exact=True).fill("support-leads")
        page.get_by_label("Role", exact=True).select_option("admin")
        save = page.get_by_role("button", name="Save")
        save.click()
        expect(page.get_by_text("Saved", exact=True)).to_be_visible()
        switch.check()
        save.click()
        expect(page.get_by_text("answered 404 at its discovery address")).to_be_visible()
        self.promise("an issuer that does not answer is refused at its field once it is switched on")
        page.get_by_label("Issuer").fill(self.provider.issuer)
        page.get_by_label("Client secret").fill(SECRET)  # the saved one goes to no other issuer
        save.click()
        expect(page.get_by_text("Saved", exact=True)).to_be_visible()
        page.reload()
        expect(switch).to_be_checked()
        expect(page.get_by_label("Issuer")).to_have_value(self.provider.issuer)
        expect(page.get_by_label("Client secret")).to_have_value("")
        self.promise("the settings are kept, without the secret")
        self.looks(page, "single-sign-on")

    def at_provider(self, page: Page, user: str) -> None:
        """Logs in with the requests of glewlwyd's own login page, and goes on as it does."""
        page.wait_for_url(f"{self.provider.url}/login.html?*")
        page.evaluate("""async ([user, password]) => {
            const send = (method, path, body) => fetch(path, {method, body: JSON.stringify(body),
              headers: {'content-type': 'application/json'}});
            await send('POST', '/api/auth/', {username: user, password});
            await send('PUT', '/api/auth/grant/chirrup', {scope: 'openid email profile'});
            location.assign(new URLSearchParams(location.search).get('callback_url') + '&g_continue');
          }""", [user, PASSWORD])
        page.wait_for_url(f"{self.base}/console*")
        # Errors of glewlwyd's own page, which lacks a library here, are none of ours.
        self.watch.complaints[:] = [each for each in self.watch.complaints if not each.startswith(self.provider.url)]

    def sign_in(self) -> None:
        page = self.page(self.context(1440, 900))
        page.goto(f"{self.base}/console")
        page.get_by_role("button", name="Single sign-on").click()
        expect(page.get_by_role("heading", name="Single sign-on")).to_be_visible()
        page.get_by_label("Workspace").fill("nowhere")
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("alert")).to_contain_text("No workspace of this name has single sign-on")
        self.promise("a workspace without a provider is refused in words")
        page.goto(f"{self.base}/console?workspace=demo")
        button = page.get_by_role("button", name="Sign in with Glewlwyd")
        expect(button).to_be_visible()
        self.looks(page, "sign-on")
        button.click()
        self.at_provider(page, "grace")
        expect(page.get_by_role("button", name=re.compile("Grace"))).to_be_visible()
        self.promise("a person of glewlwyd is in the console", page.url.startswith(f"{self.base}/console"))
        self.promise(f"and the address has neither code nor state ({page.url})", "code=" not in page.url)
        me = page.evaluate("fetch('/api/v1/auth/me').then((answer) => answer.json())")
        self.promise(f"with the role of the group ({me['operator']})",
                     me["operator"]["role"] == "admin" and me["operator"]["email"] == "grace@example.com")
        page.reload()
        expect(page.get_by_role("button", name=re.compile("Grace"))).to_be_visible()
        self.promise("a reload keeps the session")

    def refusal(self) -> None:
        page = self.page(self.context(1440, 900))
        page.goto(f"{self.base}/console?workspace=demo")
        page.get_by_role("button", name="Sign in with Glewlwyd").click()
        self.at_provider(page, "mallory")
        expect(page.get_by_role("alert")).to_contain_text("has not confirmed your e-mail address")
        self.promise("an address that glewlwyd has not verified is refused in words")
        page.goto(f"{self.base}/console?code=forged&state=forged")
        expect(page.get_by_role("alert")).to_contain_text("not begun in this browser")
        self.promise("a forged answer in a link is refused", "state=" not in page.url)

    def begin_at_provider(self) -> Page:
        page = self.page(self.context(1440, 900))
        page.goto(f"{self.base}/console?workspace=demo#/settings/security")
        page.get_by_role("button", name="Sign in with Glewlwyd").click()
        self.at_provider(page, "grace")
        return page

    def is_in_console(self, page: Page) -> None:
        expect(page.get_by_role("button", name=re.compile("Grace"))).to_be_visible()

    def second_step(self) -> None:
        """The workspace requires a second factor, and does not trust the provider's: Chirrup asks for its own."""
        self.boss.goto(f"{self.base}/console#/settings/security")
        self.boss.get_by_label("Require two-factor login").check(force=True)
        self.boss.get_by_role("button", name="Save", exact=True).click()
        expect(self.boss.locator(".save > p").filter(has_text="Saved")).to_be_visible()
        page = self.begin_at_provider()
        expect(page.get_by_role("heading", name="Set up a second factor")).to_be_visible()
        expect(page.get_by_role("img", name="QR code of the key")).to_be_visible()
        self.promise("a member without a password sets up a second factor, and is not asked for a password",
                     page.get_by_label("Your password").count() == 0)
        codes = self.enrol(page, "sign-on-factor")
        self.is_in_console(page)
        page.context.close()
        page = self.begin_at_provider()
        expect(page.get_by_role("heading", name="Enter your code")).to_be_visible()
        found = page.evaluate("fetch('/api/v1/auth/me').then((answer) => answer.status)")
        self.promise(f"the provider's answer alone is not a login then ({found})", found == 401)
        self.looks(page, "sign-on-code")
        page.get_by_label("Code", exact=True).fill(self.app.at(self.step * 30))
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_text("Wrong code, or one that was used before.")).to_be_visible()
        self.code(page)
        page.get_by_role("button", name="Log in").click()
        self.is_in_console(page)
        self.promise("a code that was used is refused, and a new one completes the sign-in")
        page.goto(f"{self.base}/console#/settings/security")
        page.get_by_role("button", name="New recovery codes").click()
        expect(page.get_by_role("button", name="Replace")).to_be_visible()
        self.promise("their settings ask for no password either", page.get_by_label("Your password").count() == 0)
        page.context.close()
        page = self.begin_at_provider()
        page.get_by_role("button", name="Use a recovery code").click()
        page.get_by_label("Recovery code", exact=True).fill(codes[0])
        page.get_by_role("button", name="Log in").click()
        self.is_in_console(page)
        self.promise("a recovery code completes it, too")


if __name__ == "__main__":
    sys.exit(begin(GlewlwydRun, __doc__, "single sign-on", ("--chirrup", "--database", "--glewlwyd", "--provider-port")))
