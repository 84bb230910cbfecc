"""Sending the parts of a continuous recording on while it goes on.

A process of its own does it: what it imports and waits for is nobody's burden, neither the
recorder's nor that of whoever attached. What waits to be sent are the parts on the disk.
"""

from __future__ import annotations

import glob
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from sonde.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TIMEOUT_S = 120.0
"""How long the last parts may take when the recording is over."""

Push = Annotated[
    str | None,
    typer.Option(
        "--push",
        metavar="TO",
        help="continuous: send each finished segment to a store, otlp+http://HOST:PORT or "
        "pyroscope+http://HOST:PORT.",
    ),
]
PushLabel = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="NAME=VALUE", help="Label the segments that --push sends."),
]


def check(to: str | None, labels: Sequence[str] | None, mode: str) -> None:
    """Refuses what cannot work before anything begins."""
    if to is None:
        if labels:
            raise UsageError("--label needs --push TO")
        return
    if mode != "continuous":
        raise UsageError("--push needs a continuous recording; add --mode continuous --rotate 60s")
    from sonde import optional_packages
    from sonde.fleet.store.labels import given

    given(labels or [])
    if "+http" not in to:
        optional_packages.check("pyarrow")


@contextmanager
def pushing(to: str | None, path: str, labels: Sequence[str] | None) -> Iterator[None]:
    """Sends the parts of the recording at `path` for as long as it lasts, and then the last."""
    if to is None:
        yield
        return
    pattern = f"{glob.escape(path.removesuffix('.sonde'))}.*.sonde"
    label_words = [word for label in labels or [] for word in ("--label", label)]
    child = subprocess.Popen(
        [sys.executable, "-m", "sonde", "fleet", "push", to, pattern, "--follow", *label_words],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        # A Ctrl-C that ends the recording must not end the sending of its last part.
        start_new_session=True,
    )
    assert child.stdin is not None
    try:
        yield
    finally:
        child.stdin.close()
        try:
            child.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            child.terminate()
            print(f"sonde: could not send the last segments to {to}", file=sys.stderr)
