"""A store as its page asks for it: what is in it, a map of its time, the tree of a part of it.

Nothing of a store is sent but what a view shows: sums by context, made by DuckDB. What comes and
goes is described in `ui/src/store/load.ts`.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from sonde._version import version
from sonde.errors import SondeError, UsageError
from sonde.fleet.queries.engines import DUCKDB, engine
from sonde.fleet.queries.heat import MS, heat
from sonde.fleet.queries.inventory import extent, values
from sonde.fleet.queries.profiles import profile
from sonde.fleet.queries.query import Question, StoreQuery
from sonde.fleet.store.labels import Exactly, is_name
from sonde.fleet.store.parts import open_store
from sonde.views.selecting.profile import UNDECODABLE
from sonde.web.columns import changes, deflated, part, signed, unsigned
from sonde.web.modules import module_of
from sonde.web.shown import Reply

if TYPE_CHECKING:
    from sonde.fleet.queries.engines import Engine
    from sonde.fleet.store.location import Location
    from sonde.fleet.store.parts import Store
    from sonde.model.choice import Time
    from sonde.views.selecting.profile import Profile

TIMES: tuple[Time, ...] = ("running", "waiting", "wall")
LATEST = (1 << 63) // MS
"""Milliseconds; nanoseconds then still fit into 64 bits."""


class StoreParts:
    """What the page of a store can ask for."""

    tag = '<meta name="sonde-store" content="1" />'

    def __init__(self, location: Location) -> None:
        self.location = location
        self.name = location.address
        self.store: Store = open_store(location)

    def answer(self, path: list[str], query: dict[str, list[str]]) -> Reply | None:
        asks = {"meta": self._meta, "heat": self._heat, "tree": self._tree}
        match path:
            case ["s", name] if name in asks:
                request = _Request(query.get("ask", ["{}"])[0])
                try:
                    # One each: what an engine has read about parts would pile up.
                    with engine(DUCKDB) as asked_of:
                        return Reply(asks[name](asked_of, request))
                except (OSError, duckdb.Error) as error:
                    raise SondeError(
                        f"{self.location.address} cannot be read ({str(error).splitlines()[0]}); "
                        "it may have changed; reload the page"
                    ) from error
        return None

    def _meta(self, asked_of: Engine, _: _Request) -> bytes:
        """Looks at the store again: until the next time all answers are of these parts."""
        self.store = open_store(self.location)
        asked = StoreQuery(self.store, asked_of, Question())
        facts = {
            "address": self.location.address,
            "version": version(),
            **asdict(extent(asked)),
            "labels": [one.to_json() for one in values(asked)],
        }
        return _json(facts)

    def _heat(self, asked_of: Engine, request: _Request) -> bytes:
        return _json(
            heat(StoreQuery(self.store, asked_of, request.question()), request.by()).to_json()
        )

    def _tree(self, asked_of: Engine, request: _Request) -> bytes:
        """Both times: the page chooses."""
        asked = StoreQuery(self.store, asked_of, request.question(time="wall"))
        if not asked.parts:
            return _packed(None, 0)
        return _packed(profile(asked), extent(asked).recordings)


def _packed(found: Profile | None, recordings: int) -> bytes:
    """A tree with its sums. Its functions come first, as text that is a column of bytes."""
    functions = [] if found is None else found.functions
    used = np.zeros(0, dtype=np.int64) if found is None else np.unique(found.function)
    shown = [functions[i] for i in used.tolist() if functions[i] != UNDECODABLE]
    files: dict[str, int] = {}
    head = {
        "recordings": recordings,
        "functions": [
            [f.name, files.setdefault(f.file, len(files)), f.line, f.runtime, module_of(f)]
            for f in shown
        ],
        "files": list(files),
    }
    text = np.frombuffer(json.dumps(head, separators=(",", ":")).encode(), dtype=np.uint8)
    if found is None:
        return part(unsigned(text), *[unsigned([])] * 7)
    # The undecodable one is the last of all functions, so it is where the others end.
    number = np.full(len(functions), -1, dtype=np.int64)
    number[used] = np.arange(len(used))
    function = number[found.function]
    function[function == len(shown)] = -1
    return part(
        unsigned(text),
        changes(found.tree.parent),
        unsigned(function + 1),
        signed(found.line),
        *(
            unsigned(column)
            for column in (
                found.running, found.waiting, found.running_samples, found.waiting_samples,
            )
        ),
    )  # fmt: skip


class _Request:
    """What a request asks, which may have been written by anybody."""

    def __init__(self, text: str) -> None:
        try:
            parsed = json.loads(text)
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            raise UsageError("invalid request")
        self.values: dict[str, Any] = parsed

    def question(self, time: Time | None = None) -> Question:
        start, end = self._moment("from"), self._moment("to")
        if start is not None and end is not None and end <= start:
            raise UsageError("the time range is empty")
        asked = self.values.get("time", "running")
        if asked not in TIMES:
            raise UsageError("invalid time; valid values: running, waiting, wall")
        return Question(self._where(), start, end, time=time or asked)

    def by(self) -> str:
        return _label(self.values.get("by"))

    def _where(self) -> tuple[Exactly, ...]:
        where = self.values.get("where", [])
        if not isinstance(where, list):
            raise UsageError("where must be a list")
        found = []
        for one in where:
            match one:
                case [label, [*chosen]] if chosen and all(
                    value is None or isinstance(value, str) for value in chosen
                ):
                    found.append(Exactly(_label(label), tuple(chosen)))
                case _:
                    raise UsageError("where needs a label and its values")
        return tuple(found)

    def _moment(self, name: str) -> int | None:
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < LATEST:
            raise UsageError(f"{name} must be a number of milliseconds")
        return value * MS


def _label(value: Any) -> str:
    if not isinstance(value, str) or not is_name(value):
        raise UsageError("invalid label")
    return value


def _json(answer: Any) -> bytes:
    return deflated(json.dumps(answer, separators=(",", ":")).encode())
