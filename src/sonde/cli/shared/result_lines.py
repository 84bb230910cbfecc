"""What a verb that records says first about the result, on a terminal."""

from __future__ import annotations

import glob
import os
import sys

from sonde.errors import SondeError

MAX_SIZE = 8 << 20
"""Bytes of a recording that is read for it, which takes a second or two at most."""


def print_result(recording: str | None, *, instead: str | None) -> None:
    """Top function, top blocker and quality; `instead` is a view that shows the same."""
    if recording is None or instead == "summary" or not sys.stderr.isatty():
        return
    files = glob.glob(recording) if not os.path.exists(recording) else [recording]
    if sum(map(os.path.getsize, files)) > MAX_SIZE:
        return
    from sonde.reports.headline import lines
    from sonde.views.headline import headline
    from sonde.views.stacks.chained_samples import open_recording

    try:
        # No spinner: it would wipe away the end of a program's output without a line break.
        found = open_recording(recording)
        said = lines(headline(found)) if len(found.samples) else []
    except SondeError as error:
        said = [str(error)]
    except KeyboardInterrupt:
        # The recording is on the disk; the message that names it follows.
        return
    for line in said:
        print(f"sonde: {line}", file=sys.stderr)
