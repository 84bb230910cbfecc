"""What takes recordings: a store, an OpenTelemetry collector, Pyroscope.

Each gets a recording in its own form. An answer says whether another try is worth it: 429 and 5xx
are, anything else that is not a success is not.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING
from urllib.parse import quote
from uuid import uuid4

from sonde.errors import SondeError
from sonde.fleet.sending.destination import NotNow
from sonde.views.selecting.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sonde.fleet.store.labels import Labels
    from sonde.recording.tables import Recording

TIMEOUT_S = 10.0
TOO_MANY = 429

_SAMPLE_TYPES = {
    "samples": {"units": "samples", "display-name": "samples", "sampled": True},
    "cpu": {"units": "nanoseconds", "display-name": "cpu"},
    "wait": {"units": "nanoseconds", "display-name": "wait"},
}


class InStore:
    def __init__(self, address: str) -> None:
        from sonde.fleet.store.location import located

        self._location = located(address)
        # Not as it was given: that may hold a secret.
        self.address = self._location.address

    def send(self, recording: Recording, labels: Labels, given: Mapping[str, str]) -> None:  # noqa: ARG002
        from sonde.fleet.store.add import add_one

        try:
            add_one(self._location, recording, given)
        except OSError as error:
            raise NotNow((error.strerror or str(error)).splitlines()[0]) from None


@dataclass(frozen=True)
class Otlp:
    """An OTLP/HTTP receiver; the address is that of the collector, without the path."""

    address: str

    def send(self, recording: Recording, labels: Labels, given: Mapping[str, str]) -> None:  # noqa: ARG002
        from sonde.exports.otlp import PATH, request

        body = request(recording, Selection("wall"), labels.all)
        _post(self.address.rstrip("/") + PATH, body, "application/x-protobuf")


@dataclass(frozen=True)
class Pyroscope:
    """Pyroscope's `/ingest`, which takes pprof as a form."""

    address: str

    def send(self, recording: Recording, labels: Labels, given: Mapping[str, str]) -> None:  # noqa: ARG002
        from sonde.exports import pprof
        from sonde.views.selecting.duration import duration_ns

        profile = BytesIO()
        pprof.write(recording, Selection("wall"), profile)
        started = recording.target.get("started")
        begin = int(started) if isinstance(started, int | float) else 0
        end = begin + max(1, -(-duration_ns(recording) // 1_000_000_000))
        tags = {name: value for name, value in labels.all.items() if name != "service"}
        braces = ",".join(f"{name}={_tag(value)}" for name, value in tags.items())
        name = quote(f"{_tag(labels.service)}{{{braces}}}", safe="")
        url = (
            f"{self.address.rstrip('/')}/ingest?name={name}&from={begin}&until={end}"
            "&format=pprof&spyName=sonde"
        )
        boundary = uuid4().hex
        form = _form(
            boundary,
            {
                "profile": ("profile.pb.gz", profile.getvalue()),
                "sample_type_config": ("types.json", json.dumps(_SAMPLE_TYPES).encode()),
            },
        )
        _post(url, form, f"multipart/form-data; boundary={boundary}")


def _tag(value: str) -> str:
    """Without what the name of a Pyroscope application is written with."""
    return "".join("_" if character in '{}=,"' else character for character in value)


def _form(boundary: str, files: dict[str, tuple[str, bytes]]) -> bytes:
    parts = []
    for name, (file, content) in files.items():
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{file}"'
        parts.append(f"{head}\r\nContent-Type: application/octet-stream\r\n\r\n".encode() + content)
    return b"\r\n".join(parts) + f"\r\n--{boundary}--\r\n".encode()


def _post(url: str, body: bytes, kind: str) -> None:
    request = urllib.request.Request(url, data=body, method="POST", headers={"Content-Type": kind})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            answer.read()
    except urllib.error.HTTPError as error:
        said = f"it responded {error.code} {error.reason}"
        if error.code == TOO_MANY or error.code >= 500:
            raise NotNow(said) from None
        raise SondeError(f"{url.partition('?')[0]} does not accept profiles: {said}") from None
    except (urllib.error.URLError, OSError) as error:
        raise NotNow(str(getattr(error, "reason", error))) from None
