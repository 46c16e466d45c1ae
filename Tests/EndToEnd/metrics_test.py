#!/usr/bin/env python3
"""traffic: a message over a real gateway appears in the histograms. names: the alerts and the dashboard of config/ name
only metrics that a real scrape has, the alerts' runbooks exist, and the dashboard is complete."""

import argparse
import json
import os
import re
import sys
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../Conformance"))

from harness.chat import Chat  # noqa: E402
from harness.peer import Peer  # noqa: E402

#: What Prometheus itself adds to each scrape.
OF_PROMETHEUS = {"up"}
PHASES = ("queue", "commit", "delivery")


def scrape(url):
    with urllib.request.urlopen(url + "/metrics", timeout=10) as answer:
        return answer.read().decode()


def counts(text):
    found = re.findall(r'^chirrup_ack_duration_seconds_count\{phase="(\w+)"\} (\d+)$', text, re.MULTILINE)
    return {phase: int(count) for phase, count in found}


def traffic(options):
    account = json.loads(options.visitor)
    host, port = options.url.removeprefix("http://").split(":")
    before = counts(scrape(options.url))
    assert set(before) == set(PHASES), before
    peer = Peer((host, int(port)))
    peer.upgrade("/api/v1/ws", [("Sec-WebSocket-Protocol", "chirrup.v1")])
    chat = Chat(peer)
    chat.hello(account["token"], account["session"], tail=0)
    for number in range(3):
        chat.send(account["session"], f"hello {number}")
    # A loop publishes its figures twice a second.
    deadline = time.monotonic() + 60
    while True:
        after = counts(scrape(options.url))
        if all(after[phase] == before[phase] + 3 for phase in PHASES):
            return
        assert time.monotonic() < deadline, (before, after)
        time.sleep(0.1)


def named(expression):
    """The metrics of a PromQL expression: without labels, the strings in them, and functions."""
    bare = re.sub(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", " ", re.sub(r"\{[^}]*\}", "", expression))
    return {word for word in re.findall(r"\b[a-z][a-z0-9_]*\b(?!\s*\()", bare)
            if re.match(r"(chirrup|process)_", word) or word in OF_PROMETHEUS}


def anchors(path):
    titles = re.findall(r"^#+ (.+)$", open(path).read(), re.MULTILINE)
    return {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}


def check_dashboard(dashboard):
    for member in ("title", "uid", "schemaVersion", "panels", "templating", "time", "refresh"):
        assert member in dashboard, member
    # Grafana 10.0 writes 38; newer ones migrate older models.
    assert dashboard["schemaVersion"] >= 38 and dashboard["id"] is None
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    ids, places, expressions = set(), [], []
    for panel in dashboard["panels"]:
        assert panel["id"] not in ids and panel["title"], panel
        ids.add(panel["id"])
        place = panel["gridPos"]
        assert set(place) == {"h", "w", "x", "y"} and place["x"] + place["w"] <= 24, panel["title"]
        for other in places:
            assert (place["x"] + place["w"] <= other["x"] or other["x"] + other["w"] <= place["x"]
                    or place["y"] + place["h"] <= other["y"] or other["y"] + other["h"] <= place["y"]), panel["title"]
        places.append(place)
        if panel["type"] == "row":
            continue
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, panel["title"]
        assert panel["description"] and panel["targets"] and panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        for target in panel["targets"]:
            assert target["refId"] and target["legendFormat"]
            used = set(re.findall(r"\$\{?(\w+)", target["expr"])) - {"__rate_interval"}
            assert used <= variables, (panel["title"], used)
            expressions.append(target["expr"])
    assert len(expressions) > 10
    return expressions


def names(options):
    text = open(options.scrape).read()
    # A family whose labels come from events, such as faults, has no sample before the first one.
    known = set(OF_PROMETHEUS)
    for name, kind in re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE):
        known |= {name + part for part in ("_bucket", "_sum", "_count")} if kind == "histogram" else {name}
    alerts = open(os.path.join(options.config, "alerts.yml")).read()
    expressions = [match[1] for match in re.finditer(r"^ +expr: (?:>-\n)?((?:.*\n)*?)(?= +(?:for|labels):)", alerts,
                                                     re.MULTILINE)]
    assert len(expressions) == alerts.count("- alert: ") == alerts.count("summary: ") > 10
    for page, anchor in re.findall(r'runbook: "([^"#]+)#([^"]+)"', alerts):
        assert anchor in anchors(os.path.join(options.config, "..", page)), (page, anchor)
    assert alerts.count("runbook: ") == len(expressions)
    with open(os.path.join(options.config, "grafana/chirrup.json")) as file:
        queries = check_dashboard(json.load(file))
    for expression in expressions + queries:
        metrics = named(expression)
        assert metrics and metrics <= known, (expression, metrics - known)
    # promtool checks rules; a dashboard's variables have no value there.
    with open(options.rules, "w") as file:
        file.write("groups:\n  - name: dashboard\n    rules:\n")
        for number, query in enumerate(queries):
            query = query.replace("$__rate_interval", "1m").replace("$instance", ".*")
            file.write(f"      - record: query_{number}\n        expr: {json.dumps(query)}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=["traffic", "names"])
    for name in ("url", "visitor", "scrape", "config", "rules"):
        parser.add_argument("--" + name)
    options = parser.parse_args()
    {"traffic": traffic, "names": names}[options.part](options)


main()
