"""Runs the tables of bad input against the real gateway over real sockets; see README.md of this folder."""

import argparse
import contextlib
import heapq
import importlib
import io
import itertools
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness.cluster import Cluster  # noqa: E402
from harness.gateway import PROFILES, Gateway  # noqa: E402
from harness.registry import registry  # noqa: E402
from harness.stage import Staged  # noqa: E402
from harness.trial import Trial, Witness, warm_up  # noqa: E402

#: The modules of each table, in the order of the output.
TABLES = {
    "H": ("http", "http_limits"), "F": ("frames", "frames_floods", "frames_closing"), "D": ("deflate",),
    "P": ("protocol", "protocol_storing"), "A": ("auth", "auth_tokens"), "N": ("network", "recovery_network"), "T": ("tls",),
    "R": ("recovery", "recovery_store", "recovery_faults"),
}
#: The number of additional gateways for rows that mostly wait.
WAITING_LANES = 4
#: The number of gateways with a separate PostgreSQL, each of which does little work.
STAGE_LANES = 7
#: Bounds of the summary of failures: rows, reasons and log lines of a row, characters of a line.
FAILURES_REPEATED, REASONS_REPEATED, LOG_LINES, LINE_LETTERS = 3, 4, 3, 400


class Run:
    def __init__(self, options):
        self.options = options
        self.lock = threading.Lock()
        self.results = {}
        self.lines = {}
        self.logs = {}
        self.broken = []
        #: The current row of each lane, its gateway, and its deadline.
        self.under_way = {}

    def tell(self, row, word, seconds, lines=(), log=()):
        with self.lock:
            self.results[row.id] = word
            if word == "FAIL":
                self.logs[row.id] = log
            self.lines[row.id] = list(lines)
            print(f"{word:4}  {row.id:4} {seconds:6.1f} s  {row.title}", flush=True)
            for line in lines:
                print(f"        {line}", flush=True)

    def lane(self, name, profile, rows):
        """One gateway and its rows, one after the other."""
        gateway = witness = None
        try:
            for row in rows:
                if gateway is None or not gateway.is_alive or profile == "stage":
                    if profile == "stage" or not gateway:
                        self.end(name, gateway, witness)
                    gateway, witness = self.gateway(name, profile, row), None
                    try:
                        gateway.start()
                    except PermissionError as failure:
                        gateway.stop()
                        gateway = None
                        self.tell(row, "SKIP", 0, [f"cannot run on this machine: {failure.strerror}"])
                        continue
                    warm_up(gateway)
                    witness = Witness(gateway)
                    witness.answer(60)
                begin = time.monotonic()
                trial = Trial(row, gateway, witness, self.scale(gateway))
                limit = (row.limit + 10 * row.seconds) * trial.scale
                self.under_way[name] = (row, gateway, begin, begin + limit)
                failures = trial.run()
                del self.under_way[name]
                word = "FAIL" if failures else "SKIP" if trial.skipped else "PASS"
                self.tell(row, word, time.monotonic() - begin, [
                    *failures, *filter(None, [trial.skipped]),
                    *(trial.notes if failures or self.options.verbose else [])],
                    gateway.last_lines(LOG_LINES) if failures else ())
        except BaseException as failure:
            with self.lock:
                self.broken.append(f"{name}: {type(failure).__name__}: {failure}")
        finally:
            self.end(name, gateway, witness)

    def gateway(self, name, profile, row):
        if profile == "stage":
            return Staged(self.options.binary, self.folder, f"{name}-{row.id}", row.stage)
        return Gateway(self.options.binary, self.cluster, self.folder, profile, name)

    def end(self, name, gateway, witness):
        if witness:
            witness.close()
        if gateway and (status := gateway.stop()):
            with self.lock:
                self.broken.append(f"{name}: the gateway ended with status {status}")

    def scale(self, gateway):
        return self.options.scale * (4 if gateway.is_sanitized else 1)

    def lanes(self, rows):
        """Assigns rows to lanes: busy rows run one after the other in each profile, waiting rows in parallel."""
        lanes = []
        for profile in PROFILES:
            mine = [row for row in rows if row.profile == profile]
            quick = [row for row in mine if not row.seconds]
            slow = sorted((row for row in mine if row.seconds), key=lambda row: -row.seconds)
            most = STAGE_LANES if profile == "stage" else WAITING_LANES
            heap = [(0.0, number, []) for number in range(min(len(slow), most))]
            for row in slow:
                total, number, list = heapq.heappop(heap)
                heapq.heappush(heap, (total + row.seconds, number, list + [row]))
            lanes += [(f"{profile}-{number}", profile, list) for _, number, list in heap]
            if quick:
                lanes.append((profile, profile, quick))
        return lanes

    def run(self, rows):
        self.folder = tempfile.mkdtemp(prefix="chirrup-conf.", dir="/tmp")
        os.chmod(self.folder, 0o711)
        self.cluster = Cluster(self.folder)
        begin = time.monotonic()
        try:
            self.cluster.start()
            for row in rows:
                if row.skip:
                    self.tell(row, "SKIP", 0, [row.skip])
            rows = [row for row in rows if not row.skip]
            lanes = self.lanes(rows)
            # The first gateway makes the schema.
            first = Gateway(self.options.binary, self.cluster, self.folder, "production", "schema")
            first.start()
            first.stop()
            threads = [threading.Thread(target=self.lane, args=lane, name=lane[0], daemon=True) for lane in lanes]
            for thread in threads:
                thread.start()
            self.watch(threads)
        finally:
            self.cluster.stop()
        return self.summary(rows, time.monotonic() - begin)

    def watch(self, threads):
        """Until all lanes have ended. A row beyond its limit is named, with the lines in which it stands, and loses its
        gateway; a lane that does not go on even then is left where it is."""
        late = {}
        while threads:
            time.sleep(0.1)
            now = time.monotonic()
            for thread in [*threads]:
                row, gateway, begin, deadline = self.under_way.get(thread.name) or (None, None, now, now)
                if not thread.is_alive():
                    threads.remove(thread)
                elif row and row.id in late:
                    if now > late[row.id]:
                        self.broken.append(f"{thread.name}: {row.id} does not end after its gateway either")
                        threads.remove(thread)
                elif row and now > deadline:
                    late[row.id] = now + Trial.patience
                    self.tell(row, "FAIL", now - begin,
                              [f"has not ended within {deadline - begin:.0f} s; its stack:", *standing(thread)],
                              gateway.last_lines(LOG_LINES))
                    gateway.process.kill()

    def summary(self, rows, seconds):
        untried = [row.id for row in rows if row.id not in self.results]
        words = []
        for table in TABLES:
            mine = [word for id, word in self.results.items() if id[0] == table]
            skipped = mine.count("SKIP")
            if mine:
                text = f"{table} {mine.count('PASS')}/{len(mine) - skipped}"
                words.append(text + (f" ({skipped} skipped)" if skipped else ""))
        is_good = not self.broken and not untried and "FAIL" not in self.results.values()
        if is_good:
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            self.repeat_failures()
            print(f"logs are kept in {self.folder}")
        print(f"\n{'  '.join(words)}  in {seconds:.0f} s")
        if untried:
            print(f"not run: {' '.join(untried)}")
        for text in self.broken:
            print(f"BROKEN  {text[:LINE_LETTERS]}")
        return 0 if is_good else 1

    def repeat_failures(self):
        """Prints the failures again at the end, short enough for a log of which only the end is kept."""
        failed = [id for id, word in self.results.items() if word == "FAIL"]
        for id in failed[:FAILURES_REPEATED]:
            print(f"\nFAIL  {id}")
            for line in self.lines[id][:REASONS_REPEATED]:
                print(f"        {line[:LINE_LETTERS]}")
            for line in self.logs[id]:
                print(f"   log  {line[:LINE_LETTERS]}")
        if len(failed) > 1:
            print(f"\nFAIL  {len(failed)} rows: {' '.join(failed)}")


def standing(thread):
    """Returns the lines of the tables and the harness in a thread's stack, the innermost last."""
    here = os.path.dirname(os.path.abspath(__file__))
    frame = sys._current_frames().get(thread.ident)
    stack = traceback.extract_stack(frame) if frame else []
    return [f"{os.path.relpath(place.filename, here)}:{place.lineno} {place.line}" for place in stack
            if place.filename.startswith(here)][-REASONS_REPEATED:]


def chosen(names):
    """Returns the rows with these ids (F16) or of these tables (F); without names, all rows."""
    for module in itertools.chain(*TABLES.values()):
        importlib.import_module(f"rows.{module}")
    rows = sorted(registry.rows, key=lambda row: (list(TABLES).index(row.table), row.id))
    if not names:
        return rows
    wanted = [name.upper() for name in names]
    found = [row for row in rows if any(re.match(rf"{name}(?![0-9])", row.id) if name[-1].isdigit()
                                        else row.id.upper().startswith(name) for name in wanted)]
    if not found:
        raise SystemExit(f"there is no row {' '.join(names)}")
    return found


def self_test(options):
    """Every row of table Z (rows/self_test*.py) fails for its expected reason."""
    expected = {}
    for module in ("self_test", "self_test_recovery"):
        expected |= importlib.import_module(f"rows.{module}").EXPECTED
    run = Run(options)
    # Their conditions never become true.
    Trial.patience = 4
    with contextlib.redirect_stdout(io.StringIO()):
        run.run([row for row in registry.rows if row.table == "Z"])
    missed = [f"{id}: {run.lines.get(id)}" for id, reason in expected.items()
              if not any(re.search(reason, line) for line in run.lines.get(id, []))]
    print("\n".join([*missed, f"self-test: {len(expected) - len(missed)} of {len(expected)} faults are found"]))
    shutil.rmtree(run.folder, ignore_errors=True)
    return 1 if missed else 0


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", help="rows (F16) or tables (F); all without names")
    parser.add_argument("--binary", default=os.path.join(root, ".build/release/chirrup"))
    parser.add_argument("--scale", type=float, default=1, help="for slow machines: times every time limit")
    parser.add_argument("--list", action="store_true", help="only name the rows")
    parser.add_argument("--verbose", action="store_true", help="also print what the rows measured")
    parser.add_argument("--self-test", action="store_true", help="rows with planted faults, to test the checks")
    options = parser.parse_args()
    if options.self_test:
        return self_test(options)
    rows = chosen(options.rows)
    if options.list:
        for row in rows:
            print(f"{row.id:4}  {row.title}" + (f"  (skipped: {row.skip})" if row.skip else ""))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return Run(options).run(rows)


if __name__ == "__main__":
    sys.exit(main())
