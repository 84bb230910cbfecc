"""The page and its recordings in one file that needs no server, no network and no sonde."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from sonde.web.bundle import PARTS
from sonde.web.page import built, filled, policy, tag_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sonde.web.bundle import Bundle


def html(bundles: Sequence[Bundle]) -> bytes:
    page = built()
    # Base64 has no character that could end the element, whatever the recording holds.
    parts = "\n".join(
        f'<script type="application/octet-stream" id="part-{number}-{name}">'
        f"{base64.b64encode(bundle.part(name)).decode()}</script>"
        for number, bundle in enumerate(bundles)
        for name in PARTS
        if name != "sources" or bundle.sources
    )
    rules = policy(page, connect="'none'")
    head = f'<meta http-equiv="Content-Security-Policy" content="{rules}" />'
    return filled(page, tag_of(len(bundles)), head, parts).encode()
