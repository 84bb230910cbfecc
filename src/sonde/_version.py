"""Which version of sonde this is."""

from __future__ import annotations


def version() -> str:
    """As it was installed; importing what tells it costs more than sonde, so only when asked."""
    from importlib import metadata

    try:
        return metadata.version("sonde")
    except metadata.PackageNotFoundError:
        return "0+unknown"
