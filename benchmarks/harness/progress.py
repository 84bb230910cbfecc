"""Words on the way, on stderr: the tables alone are on stdout."""

from __future__ import annotations

import sys
import time

_began = time.monotonic()


def say(text: str) -> None:
    minutes, seconds = divmod(int(time.monotonic() - _began), 60)
    print(f"[{minutes:2d}:{seconds:02d}] {text}", file=sys.stderr, flush=True)
