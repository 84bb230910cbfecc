"""Libraries that only some commands need, and what to install where they are missing."""

from __future__ import annotations

import importlib.util

from sonde.errors import SondeError

LIBRARIES = {
    "pyarrow": "PyArrow",
    "duckdb": "DuckDB",
    "ibis": "Ibis",
    "mcp": "the library mcp",
}


def check(*names: str, needed_by: str = "stores need", extra: str = "fleet") -> None:
    """Says in one sentence what is missing of these libraries, if anything is."""
    missing = [LIBRARIES.get(name, name) for name in names if not importlib.util.find_spec(name)]
    if missing:
        raise SondeError(
            f"{needed_by} {' and '.join(missing)}; install with: pip install 'sonde[{extra}]'"
        )
