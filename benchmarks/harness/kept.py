"""Results that are kept, so that hours of measuring can be broken off and gone on with.

Each is a file under a folder, named by what was measured: part, program, version, repetition. As
long as `into` was not called everything is measured anew and nothing is kept.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

_folders: list[Path] = []
"""None, or the one that is used."""


def into(folder: Path) -> None:
    """From now on results are kept here, and those that are here are not measured again."""
    folder.mkdir(parents=True, exist_ok=True)
    _folders[:] = [folder]


def result(part: str, *key: object, measure: Callable[[], Any], **told: object) -> Any:
    """What `measure` answered, now or before; `told` are further parameters of it.

    What fails is not kept.
    """
    if not _folders:
        return measure()
    words = [re.sub(r"[^\w.+-]+", "_", str(word)) for word in key]
    if told:
        text = json.dumps(told, sort_keys=True, default=str)
        words.append(hashlib.sha256(text.encode()).hexdigest()[:8])
    path = _folders[0] / part / f"{'-'.join(words)}.json"
    if path.exists():
        return json.loads(path.read_text())
    answer = measure()
    path.parent.mkdir(parents=True, exist_ok=True)
    # Whole or not at all, whenever it is broken off.
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(answer))
    draft.replace(path)
    return json.loads(path.read_text())
