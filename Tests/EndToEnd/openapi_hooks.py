"""Hooks of schemathesis for this API besides its document; openapi.sh names the file of seeds.

- Each operation gets an example that succeeds, with existing objects.
- Texts whose form no pattern can describe have strategies of their own.
- The statuses of each operation are recorded, for the last check of openapi.sh.
"""

import atexit
import itertools
import json
import os

import schemathesis

# Imported here and not at first use: in deeply nested calls CPython 3.11 cannot compile an imported module.
import schemathesis.transport.asgi  # noqa: F401
from hypothesis import strategies as st

seeds = json.load(open(os.environ["OPENAPI_SEEDS"]))
seen = {}
numbers = itertools.count()

schemathesis.openapi.format("cursor", st.just(""))
schemathesis.openapi.format("keyword", st.text("abcdefäß ", min_size=1, max_size=20).map(lambda text: "k" + text))
schemathesis.openapi.format("intent-pattern", st.sampled_from(["hello", "^order [0-9]+$", "(a|b)+c?", "\\bhi\\b"]))
schemathesis.openapi.format("time-zone", st.sampled_from(["UTC", "Europe/Berlin", "Asia/Bangkok"]))
schemathesis.openapi.format("origin", st.sampled_from(["https://www.example.com", "http://localhost:3000"]))
schemathesis.openapi.format("issuer", st.sampled_from(["https://login.example.com", "https://id.example.com/eu"]))
schemathesis.openapi.format("endpoint", st.sampled_from(["https://api.example.com/v1", "https://ai.example.com"]))
schemathesis.openapi.format("language", st.sampled_from(["de", "pt-BR", "th"]))
schemathesis.openapi.format("webhook", st.sampled_from(["https://hooks.example.com/in", "http://h.example/?a=b"]))


@schemathesis.hook
def before_load_schema(context, raw_schema):
    for path, item in raw_schema["paths"].items():
        for method, operation in item.items():
            example = seeds["examples"].get(f"{method.upper()} {path}")
            if not example:
                continue
            for parameter in operation["parameters"]:
                if parameter["name"] in example["parameters"]:
                    parameter["example"] = example["parameters"][parameter["name"]]
            if example["body"] is not None and "requestBody" in operation:
                for content in operation["requestBody"]["content"].values():
                    content["example"] = example["body"]


def fit(case):
    key = (case.headers or {}).get("Idempotency-Key", "")
    if key:
        # The document's example is the same in every run of openapi.sh.
        case.headers["Idempotency-Key"] = f"{os.getpid()}-{next(numbers)}-{key}"[:255]
    query = case.query or {}
    if "from" in query and "to" in query:
        query["to"] = query["from"]
    if "from" in query:
        query.pop("days", None)
    if "signature" in query:
        query.pop("thumbnail", None)  # the signature is that of the file
    for name in [name for name in ("after", "before", "around") if name in query][1:]:
        del query[name]
    body = case.body if isinstance(case.body, dict) else {}
    if "tokens_per_day" in body or "endpoint" in body and "model" in body:
        body["enabled"] = False  # no request leaves this machine
    settings = body.get("settings")
    if isinstance((settings or {}).get("security"), dict):
        settings["security"]["require_second_factor"] = False  # else nobody could log in for the next run
    hours = (settings or {}).get("hours") or body.get("hours") or {}  # the workspace's or a team's
    for day in hours.get("days") or []:
        if day["from"] == day["to"]:
            day["to"] = "24:00"


@schemathesis.hook
def before_call(context, case, kwargs):
    """Rules that a schema cannot express: related values, and new keys."""
    if "positive" in str(case.meta and case.meta.generation.mode).lower():
        fit(case)
    # A logout uses a separate login.
    if case.operation.label == "POST /api/v1/auth/logout":
        case.cookies = {"chirrup_session": seeds["cookie_to_end"]}


@schemathesis.hook
def after_call(context, case, response):
    seen.setdefault(case.operation.label, set()).add(response.status_code)


def report():
    with open(os.environ["OPENAPI_SEEN"], "w") as file:
        json.dump({name: sorted(statuses) for name, statuses in seen.items()}, file)


atexit.register(report)
