from __future__ import annotations

from typing import Any

import pytest

from launching import Interpreter


@pytest.fixture(scope="module")
def plain(
    request: pytest.FixtureRequest, python: Interpreter, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What is seen of the module's program without sonde: the result of its `live_alone`."""
    found: dict[str, Any] = request.module.live_alone(python, tmp_path_factory.mktemp("plain"))
    return found
