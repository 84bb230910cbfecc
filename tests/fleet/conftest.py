"""A store of real recordings, made once."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import pytest

from fleet.recorded import added, shop
from launching import Interpreter

if importlib.util.find_spec("ibis") is None:
    # `make test` brings what these need; who runs others need not have it.
    collect_ignore_glob = ["test_*.py"]


@dataclass(frozen=True)
class Fleet:
    """Two versions of a service on several hosts; the new one computes prices the hard way."""

    store: Path
    files: dict[str, Path]


HOSTS = ("a", "b", "c")


@pytest.fixture(scope="session")
def fleet(any_python: Interpreter, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    folder = tmp_path_factory.mktemp("fleet")
    files = {}
    for version, heavy in (("1", 1), ("2", 20)):
        for host in HOSTS:
            name = f"{version}-{host}"
            files[name] = shop(folder / f"{name}.sonde", any_python.path, heavy)
            region = "eu" if host == "c" else "us"
            added(
                folder / "store",
                [files[name]],
                service="shop",
                version=version,
                host=host,
                region=region,
                team="green",
            )
    return Fleet(folder / "store", files)
