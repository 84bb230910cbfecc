"""The built page, and what a browser may do on it: nothing that leaves it."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources

from sonde.errors import SondeError

BUILT = "page.html"
RECORDINGS, PARTS = "<!--recordings-->", "<!--parts-->"
"""Where the page takes the values that are put in when it is served or written."""

_SCRIPT = re.compile(r"<script type=\"module\">(.*?)</script>", re.DOTALL)
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


def built() -> str:
    try:
        text = (resources.files("sonde.web") / BUILT).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SondeError(
            "the web UI is not built; run `make page` in the source tree, or install a wheel"
        ) from None
    if text.count(RECORDINGS) != 1 or text.count(PARTS) != 1:
        raise SondeError("the web UI is of another sonde version; rebuild it with `make page`")
    return text


def tag_of(count: int) -> str:
    """Says that the page is of that many recordings."""
    return f'<meta name="sonde-recordings" content="{count}" />'


def filled(page: str, tag: str, head: str = "", parts: str = "") -> str:
    """The page of what the tag contains."""
    return page.replace(RECORDINGS, head + tag).replace(PARTS, parts)


def policy(page: str, *, connect: str) -> str:
    """A Content-Security-Policy under which only the page's own script and style count.

    Markup that a name of a recording might smuggle in could run no script, load nothing and send
    nothing; `connect` is where the page itself may ask for data.
    """
    rules = {
        "default-src": "'none'",
        "script-src": _hashes(_SCRIPT, page),
        "style-src": _hashes(_STYLE, page),
        "img-src": "data:",
        "connect-src": connect,
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _hashes(element: re.Pattern[str], page: str) -> str:
    found = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in element.findall(page)
    ]
    return " ".join(found) or "'none'"
