"""On which interpreters the tests of a module run, where not on all: its `PYTHONS`."""

from __future__ import annotations

import sys

import pythons

OLDEST_AND_NEWEST = (pythons.VERSIONS[0], pythons.VERSIONS[-1])
"""For what is the recorder's work, which no version does otherwise."""

OWN = (f"{sys.version_info[0]}.{sys.version_info[1]}",)
"""For large programs that are to be tried, one version of which is enough."""
