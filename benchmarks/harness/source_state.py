"""Which state of the source the figures are of."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What a figure depends on; pages and tests may change meanwhile.
MEASURED = ("native", "src", "benchmarks")


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def commit() -> str:
    """As the page names it."""
    name = _git("rev-parse", "--short", "HEAD") or "unknown"
    return f"{name} with changes" if _git("status", "--porcelain", "--", *MEASURED) else name


def fingerprint() -> str:
    """The same as long as nothing has changed that a figure depends on."""
    state = hashlib.sha256()
    for folder in MEASURED:
        state.update(_git("rev-parse", f"HEAD:{folder}").encode())
    state.update(_git("diff", "HEAD", "--", *MEASURED).encode())
    return state.hexdigest()[:12]
