"""The report of a load, as a reader has it: the JSON's figures agree with each other, and the pages are shown by a
browser in light and dark, at a desk and on a phone, without a finding of axe, a request or a complaint.

Started by report.sh.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright


def check(what: str, holds: bool) -> None:
    if not holds:
        sys.exit(f"FAIL  {what}")
    print(f"PASS  {what}")


def look_at_record(path: Path) -> None:
    record = json.loads(path.read_text())
    figures, series = record["figures"], record["series"]
    check("the format is named", record["format"] == "chirrup-load/1")
    check("the run passed", record["verdict"] == "passed" and not record["problems"])
    check("messages were sent", figures["sent"] > 0)
    check("the proof is one number", {step["count"] for step in record["proof"]} == {figures["sent"]})
    check("no promise was broken", set(record["invariants"].values()) == {0})
    check("all thresholds are kept", all(verdict["is_kept"] for verdict in record["thresholds"]))
    check("there are thresholds", len(record["thresholds"]) >= 5)
    rows = len(series["seconds"])
    check("a column has a value for each second", all(len(c) == rows for c in series["columns"].values()))
    previous, acked = 0.0, 0.0
    for second, rate in zip(series["seconds"], series["columns"]["acked_per_second"], strict=True):
        acked += rate * (second - previous)
        previous = second
    # The last tenth of a second may be cut off.
    check("the seconds add up to the total", abs(acked - figures["acked"]) <= 0.1 * figures["acked"])
    check("commits are counted by size", sum(bucket["count"] for bucket in record["batches"]) > 0)
    check("the gateway's memory is known", figures["gateway_resident_bytes"] > 1 << 20)
    curve = record["latencies"]["ack"]["milliseconds"]
    check("the percentile curve rises", curve == sorted(curve) and len(curve) > 10)


def look_at_page(page: Page, path: Path, shots: Path | None) -> None:
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    for scheme, width in (("light", 1280), ("dark", 390)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(path.as_uri())
        for summary in page.locator("summary").all():
            summary.click()
        name = f"{path.stem} in {scheme}, {width} wide"
        if shots:
            page.screenshot(path=shots / f"{path.stem}-{scheme}-{width}.png", full_page=True)
        found = Axe().run(page).response["violations"]
        found = [f"{v['id']}: {v['nodes'][0]['html'][:200]}" for v in found]
        check(f"{name}: axe finds nothing {found or ''}", not found)
        check(
            f"{name}: nothing is wider than the window",
            page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
        )
        # Exactly one of the sizes of a chart is shown.
        shown = page.locator(".chart").evaluate_all(
            "all => all.map(c => [...c.children].filter(s => s.getBoundingClientRect().width > 0).length)"
        )
        check(f"{name}: {len(shown)} charts are shown", len(shown) > 3 and set(shown) == {1})
    check(f"{path.name} asks for nothing else", set(requests) == {path.as_uri()})
    check(f"{path.name} draws no complaint {complaints or ''}", not complaints)


parser = argparse.ArgumentParser()
parser.add_argument("record", type=Path)
parser.add_argument("pages", type=Path, nargs="+")
parser.add_argument("--shots", type=Path)
arguments = parser.parse_args()
look_at_record(arguments.record)
with sync_playwright() as playwright:
    # Chromium's own sandbox does not work for root in a container.
    browser = playwright.chromium.launch(
        executable_path=os.environ.get("CHROMIUM") or None,
        args=["--no-sandbox"] if os.geteuid() == 0 else [],
    )
    for path in arguments.pages:
        page = browser.new_page()
        look_at_page(page, path, arguments.shots)
        page.close()
    browser.close()
