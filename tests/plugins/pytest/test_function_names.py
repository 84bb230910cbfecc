"""Functions named in a test, among those of a recording."""

from __future__ import annotations

import functools
import json.decoder
import time

import pytest

from sonde.plugins.pytest.function_names import resolve
from sonde.views.selecting.profile import Function


class Shop:
    def open(self) -> None: ...

    @staticmethod
    def close() -> None: ...

    @property
    def stock(self) -> int:
        return 0

    @functools.cache  # noqa: B019
    def cached(self) -> None: ...


def recorded(name: str, file: str = "/app/shop.py", line: int = 1) -> Function:
    return Function(name, file, line, "cpython")


@pytest.mark.parametrize("method", ["open", "close", "stock", "cached"])
def test_methods_are_resolved_to_their_code(method: str) -> None:
    found = resolve(f"{__name__}.Shop.{method}")
    assert found.code is not None
    assert found.code.co_qualname == f"Shop.{method}"
    line = found.code.co_firstlineno
    assert found.is_of(recorded(f"Shop.{method}", __file__, line))
    assert not found.is_of(recorded(f"Shop.{method}", __file__, line + 1))
    assert not found.is_of(recorded(f"Shop.{method}", "/other.py", line))


def test_functions_written_in_c_are_resolved() -> None:
    assert resolve("time.sleep").is_of(Function("time.sleep", "<built-in>", 0, "cpython"))
    assert resolve("builtins.sorted").is_of(Function("sorted", "<built-in>", 0, "cpython"))
    assert not resolve("time.sleep").is_of(recorded("sleep", "/usr/lib/time.py"))


def test_a_function_is_known_by_the_end_of_its_name() -> None:
    name = resolve("decoder.JSONDecoder.decode_it")
    assert not name.is_resolved
    assert name.is_of(recorded("JSONDecoder.decode_it", json.decoder.__file__))
    assert not name.is_of(recorded("JSONDecoder.decode_it", "/lib/encoder.py"))
    assert resolve("json.dumped").is_of(recorded("dumped", "/usr/lib/json/__init__.py"))
    assert not resolve("umped").is_of(recorded("dumped"))


def test_what_no_module_has_is_not_resolved() -> None:
    assert not resolve("json.nonsense").is_resolved
    assert not resolve("nonsense.at.all").is_resolved
    assert not resolve("burn").is_resolved
    assert resolve("json.dumps").is_resolved
    assert time.sleep is not None
