"""On which interpreters tests run, where not on all, and what is only for `--soak`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

import pythons

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

OLDEST, NEWEST = pythons.VERSIONS[0], pythons.VERSIONS[-1]
OLDEST_AND_NEWEST = (OLDEST, NEWEST)
"""For what is the recorder's work, which no version does otherwise. Without `--soak` a test runs on
one of the two, by its name."""

OWN = (f"{sys.version_info[0]}.{sys.version_info[1]}",)
"""For large programs that are to be tried, one version of which is enough."""


def on_both_ends(*values: object) -> ParameterSet:
    """One more set of parameters, which the oldest and the newest are enough for."""
    return pytest.param(*values, marks=pytest.mark.versions(*OLDEST_AND_NEWEST))


def soak(*values: object) -> ParameterSet:
    """One more set of parameters, for `--soak` only."""
    return pytest.param(*values, marks=pytest.mark.soak)
