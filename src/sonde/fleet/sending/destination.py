"""What whoever sends recordings and whoever takes them have agreed on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sonde.fleet.store.labels import Labels
    from sonde.recording.tables import Recording


class NotNow(Exception):
    """It did not work, but may later."""


class Destination(Protocol):
    @property
    def address(self) -> str: ...

    def send(self, recording: Recording, labels: Labels, given: Mapping[str, str]) -> None:
        """Sends it; NotNow if that is worth another try."""
