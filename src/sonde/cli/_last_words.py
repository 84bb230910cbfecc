"""What a verb that records says when it is done."""

from __future__ import annotations

import os
from typing import Any


def last_words(done: dict[str, Any], of: str = "", nothing: str = "") -> str:
    """Of a finished recorder's answer; `nothing` is why there may be no sample in it."""
    quality = done["done"]
    path = os.path.relpath(str(done["path"]))
    if len(path) > len(str(done["path"])):
        path = str(done["path"])
    if not os.path.exists(path):
        why = done.get("trouble") or (
            "no CPython 3.11 to 3.15 and no JVM from 17 on was seen; "
            "`sonde doctor` tells what can be recorded"
        )
        return f"nothing was recorded: {why}"
    if not quality.get("taken"):
        why = done.get("trouble") or nothing or "the program used hardly any CPU time"
        return f"{path} has no samples: {why}"
    lost = quality.get("events_lost", 0)
    words = f"{quality['taken']:,} samples{of}" + (f", {lost:,} lost" if lost else "")
    if quality.get("without_objects"):
        words += ", but no objects: those of CPython programs are not seen yet"
    return f"recorded {words}; read it with: sonde report {path}"
