"""Each test in a span, so that every view can be asked for one test.

A span belongs to the frame that enters it. A hook wrapper is suspended while the test runs, so its
frame is not on the test's stack; the methods that pytest calls on a test are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sonde._inside import span

COLLECTION = "[collection]"
_SETUP = " [setup]"


def setup_of(nodeid: str) -> str:
    """The name of the span in which a test's fixtures are set up."""
    return nodeid + _SETUP


def is_test(name: str) -> bool:
    """Whether a span of a test run is the call of a test."""
    return name != COLLECTION and not name.endswith(_SETUP)


@contextmanager
def method_in_span(owner: Any, method: str, name: str) -> Iterator[None]:
    """Meanwhile each call of the method is in a span of this name."""
    called: Callable[..., Any] = getattr(owner, method)
    before = vars(owner).get(method)

    def in_span(*args: Any, **named: Any) -> Any:
        __tracebackhide__ = True
        with span(name):
            return called(*args, **named)

    setattr(owner, method, in_span)
    try:
        yield
    finally:
        if before is None:
            delattr(owner, method)
        else:
            setattr(owner, method, before)


class SpanHooks:
    """The hooks; also of use where the run is recorded from outside."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self, session: pytest.Session) -> Iterator[None]:
        with method_in_span(session, "perform_collect", COLLECTION):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        with method_in_span(item, "setup", setup_of(item.nodeid)):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        with method_in_span(item, "runtest", item.nodeid):
            return (yield)
