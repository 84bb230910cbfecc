#!/usr/bin/env python3
"""Puts built files into a source distribution; meson calls it with their paths."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def main() -> None:
    for path in sys.argv[1:]:
        built = Path(os.environ["MESON_SOURCE_ROOT"]) / path
        if not built.exists():
            sys.exit(f"{path} is not built; run `make page` first")
        shutil.copy(built, Path(os.environ["MESON_DIST_ROOT"]) / path)


if __name__ == "__main__":
    main()
