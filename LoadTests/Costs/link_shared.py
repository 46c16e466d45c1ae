#!/usr/bin/env python3
"""Links the release's objects once more, with Swift's runtime as shared libraries, whose calls can be counted.

scripts/release links the runtime statically. A build of its own would compile all again, for the same objects. The
command is the one that SwiftPM has noted for the release, in release.yaml.
"""

import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from stage import ROOT, SHARED  # noqa: E402

MANIFEST = os.path.join(ROOT, ".build/release.yaml")
TARGET = re.compile(r'^  "C\.chirrup-[a-z0-9_]+-unknown-linux-gnu-release\.exe":\n(?:    .*\n)+', re.MULTILINE)


def link_command():
    with open(MANIFEST) as file:
        target = TARGET.search(file.read())
    arguments = target and re.search(r"^    args: (\[.*\])$", target[0], re.MULTILINE)
    if not arguments or "-static-stdlib" not in arguments[1]:
        raise SystemExit(f"{MANIFEST} has no command that links chirrup statically; run scripts/release first")
    return json.loads(arguments[1])


def static_libraries(compiler):
    """The folder of the libraries that exist only as static ones. Objects compiled for static linking name them."""
    information = subprocess.run([compiler, "-print-target-info"], check=True, capture_output=True, text=True)
    return json.loads(information.stdout)["paths"]["runtimeResourcePath"] + "_static/linux"


def main():
    command = link_command()
    command.remove("-static-stdlib")
    command[command.index("-o") + 1] = SHARED
    os.makedirs(os.path.dirname(SHARED), exist_ok=True)
    subprocess.run([*command, "-L", static_libraries(command[0])], check=True)


if __name__ == "__main__":
    main()
