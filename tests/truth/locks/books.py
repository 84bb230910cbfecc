"""A recording of waits held against the books that the program itself kept of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sonde.recording.tables import Recording
from sonde.views.locks.locks import locks

RECORDED = 0.99
CHARGED = 0.98
BY = ("kind", "waiter_chain", "owner_thread", "owner_chain")


@dataclass(frozen=True)
class Part:
    """Waiting in one chain that one owner is to blame for."""

    kind: str
    waiter: tuple[str, ...]
    owner_thread: str | None
    owner: tuple[str, ...]
    ns: int


@dataclass(frozen=True)
class Truth:
    """What a program told about one scenario."""

    kind: str
    waiter: str
    owners: dict[str, int]
    """How long each owner held it while it was waited for."""
    by_thread: bool
    """Owners are names of threads, not of functions."""
    slept: int
    wall: int
    alone: bool
    """Nothing else waits in a chain of that name."""

    @property
    def unheld(self) -> int:
        """When nobody held it and nobody had it yet; whose fault that is may be seen either way."""
        return max(0, self.wall - sum(self.owners.values()))


class Books:
    """What a program told, and what a recording of it says."""

    def __init__(self, recording: Recording, told: dict[str, Any]) -> None:
        self.recording = recording
        self.told = told

    @cached_property
    def view(self) -> dict[str, Any]:
        return locks(self.recording, by=BY).to_json()

    @cached_property
    def parts(self) -> list[Part]:
        return [
            Part(keys["kind"], _names(keys["waiter_chain"]), keys["owner_thread"],
                 _names(keys["owner_chain"]), ns)
            for keys, ns in _leaves(self.view["rows"], {})
        ]  # fmt: skip

    def truth(self, name: str) -> Truth:
        told = self.told
        scenario = told["scenarios"][name]
        waits = [(start, end, slept) for of, start, end, slept in told["waits"] if of == name]
        assert waits, f"{name}: nothing was waited for"
        wall = sum(end - start for start, end, _ in waits)
        slept = sum(slept for _, _, slept in waits)
        if scenario["signal"]:
            # Who gives the signal is to blame for all of it; of several, each for any part.
            owners = dict.fromkeys(scenario["owners"], wall)
        else:
            owners = {
                owner: sum(
                    max(0, min(end, held_until) - max(start, held_since))
                    for start, end, _ in waits
                    for of, by, held_since, held_until in told["holds"]
                    if of == name and by == owner
                )
                for owner in scenario["owners"]
            }
        return Truth(
            kind=scenario["kind"],
            waiter=scenario["waiter"],
            owners=owners,
            by_thread=scenario["by"] == "thread",
            slept=slept,
            wall=wall,
            alone=scenario.get("alone", True),
        )

    def compare(
        self, name: str, at_least: float = RECORDED, to_the_right: float = CHARGED
    ) -> list[str]:
        """What is wrong about a scenario; bounds are shares of the time that was waited."""
        truth = self.truth(name)
        mine = [part for part in self.parts if truth.waiter in part.waiter]
        recorded = sum(part.ns for part in mine)
        of_kind = [part for part in mine if part.kind == truth.kind]
        gil = 0 if truth.kind == "gil" else sum(part.ns for part in mine if part.kind == "gil")
        charged: dict[str, int] = {}
        for part in of_kind:
            names = part.owner
            if truth.by_thread:  # where several threads have one name, sonde adds the number
                names = ((part.owner_thread or "").partition(" (")[0],)
            for owner in truth.owners:
                if owner in names:
                    charged[owner] = charged.get(owner, 0) + part.ns
        right = sum(
            min(charged.get(owner, 0), held + truth.unheld) for owner, held in truth.owners.items()
        )
        wrong = []
        if recorded > truth.wall and truth.alone:
            wrong.append(f"{recorded} ns recorded, but it took {truth.wall} ns only")
        if recorded < at_least * truth.slept:
            wrong.append(f"{recorded} ns recorded of {truth.slept} ns")
        if right < to_the_right * (truth.slept - gil):
            wrong.append(f"{right} ns charged to {truth.owners} of {truth.slept - gil} ns")
        return [*wrong, *map(str, mine)] if wrong else []


def _leaves(
    rows: list[dict[str, Any]], above: dict[str, Any]
) -> Iterator[tuple[dict[str, Any], int]]:
    for row in rows:
        keys = above | row["key"]
        if row["children"]:
            yield from _leaves(row["children"], keys)
        else:
            yield keys, row["wait_ns"]


def _names(chain: list[dict[str, Any]] | None) -> tuple[str, ...]:
    return tuple(frame["name"] for frame in chain or ())
