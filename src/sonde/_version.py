"""Which version of sonde this is."""

from __future__ import annotations


def version() -> str:
    """As it was installed; read on demand, because the import takes longer than sonde itself."""
    from importlib import metadata

    try:
        return metadata.version("sonde")
    except metadata.PackageNotFoundError:
        return "0+unknown"
