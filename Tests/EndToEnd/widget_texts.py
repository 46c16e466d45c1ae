"""The widget's texts, from the modules that translators edit, so that a test names a text by its key."""

import re
from pathlib import Path

LANGUAGES = Path(__file__).resolve().parents[2] / "Sources/WebAssets/widget/languages"
#: One text a line, in single quotes; a test in WebAssetsTests holds the modules to it.
TEXT = re.compile(r"^  (\w+): '(.*)',$", re.MULTILINE)


def texts_of(code: str) -> dict[str, str]:
    return dict(TEXT.findall((LANGUAGES / f"{code}.js").read_text()))


EN = texts_of("en")
