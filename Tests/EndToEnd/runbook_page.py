"""The page config/RUNBOOK.md as its tests read it.

check: twenty situations with four parts each; each is named by exactly one test and leads from the index; the alerts of
  config/alerts.yml lead to the sections that quote them, or to a section of another page.
see SITUATION PART NUMBER …: waits until the program says each line of the NUMBER-th quotation of this part.
do SITUATION NUMBER [NAME=VALUE…]: prints the NUMBER-th block of commands, one a line; VALUE replaces <NAME>.
count SITUATION: the numbers of quotations under "What you see", of blocks of commands, and of quotations at the end.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request

from markdown_it import MarkdownIt

HERE = pathlib.Path(__file__).resolve().parent
CONFIG = HERE.parent.parent / "config"
PAGE = CONFIG / "RUNBOOK.md"
SITUATIONS = 20
SYMPTOM, SEEN, DONE, OVER = "Symptom", "What you see", "What you do", "How you know that it is over"
PARTS = (SYMPTOM, SEEN, DONE, OVER)
# The first word of a quoted line: where it is seen.
SOURCES = ("log", "readyz", "healthz", "doctor", "metric", "alert", "answer")
TIME_OF_LOG = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z ")


def anchor_of(title):
    return re.sub(r"[^a-z0-9 _-]", "", title.lower()).replace(" ", "-")


def headings(path):
    if not path.is_file():
        return set()
    tokens = MarkdownIt().parse(path.read_text())
    return {anchor_of(after.content) for token, after in zip(tokens, tokens[1:]) if token.type == "heading_open"}


class Situation:
    def __init__(self, title):
        self.title = title
        self.parts = []
        self.texts = {}
        self.blocks = {}

    def block(self, part, number):
        blocks = self.blocks.get(part, [])
        if not 1 <= number <= len(blocks):
            sys.exit(f"“{self.title}” has {len(blocks)} blocks in “{part}”, and not number {number}")
        return blocks[number - 1]


class Page:
    """Headings of the third level are situations; a paragraph that begins with a part's name in bold begins it."""

    def __init__(self):
        self.situations, self.anchors, self.index = {}, set(), []
        situation = part = None
        in_table, row = False, []
        tokens = MarkdownIt().enable("table").parse(PAGE.read_text())
        for token, after in zip(tokens, tokens[1:] + [None]):
            if token.type == "heading_open":
                anchor = anchor_of(after.content)
                assert anchor not in self.anchors, f"two headings are “{after.content}”"
                self.anchors.add(anchor)
                situation = Situation(after.content) if token.tag == "h3" else None
                part = None
                if situation:
                    self.situations[anchor] = situation
            elif token.type in ("table_open", "table_close"):
                in_table = token.type == "table_open"
            elif token.type == "tr_open":
                row = []
            elif token.type == "inline" and in_table and not self.situations:
                row.append(token.content)
                if link := re.search(r"\]\(#([^)]+)\)", token.content):
                    self.index.append((link[1], set(re.findall(r"Chirrup\w+", row[1]))))
            elif situation and token.type == "paragraph_open":
                if match := re.match(r"\*\*([^*]+)\*\*", after.content):
                    part = match[1]
                    situation.parts.append(part)
                    situation.texts[part] = after.content[match.end():].strip()
            elif situation and token.type == "fence":
                kind = "sh" if part == DONE else "text"
                assert token.info == kind, f"“{situation.title}”, “{part}”: a block of {token.info} and not {kind}"
                situation.blocks.setdefault(part, []).append(token.content.rstrip("\n"))

    def situation(self, name):
        return self.situations.get(name) or sys.exit(f"{PAGE.name} has no situation {name}")


def quotations(block):
    """The lines of a quotation: (source, text)."""
    for line in block.split("\n"):
        source, _, text = line.partition(" ")
        yield source, text.strip()


# The check of the page


def check():
    page = Page()
    faults = []

    def expect(is_true, fault):
        if not is_true:
            faults.append(fault)

    expect(len(page.situations) == SITUATIONS, f"{len(page.situations)} situations and not {SITUATIONS}")
    led = sorted(name for name, _ in page.index)
    expect(led == sorted(page.situations), f"the index does not lead to each situation once: {led}")
    for name, situation in page.situations.items():
        expect(tuple(situation.parts) == PARTS, f"{name} has the parts {situation.parts}")
        expect(len(situation.texts.get(SYMPTOM, "")) > 20, f"{name} has no symptom")
        for part, least, most in ((SEEN, 1, 3), (DONE, 1, 3), (OVER, 1, 1)):
            count = len(situation.blocks.get(part, []))
            expect(least <= count <= most, f"{name} has {count} blocks in “{part}”")
        for part in (SEEN, OVER):
            for block in situation.blocks.get(part, []):
                for source, text in quotations(block):
                    expect(source in SOURCES and text, f"{name} quotes a line of no known source: {source} {text}")
    check_tests(page, expect)
    check_alerts(page, expect)
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(bool(faults))


def check_tests(page, expect):
    defined, run = [], []
    for script in sorted(HERE.glob("runbook_*.sh")):
        text = script.read_text()
        defined += re.findall(r"^situation_(\w+)\(\)", text, re.MULTILINE)
        run += re.findall(r"^situation ([\w-]+)$", text, re.MULTILINE)
    expect(sorted(run) == sorted(page.situations),
           f"not run exactly once: {sorted(set(run) ^ set(page.situations)) or sorted(run)}")
    expect(sorted(defined) == sorted(name.replace("-", "_") for name in page.situations),
           f"not the tests of the page's situations: {sorted(defined)}")


def check_alerts(page, expect):
    import yaml  # Only this check needs it.

    quoted = {}
    for name, situation in page.situations.items():
        for part in (SEEN, OVER):
            for block in situation.blocks.get(part, []):
                for source, text in quotations(block):
                    if source == "alert":
                        quoted.setdefault(text, set()).add(name)
    groups = yaml.safe_load((CONFIG / "alerts.yml").read_text())["groups"]
    alerts = {rule["alert"]: rule["annotations"].get("runbook", "") for group in groups for rule in group["rules"]}
    for alert, place in alerts.items():
        path, _, anchor = place.partition("#")
        # Work that the program does by itself is explained beside its settings, not here.
        anchors = page.anchors if path == f"config/{PAGE.name}" else headings(CONFIG.parent / path)
        expect(anchor in anchors, f"{alert}: its runbook is {place or 'missing'}")
        # A section that is no situation has no quotations.
        if anchor in page.situations:
            expect(anchor in quoted.get(alert, ()), f"{alert} leads to {anchor}, which does not quote it")
    for name, named in page.index:
        own = {alert for alert, places in quoted.items() if name in places}
        expect(named == own, f"the index has {sorted(named)} for {name}, whose section has {sorted(own)}")
    for alert in quoted:
        expect(alert in alerts, f"{sorted(quoted[alert])} quotes the alert {alert}, which does not exist")


# The quoted lines in a running program


def pattern(source, text):
    """“…” stands for any text; at the end of a metric, for a number above 0."""
    if source == "metric" and text.endswith(" …"):
        return re.compile(pattern("", text[:-1]).pattern + r"(?!0(\.0*)?$)[0-9.e+]+")
    return re.compile(".*".join(re.escape(piece) for piece in text.split("…")))


class Program:
    """What the gateway says: its log, its HTTP answers, its metrics, and chirrup doctor beside it."""

    def __init__(self, options):
        self.options = options
        self.last = {}

    def lines(self, source, text):
        lines = self.read(source, text)
        self.last[source] = lines[-3:]
        return lines

    def read(self, source, text):
        options = self.options
        if source == "log":
            lines = self.file(options.log, options.since)
            return [TIME_OF_LOG.sub("", line) for line in lines]
        if source == "answer":
            return self.file(options.answers, 0)
        if source in ("readyz", "healthz"):
            status, body = self.get(options.url + "/" + source)
            return [f"{status} {body.strip()}"]
        if source == "metric":
            return self.get(options.admin + "/metrics")[1].split("\n")
        if source == "doctor":
            only = re.match(r"[A-Z]+ +(\w+):", text)[1]
            return self.doctor("--only", only)
        raise ValueError(source)

    def file(self, path, since):
        with open(path, "rb") as file:
            file.seek(since)
            return file.read().decode(errors="replace").split("\n")

    def get(self, url):
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def doctor(self, *arguments):
        try:
            done = subprocess.run([*self.options.doctor, *arguments], capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            return ["chirrup doctor has not ended after 60 s"]
        return (done.stdout + done.stderr).split("\n")


def see(options):
    block = Page().situation(options.situation).block(SEEN if options.part == "seen" else OVER, options.number)
    program = Program(options)
    waiting = [(source, text) for source, text in quotations(block) if source != "alert"]
    begin = time.monotonic()
    while True:
        for source, text in list(waiting):
            expression = pattern(source, text)
            if any(expression.fullmatch(line.strip()) for line in program.lines(source, text)):
                waiting.remove((source, text))
                print(f"PASS  {options.situation}, {options.part} {source}: {text}")
        passed = time.monotonic() - begin
        if not waiting or passed > options.seconds:
            break
        time.sleep(0.1)
    for source, text in waiting:
        print(f"FAIL  {options.situation}, {options.part} {source}: not after {passed:.0f} s: {text}")
        print("      but: " + "\n           ".join(line[:400] for line in program.last[source]), file=sys.stderr)
    sys.exit(bool(waiting))


def commands(options):
    block = Page().situation(options.situation).block(DONE, options.number)
    for value in options.values:
        name, _, text = value.partition("=")
        block = block.replace(f"<{name}>", text)
    if left := re.findall(r"<[a-z][a-z_ ]*>", block):
        sys.exit(f"{options.situation}: no value for {', '.join(left)}")
    lines = block.replace("\\\n", " ").split("\n")
    print("\n".join(line for line in lines if line.strip() and not line.startswith("#")))


def main():
    parser = argparse.ArgumentParser()
    modes = parser.add_subparsers(dest="mode", required=True)
    modes.add_parser("check")
    seeing = modes.add_parser("see")
    seeing.add_argument("situation")
    seeing.add_argument("part", choices=("seen", "over"))
    seeing.add_argument("number", type=int)
    seeing.add_argument("--seconds", type=float, required=True)
    seeing.add_argument("--log", required=True)
    seeing.add_argument("--since", type=int, required=True)
    seeing.add_argument("--answers", required=True)
    seeing.add_argument("--url", required=True)
    seeing.add_argument("--admin", required=True)
    seeing.add_argument("doctor", nargs="+")
    doing = modes.add_parser("do")
    doing.add_argument("situation")
    doing.add_argument("number", type=int)
    doing.add_argument("values", nargs="*")
    counting = modes.add_parser("count")
    counting.add_argument("situation")
    options = parser.parse_args()
    if options.mode == "check":
        check()
    elif options.mode == "see":
        see(options)
    elif options.mode == "do":
        commands(options)
    else:
        blocks = Page().situation(options.situation).blocks
        print(*(len(blocks.get(part, [])) for part in (SEEN, DONE, OVER)))


if __name__ == "__main__":
    main()
