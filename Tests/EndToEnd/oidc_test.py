"""Single sign-on at the real gateway with a provider that lies (issue 17.2): forged answers and tokens, links of
members, roles of groups, and the rules of a workspace.

Started by oidc.sh. Every promise is printed with its verdict; the first broken one ends the run.
"""

import re
import sys
import time
import uuid
from pathlib import Path

import pyotp

from oidc_provider import Key, Provider
from signin_test import Answer, SignIn, begin

PATH = "/api/v1/auth/provider"
SETTINGS = "/api/v1/admin/identity-provider"


class Browser:
    """Cookies and an address of its own, so that the limit of attempts does not join two."""

    count = 0

    def __init__(self, test: "OIDC") -> None:
        Browser.count += 1
        self.test, self.cookies = test, {}
        self.source = f"127.0.{20 + Browser.count // 250}.{1 + Browser.count % 250}"

    def ask(self, path: str, body: dict, **headers: str) -> Answer:
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answer = self.test.ask("POST", path, body, self.source, Origin=self.test.options.base_url, Cookie=cookie,
                               **headers)
        self.cookies |= answer.cookies
        return answer

    def begin(self) -> str:
        answer = self.ask(f"{PATH}/begin", {"workspace": "demo"})
        assert answer.status == 200, (answer.status, answer.json)
        return answer.json["url"]


class OIDC(SignIn):
    def run(self) -> None:
        self.provider = Provider()
        self.email, password = self.account("owner")
        self.owner = {"Authorization": f"Bearer {self.login(self.email, password).json['token']}"}
        self.settings()
        self.browsers()
        self.tokens()
        self.members()
        self.roles()
        self.rules()
        self.second_step()
        self.records()
        self.rotation()

    # Steps

    def put(self, **changes: object) -> Answer:
        body = {"label": "Our login", "issuer": self.provider.issuer, "client_id": Provider.client,
                "client_secret": Provider.secret, "create_members": True, "groups_claim": "groups",
                "group_roles": [{"group": "leads", "role": "admin"}, {"group": "heads", "role": "owner"}],
                "default_role": "agent"}
        return self.ask("PUT", SETTINGS, body | changes, **self.owner)

    def person(self, **changes: object) -> dict:
        name = uuid.uuid4().hex[:10]
        return {"sub": f"sub-{name}", "email": f"{name}@example.com", "email_verified": True, "name": "Ada",
                "groups": []} | changes

    def enter(self, person: dict, browser: Browser | None = None, **lies: object) -> Answer:
        browser = browser or Browser(self)
        return browser.ask(f"{PATH}/finish", self.provider.authorize(browser.begin(), person, lies))

    def code(self, answer: Answer) -> tuple[int, str]:
        return answer.status, answer.json.get("type", "").split(":")[-1]

    def role(self, person: dict) -> str:
        return self.sql(f"SELECT role FROM memberships m JOIN operators o ON o.id = m.operator_id "
                        f"WHERE o.email = '{person['email']}'")

    # Promises

    def settings(self) -> None:
        self.promise("without a provider there is nothing to sign in with",
                     self.code(self.ask("GET", f"{PATH}?workspace=demo")) == (404, "no_identity_provider"))
        bad = ["http://169.254.169.254", "http://[fd00:ec2::254]", "file:///etc/passwd", "https://user:x@example.com",
               f"{self.provider.issuer}?x=1", "http://127.0.0.1:25"]
        found = [self.code(self.put(issuer=issuer)) for issuer in bad]
        self.promise(f"issuers that the guard refuses ({found})", all(status == 400 for status, _ in found))
        for name, text in (("slow", b"slow"), ("redirecting", b"redirect"), ("endless", b"x" * 300_000),
                           ("broken", b"{")):
            self.provider.body_of = {"/.well-known/openid-configuration": text}
            begin_time = time.monotonic()
            answer = self.put()
            seconds = time.monotonic() - begin_time
            self.promise(f"a {name} provider is refused within {seconds:.1f} s ({answer.json.get('detail')})",
                         answer.status == 400 and seconds < 9)
        self.provider.body_of = {}
        for name, document in (("another issuer", {"issuer": "https://example.com"}),
                               ("no S256", {"code_challenge_methods_supported": ["plain"]}),
                               ("a script", {"authorization_endpoint": "javascript:alert(1)"})):
            self.provider.document = document
            answer = self.put()
            self.promise(f"a document with {name} is refused ({answer.json.get('detail')})", answer.status == 400)
        self.provider.document = {}
        answer = self.put()
        self.promise("an owner sets the provider, and the secret is not returned",
                     answer.status == 200 and Provider.secret not in str(answer.json)
                     and "client_secret" not in answer.json["identity_provider"])
        email, password = self.account("admin")
        admin = {"Authorization": f"Bearer {self.login(email, password).json['token']}"}
        found = [self.ask("GET", SETTINGS, **admin).status, self.ask("PUT", SETTINGS, {}, **admin).status,
                 self.ask("DELETE", SETTINGS, **admin).status]
        self.promise(f"administrators see it, and only owners change it ({found})", found == [200, 403, 403])
        stored = self.sql("SELECT p::text FROM identity_providers p")
        self.promise("the database has the secret encrypted only",
                     Provider.secret not in stored and Provider.secret.encode().hex() not in stored)

    def browsers(self) -> None:
        """State: bound to the browser, used once, and for its own provider."""
        victim, other = Browser(self), Browser(self)
        person = self.person()
        answer = self.provider.authorize(other.begin(), person, {})
        found = self.code(victim.ask(f"{PATH}/finish", answer))
        self.promise(f"an answer that another browser began is refused: login CSRF ({found})",
                     found == (401, "sign_in_expired"))
        victim.begin()
        found = self.code(victim.ask(f"{PATH}/finish", answer))
        self.promise(f"also if this browser began a sign-in of its own ({found})", found == (401, "sign_in_expired"))
        cookie = other.cookies["chirrup_sign_in"]
        for name, forged in (("cut", cookie[:-4]), ("of another purpose", cookie.split(".")[0] + "." + "A" * 200),
                             ("none", "")):
            victim.cookies = {"chirrup_sign_in": forged}
            found = self.code(victim.ask(f"{PATH}/finish", answer))
            self.promise(f"a cookie that is forged ({name}) is refused ({found})", found == (401, "sign_in_expired"))
        foreign = self.ask("POST", f"{PATH}/finish", answer, Origin="https://evil.example", Cookie=f"chirrup_sign_in={cookie}")
        self.promise("a foreign page cannot finish one", self.code(foreign) == (403, "cross_site"))
        entered = other.ask(f"{PATH}/finish", answer)
        self.promise("the browser that began gets the login and its cookie",
                     entered.status == 200 and entered.json["operator"]["email"] == person["email"]
                     and "chirrup_session" in entered.cookies and entered.cookies["chirrup_sign_in"] == "")
        lines = entered.headers.get_all("Set-Cookie")
        self.promise("the cookies are HttpOnly and SameSite=Strict, and those of every login",
                     all("HttpOnly" in line and "SameSite=Strict" in line for line in lines)
                     and {line.split("=")[0] for line in lines} >= {"chirrup_session", "chirrup_sign_in"})
        renewed = other.ask("/api/v1/auth/token", {})
        self.promise("the login's cookie gives tokens", renewed.status == 200)
        other.cookies["chirrup_sign_in"] = cookie
        found = self.code(other.ask(f"{PATH}/finish", answer))
        self.promise(f"the same answer again is refused ({found})", found == (403, "sign_in_replayed"))
        for name, change, wanted in (
                ("of another issuer: mix-up", {"iss": "https://evil.example"}, "answer_issuer"),
                ("without the issuer that the provider always names", {"iss": None}, "provider_failed"),
                ("with a code of nobody", {"code": "invented"}, "provider_failed"),
                ("with an error", {"error": "access_denied"}, "provider_refused")):
            found = self.code(self.enter(self.person(), answer=change))
            self.promise(f"an answer {name} is refused ({found})", found == (403, wanted))
        browser, second = Browser(self), Browser(self)
        browser.begin()
        stolen = self.provider.authorize(second.begin(), self.person(), {})["code"]
        mine = self.provider.authorize(browser.begin(), self.person(), {})
        found = self.code(browser.ask(f"{PATH}/finish", mine | {"code": stolen}))
        self.promise(f"a code of another browser fails at its verifier ({found}, {self.provider.refused})",
                     found == (403, "provider_failed") and self.provider.refused[-1] == "verifier")

    def tokens(self) -> None:
        now, stranger = int(time.time()), Key("r1")
        rows = [
            ("RS256", {}, None), ("ES256", {"key": self.provider.keys[1]}, None),
            ("alg none", {"header": {"alg": "none"}}, "token_algorithm"),
            ("HS256 with the public key", {"header": {"alg": "HS256"}, "hmac": self.provider.keys[0].pem},
             "token_algorithm"),
            ("HS256 with the client's secret", {"header": {"alg": "HS256"}, "hmac": Provider.secret.encode()},
             "token_algorithm"),
            ("a stranger's key under a known kid", {"key": stranger}, "token_signature"),
            ("changed claims", {"swap": {"sub": "somebody else"}}, "token_signature"),
            ("another nonce", {"claims": {"nonce": "n"}}, "token_nonce"),
            ("another audience", {"claims": {"aud": "other"}}, "token_audience"),
            ("two audiences", {"claims": {"aud": ["x", Provider.client]}}, "token_authorized_party"),
            ("another azp", {"claims": {"azp": "other"}}, "token_authorized_party"),
            ("another issuer", {"claims": {"iss": "https://example.com"}}, "token_issuer"),
            ("expired", {"claims": {"exp": now - 120}}, "token_expired"),
            ("from the future", {"claims": {"iat": now + 3_600}}, "token_from_the_future"),
            ("no subject", {"claims": {"sub": ""}}, "token_subject"),
            ("a UserInfo endpoint about somebody else",
             {"claims": {"groups": None}, "me": {"sub": "x"}}, "provider_failed"),
        ]
        for name, lies, wanted in rows:
            person = self.person()
            answer = self.enter(person, **lies)
            known = self.sql(f"SELECT count(*) FROM operators WHERE email = '{person['email']}'")
            found = (*self.code(answer), known)
            self.promise(f"a token: {name} ({found})", found == (
                (200, "", "1") if wanted is None else (403, wanted, "0")) and (
                wanted is None or "chirrup_session" not in answer.cookies))

    def members(self) -> None:
        email, _ = self.account()
        person = self.person(email=email.upper(), email_verified=False)
        found = self.code(self.enter(person))
        self.promise(f"an address that is not verified links nobody ({found})", found == (403, "email_unverified"))
        answer = self.enter(person | {"email_verified": True})
        self.promise("a verified one links the member of this workspace",
                     answer.status == 200 and answer.json["operator"]["email"] == email)
        answer = self.enter(person | {"email": "new@example.com", "email_verified": False})
        self.promise("later the subject counts, whatever the address",
                     answer.status == 200 and answer.json["operator"]["email"] == email)
        found = self.code(self.enter(self.person(email=email)))
        self.promise(f"an address that another person got is not linked again ({found})",
                     found == (403, "another_identity_linked"))
        name = f"other{uuid.uuid4().hex[:6]}"
        self.command("workspace", "create", name)
        elsewhere = f"{name}@example.com"
        self.command("operator", "create", "--workspace", name, "--email", elsewhere, "--name", "Eve", "--role", "owner",
                     "--password", f"violet {uuid.uuid4().hex}", "--keep-password")
        found = self.code(self.enter(self.person(email=elsewhere)))
        self.promise(f"an account of another workspace is not linked ({found})",
                     found == (403, "account_of_another_workspace"))
        self.sql(f"INSERT INTO memberships (workspace_id, operator_id, role) SELECT w.id, o.id, 'agent' FROM workspaces w,"
                 f" operators o WHERE w.name = '{name}' AND o.email = '{email}'")
        found = self.code(self.enter(person))
        self.promise(f"nor one that has joined another workspace since ({found})",
                     found == (403, "account_of_another_workspace"))
        person = self.person(email=None, me={})
        sub = person["sub"]
        lies = {"me": {"sub": sub, "email": f"{sub}@example.com", "email_verified": True, "groups": ["leads"]}}
        answer = self.enter({"sub": sub, "name": "Lea"}, **lies)
        self.promise("address and groups may come from the UserInfo endpoint",
                     answer.status == 200 and answer.json["operator"]["role"] == "admin")
        self.put(create_members=False)
        found = self.code(self.enter(self.person()))
        self.promise(f"unknown people become members only if the workspace wishes ({found})",
                     found == (403, "person_unknown"))
        self.put()
        gone = self.person()
        self.enter(gone)
        self.command("operator", "disable", "--email", gone["email"])
        found = self.code(self.enter(gone))
        self.promise(f"a disabled account stays out ({found})", found == (403, "account_disabled"))

    def roles(self) -> None:
        person = self.person(groups=["x", "leads"])
        browser = Browser(self)
        token = self.enter(person, browser).json["token"]
        self.promise("groups give roles", self.role(person) == "admin")
        self.enter(person | {"groups": []})
        self.promise("a sign-in takes no role back by default", self.role(person) == "admin")
        self.put(take_roles_back=True)
        self.enter(person | {"groups": []})
        self.promise("it does if the workspace wishes", self.role(person) == "agent")
        found = self.ask("GET", "/api/v1/auth/me", Authorization=f"Bearer {token}").status
        self.promise(f"a token with the older role ends ({found})", found == 401)
        self.put(take_roles_back=True, default_role=None)
        found = self.code(self.enter(person | {"groups": []}))
        self.promise(f"people without a role stay out then ({found})", found == (403, "no_role"))
        found = self.code(self.enter(self.person()))
        self.promise(f"and do not become members ({found})", found == (403, "no_role"))
        name = f"sole{uuid.uuid4().hex[:6]}"
        self.put(take_roles_back=True)
        self.sql(f"UPDATE memberships SET role = 'agent' WHERE role = 'owner' AND workspace_id = (SELECT id FROM "
                 f"workspaces WHERE name = 'demo') AND operator_id <> (SELECT id FROM operators WHERE email = "
                 f"'{self.email}')")
        sole = self.person(email=self.email, sub=name)
        answer = self.enter(sole)
        self.promise("the last owner keeps the role",
                     answer.status == 200 and self.role(sole) == "owner")
        self.put()

    def rules(self) -> None:
        email, password = self.account()
        self.put(password_login=False)
        found = self.code(self.login(email, password, "127.0.19.1"))
        self.promise(f"without password logins a member's password gives nothing ({found})",
                     found == (403, "identity_provider_required"))
        owner, known = self.account("owner")
        self.promise("an owner's does, for the case that the provider fails",
                     self.login(owner, known, "127.0.19.2").status == 200)
        self.put()
        self.ask("PATCH", "/api/v1/admin/settings", {"settings": {"security": {"require_second_factor": True}}},
                 **self.owner)
        answer = self.enter(self.person())
        self.promise("a workspace that requires a second factor requires it after the provider's login",
                     answer.status == 200 and answer.json["must_add_second_factor"] is True)
        self.put(trust_second_factor=True)
        answer = self.enter(self.person())
        self.promise("unless it trusts the provider's",
                     answer.status == 200 and answer.json["must_add_second_factor"] is False)
        self.put(trust_second_factor=True, required_amr="mfa", required_acr="strong")
        found = [self.code(self.enter(self.person(**more))) for more in (
            {}, {"acr": "strong"}, {"acr": "strong", "amr": ["pwd"]}, {"acr": "weak", "amr": ["mfa"]},
            {"acr": "strong", "amr": ["pwd", "mfa"]})]
        self.promise(f"acr and amr are demanded if set ({found})", found == [
            (403, "token_acr"), (403, "token_amr"), (403, "token_amr"), (403, "token_acr"), (200, "")])
        self.ask("PATCH", "/api/v1/admin/settings", {"settings": {"security": {"require_second_factor": False}}},
                 **self.owner)
        self.put(enabled=False)
        found = self.code(self.ask("POST", f"{PATH}/begin", {"workspace": "demo"}, "127.0.19.3"))
        self.promise(f"a provider that is turned off gives nothing ({found})", found == (404, "no_identity_provider"))
        self.put()
        found, browser = [], Browser(self)
        while 429 not in found and len(found) < 40:
            found.append(browser.ask(f"{PATH}/finish", {"state": "x", "code": "y"}).status)
        self.promise(f"forged answers from one address are limited ({found})",
                     found[-1] == 429 and set(found[:-1]) == {401})
        self.promise("and nobody else's sign-in", self.enter(self.person()).status == 200)

    def second_step(self) -> None:
        """A member with a second factor enters it after the provider's answer, unless the provider's is trusted."""
        person, first = self.person(), Browser(self)
        own = {"Authorization": f"Bearer {self.enter(person, first).json['token']}"}
        factor = "/api/v1/auth/second-factor"
        state = self.ask("GET", factor, **own).json
        app = pyotp.TOTP(self.ask("POST", f"{factor}/app", {}, **own).json["secret"])
        while time.time() % 30 > 15:  # The code of the previous 30 seconds is accepted until these end.
            time.sleep(0.5)
        now = int(time.time())
        added = self.ask("POST", f"{factor}/app/confirm", {"code": app.at(now - 30)}, **own)
        self.promise(f"a member without a password adds an app after a recent sign-in ({added.status})",
                     state["has_password"] is False and added.status == 200)
        browser = Browser(self)
        answer = self.enter(person, browser)
        self.promise(f"the next answer of the provider is a first step only ({answer.json.get('methods')})",
                     answer.status == 200 and answer.json["methods"] == ["code", "recovery_code"]
                     and "token" not in answer.json and "chirrup_session" not in browser.cookies)
        path, challenge = "/api/v1/auth/login/code", answer.json["challenge"]
        found = [self.code(browser.ask(path, {"challenge": challenge, "code": code})) for code in (
            app.at(now - 30), "not one", added.json["recovery_codes"][0][:-1] + "?")]
        self.promise(f"used and wrong codes are refused ({found})", set(found) == {(401, "wrong_code")})
        answer = browser.ask(path, {"challenge": challenge, "code": app.at(now)})
        self.promise("a code of the app completes the sign-in",
                     answer.status == 200 and answer.json["must_add_second_factor"] is False
                     and "chirrup_session" in browser.cookies)
        factors = self.sql("SELECT string_agg(details->>'second_factor', ' ') FROM audit_log l JOIN operators o ON "
                           f"o.id = l.actor_id WHERE action = 'login.succeeded' AND o.email = '{person['email']}'")
        self.promise(f"the audit log has the factor ({factors})", factors == "code")
        self.put(trust_second_factor=True)
        answer = self.enter(person)
        self.promise("a trusted provider's answer needs no second step",
                     answer.status == 200 and "token" in answer.json)
        self.put()

    def records(self) -> None:
        reasons = self.sql("SELECT string_agg(DISTINCT details->>'reason', ' ') FROM audit_log WHERE action = 'login.failed'")
        actions = self.sql("SELECT string_agg(DISTINCT action, ' ') FROM audit_log")
        wanted = {"token_signature", "provider_failed", "sign_in_replayed", "another_identity_linked", "no_role"}
        self.promise(f"refusals are in the audit log ({reasons})", wanted <= set(reasons.split()))
        self.promise(f"changes are, too ({actions})", {
            "identity_provider.changed", "member.added", "member.linked", "member.changed",
            "login.succeeded"} <= set(actions.split()))
        log = Path(self.options.log).read_text()
        self.promise("and in the structured log", re.search(r"login\.failed.*reason=token_nonce", log)
                     and "identity_provider.changed" in log)
        audit = self.sql("SELECT string_agg(details::text, '') FROM audit_log")
        secrets = [Provider.secret, "eyJ", "secret words", *self.provider.codes]
        self.promise("neither has a secret, a code, a token or words of the provider",
                     not any(secret in log + audit for secret in secrets))

    def rotation(self) -> None:
        self.enter(self.person())
        old, new = self.provider.keys[0], Key("r2")
        self.enter(self.person(), key=Key("r9"))  # at most a minute without requests begins here
        before = self.provider.requests.count("/keys")
        self.provider.keys = [new]
        found = [self.code(self.enter(self.person(), key=Key(f"invented{number}"))) for number in range(3)]
        asked = self.provider.requests.count("/keys") - before
        self.promise(f"unknown keys cause at most one request a minute ({found}, {asked})",
                     set(found) == {(403, "token_key_unknown")} and asked <= 1)
        time.sleep(61)
        answer = self.enter(self.person(), key=new)
        self.promise("a rotated key is accepted after a minute", answer.status == 200)
        found = self.code(self.enter(self.person(), key=old))
        self.promise(f"and the replaced one refused ({found})", found == (403, "token_key_unknown"))
        removed = self.ask("DELETE", SETTINGS, **self.owner).status
        left = self.ask("GET", SETTINGS, **self.owner).json["identity_provider"]
        self.promise("an owner removes the provider", (removed, left) == (204, None))


if __name__ == "__main__":
    sys.exit(begin(OIDC, __doc__))
