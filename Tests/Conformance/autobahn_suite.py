"""Runs the Autobahn suite against a private gateway, and checks its report; started by autobahn.sh."""

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness.cluster import Cluster  # noqa: E402
from harness.gateway import PROFILES, Gateway  # noqa: E402

QUICK = ["1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "10.*"]
#: 12 and 13 repeat 18 sizes for each way of compressing: the first five, to 4 KiB, and one in fragments.
SIZES = (1, 2, 3, 4, 5, 11)
SELECTIONS = {
    "quick": QUICK,
    "standard": QUICK + ["9.*"] + [f"12.{way}.{size}" for way in range(1, 6) for size in SIZES]
    + [f"13.{way}.{size}" for way in range(1, 8) for size in SIZES],
    "full": ["*"],
}
GOOD = {"OK", "INFORMATIONAL"}

PROFILES["autobahn"] = (["--debug-echo"], {})


def number(case):
    return [int(part) for part in case.split(".")]


def run_suite(url, cases, folder):
    """Runs the suite, which writes its report into the folder. Returns its log."""
    home = os.environ["AUTOBAHN_HOME"]
    specification = os.path.join(folder, "specification.json")
    with open(specification, "w") as file:
        json.dump({"outdir": folder, "servers": [{"agent": "chirrup", "url": url}], "cases": cases, "exclude-cases": [],
                   "exclude-agent-cases": {}}, file)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment |= {"LD_LIBRARY_PATH": os.environ["AUTOBAHN_LIBRARIES"], "PYTHONHOME": f"{home}/root/usr",
                    "PYTHONPATH": f"{home}/site", "PYTHONNOUSERSITE": "1", "PYTHONWARNINGS": "ignore"}
    with open(os.path.join(folder, "suite.log"), "w+") as log:
        subprocess.run([f"{home}/root/usr/bin/python2.7", "-c", "from autobahntestsuite.wstest import run; run()", "-m",
                        "fuzzingclient", "-s", specification], cwd=folder, stdout=log, stderr=log, env=environment,
                       timeout=7200)
        log.seek(0)
        return log.read()


def judge(folder, log, minimum):
    """Prints the counts and every failed case. Returns whether none failed."""
    index = os.path.join(folder, "index.json")
    if not os.path.exists(index):
        print("the suite wrote no report; its last lines:\n" + "\n".join(log.splitlines()[-8:]))
        return False
    with open(index) as file:
        results = json.load(file).get("chirrup", {})
    started = {line.split("test case ID ")[1].split()[0] for line in log.splitlines() if "test case ID " in line}
    missing = sorted(started - set(results), key=number)
    bad = [case for case in sorted(results, key=number)
           if results[case]["behavior"] not in GOOD or results[case]["behaviorClose"] not in GOOD]
    for kind in ("behavior", "behaviorClose"):
        counts = collections.Counter(result[kind] for result in results.values())
        print(f"{'cases' if kind == 'behavior' else 'closing'}: "
              + ", ".join(f"{word} {count}" for word, count in counts.most_common()))
    for case in bad:
        with open(os.path.join(folder, results[case]["reportfile"])) as file:
            report = json.load(file)
        print(f"FAIL {case}: {results[case]['behavior']}, closing {results[case]['behaviorClose']}: "
              f"{report['description'][:160]} -> {(report['result'] or report['resultClose'] or '')[:160]}")
    if missing:
        print(f"without a result: {' '.join(missing)}")
    if len(results) < minimum:
        print(f"only {len(results)} of {minimum} cases were run")
    return not bad and not missing and len(results) >= minimum


def profile(options):
    return "compact" if options.tls and options.compact else "tls" if options.tls else "autobahn"


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="?", default="standard", help="quick, standard, full, or patterns like 12.1.*,9.*")
    parser.add_argument("--tls", action="store_true", help="over wss://")
    parser.add_argument("--compact", action="store_true", help="with --tls: records that the gateway seals itself")
    parser.add_argument("--binary", default=os.path.join(root, ".build/release/chirrup"))
    parser.add_argument("--report", help="keep the report in this folder (index.html)")
    options = parser.parse_args()
    minimum = {"quick": 247, "standard": 373, "full": 517}.get(options.cases, 1)
    folder = tempfile.mkdtemp(prefix="chirrup-autobahn.", dir="/tmp")
    os.chmod(folder, 0o711)
    report = os.path.abspath(options.report) if options.report else os.path.join(folder, "report")
    os.makedirs(report, exist_ok=True)
    cluster = Cluster(folder)
    gateway = Gateway(options.binary, cluster, folder, profile(options), "gateway")
    begin = time.monotonic()
    try:
        cluster.start()
        gateway.start()
        address = gateway.tls_address if options.tls else gateway.address
        url = f"{'wss' if options.tls else 'ws'}://127.0.0.1:{address[1]}/debug/echo"
        log = run_suite(url, SELECTIONS.get(options.cases) or options.cases.split(","), report)
        is_good = judge(report, log, minimum)
        if not gateway.is_alive:
            print(f"the gateway died, see {gateway.log}")
            is_good = False
    finally:
        status = gateway.stop()
        cluster.stop()
    if status != 0:
        print(f"the gateway ended with status {status}")
        is_good = False
    print(f"{options.cases}{' over TLS' if options.tls else ''}: {'passed' if is_good else 'FAILED'} in "
          f"{time.monotonic() - begin:.0f} s" + (f"; report in {report}/index.html" if options.report or not is_good else ""))
    if is_good:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
