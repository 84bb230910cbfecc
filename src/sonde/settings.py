"""Settings of the working directory: [tool.sonde] of a pyproject.toml, and SONDE_* variables.

This module finds and reads them. Which options they are defaults of, and whether their values are
right, the command line knows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sonde.errors import UsageError

FILE = "pyproject.toml"
PREFIX = "SONDE_"
SOURCE = "source"
"""The one setting that is no option: packages and folders of the program's own code."""


@dataclass(frozen=True)
class Settings:
    """What is set, as it is written."""

    file: str | None = None
    """The pyproject.toml that has a table [tool.sonde]."""
    table: Mapping[str, Any] = field(default_factory=dict)
    """That table; tables in it are of verbs."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables by their names."""
    source: tuple[str, ...] = ()
    """Packages by name and folders by absolute path."""

    @property
    def table_name(self) -> str:
        """What messages call the table."""
        return f"[tool.sonde] of {os.path.relpath(self.file)}" if self.file else "[tool.sonde]"


def load(folder: str | os.PathLike[str] | None = None) -> Settings:
    """Those of a folder, by default of the working directory; UsageError if they cannot be read."""
    here = Path.cwd() if folder is None else Path(folder).absolute()
    file, table = _find(here)
    variables = {
        name: text for name, text in os.environ.items() if name.startswith(PREFIX) and text
    }
    found = Settings(file, table, variables)
    named = variables.get(f"{PREFIX}{SOURCE.upper()}")
    if named is not None:
        entries = [entry.strip() for entry in named.split(",") if entry.strip()]
        source = _source(entries, here)
    else:
        source = _source(_checked(table.get(SOURCE, []), found), Path(file or here).parent)
    return Settings(file, table, variables, source)


def _find(here: Path) -> tuple[str | None, Mapping[str, Any]]:
    """The nearest file that has settings; one of another tool alone does not hide it."""
    for folder in (here, *here.parents):
        path = folder / FILE
        if path.is_file() and (table := _table(path)) is not None:
            return str(path), table
    return None, {}


def _table(path: Path) -> Mapping[str, Any] | None:
    import tomllib

    try:
        data = path.read_bytes()
        if b"sonde" not in data:  # most have nothing for us, and may be as wrong as they like
            return None
        tool = tomllib.loads(data.decode()).get("tool", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read settings: {path} is not valid TOML: {error}") from None
    except OSError as error:
        raise UsageError(
            f"cannot read settings: {path}: {(error.strerror or '').lower()}"
        ) from None
    table = tool.get("sonde") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise UsageError(f"tool.sonde in {path} is not a table")
    return table


def _checked(entries: Any, settings: Settings) -> list[str]:
    if isinstance(entries, str):
        entries = [entries]
    if not isinstance(entries, list) or not all(isinstance(e, str) and e for e in entries):
        raise UsageError(
            f"invalid source in {settings.table_name}; give a list of packages and folders, "
            'such as ["src", "mypackage"]'
        )
    return entries


def _source(entries: list[str], base: Path) -> tuple[str, ...]:
    """Folders are relative to the file that names them, wherever sonde is run."""
    return tuple(
        os.path.normpath(base / os.path.expanduser(entry)) if _is_folder(entry, base) else entry
        for entry in entries
    )


def _is_folder(entry: str, base: Path) -> bool:
    return "/" in entry or entry.startswith((".", "~")) or (base / entry).is_dir()
