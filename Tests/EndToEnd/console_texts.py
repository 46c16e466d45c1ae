"""The console's texts, from the modules that translators edit."""

import importlib.machinery
import importlib.util
import re
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/web"


def web():
    """The program that builds and checks the console, which reads the modules."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader = importlib.machinery.SourceFileLoader("web", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("web", loader))
    loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


def texts_of(code: str, name: str = "work") -> dict[str, str]:
    return web().language_texts(code, name)


def marked(text: str) -> str:
    """A text of the pseudo-language: its English in marks, but for the values that it gets."""
    parts = re.split(r"(\{\d?\})", text.split("|")[0])
    return "".join(part if at % 2 or not re.search(r"\w", part) else f"⟦{part}⟧" for at, part in enumerate(parts))
