"""The interpreters of this machine, as scripts/pythons.py finds them."""

from __future__ import annotations

import sys
from pathlib import Path


def found() -> dict[str, str]:
    """Version ("3.12") and path of each."""
    sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))
    import pythons

    return pythons.found()
