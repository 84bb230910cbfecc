"""The words of `sonde ctl`."""

from __future__ import annotations

import pytest

from sonde.cli.commands.ctl import ALIASES, LOCAL, VERBS, order_of
from sonde.errors import UsageError
from sonde.record.recorder.control import commands


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("pause", "pause"),
        ("resume", "resume"),
        ("start", "resume"),
        ("stop", "stop"),
        ("detach", "stop"),
    ],
)
def test_pause_resume_and_stop_mean_what_they_say(typed: str, sent: str) -> None:
    assert order_of([typed]) == {"do": sent}


def test_a_heap_goes_into_a_file_if_one_is_given() -> None:
    assert order_of(["heap"]) == {"do": "heap", "file": None}
    assert order_of(["heap", "my", "heap.sonde"]) == {"do": "heap", "file": "my heap.sonde"}


class Session:
    """Notes what a request makes a recording do."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def pause(self) -> None:
        self.done.append("pause")

    def resume(self) -> None:
        self.done.append("resume")


@pytest.mark.parametrize(
    ("command", "does"), [("pause", "pause"), ("resume", "resume"), ("start", "resume")]
)
def test_the_server_does_what_the_command_says(command: str, does: str) -> None:
    session = Session()
    found, arguments = commands.from_control(session, {"do": command})  # type: ignore[arg-type]
    assert found.do(session, **arguments) is None
    assert session.done == [does]


def test_the_server_knows_every_command_and_alias() -> None:
    assert {*VERBS, *ALIASES} - LOCAL == set(commands.VERBS)


def test_an_unknown_command_is_answered_with_the_valid_ones() -> None:
    with pytest.raises(UsageError, match="invalid command 'sing'; valid commands: status, pause"):
        order_of(["sing"])
