"""The call flow of a running process: started late, twice, beside other tools, and nothing left."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from environments import Environment
from launching import TIMEOUT_S, clean_environment, sonde
from sonde.recording.reader import read
from sonde.views.flow.flow import Numbers, flow
from truth.stacks import PROGRAMS

FIRST: tuple[str, ...] = ()
SECOND = ("--flow-c", "--flow-metric", "instructions")


def test_twice_and_nothing_is_left(environment: Environment, tmp_path: Path) -> None:
    program = PROGRAMS / "flow_guest.py"
    guest = subprocess.Popen(
        [environment.path, program],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_environment(),
    )  # fmt: skip
    assert guest.stdout is not None
    pid = guest.stdout.readline().strip()
    for number, options in enumerate((FIRST, SECOND)):
        own: dict[str, Numbers] = {}
        for seconds in ("0.7", "3", "12"):  # a busy machine takes some time to come to anything
            path = tmp_path / f"{number}-{seconds}.sonde"
            done = sonde("attach", pid, "-o", path, "--what", "flow", "--for", seconds, *options)
            assert done.returncode == 0, done.stderr
            rows = flow(read(path)).rows
            own = {r.function.name: r.numbers for r in rows if r.function.file == str(program)}
            if "work" in own and own["work"].calls > 10:
                break
        assert own["work"].calls > 10
        # Those of calls under way at either end may be missing, of two processes at a time.
        assert abs(own["leaf"].calls - 20 * own["work"].calls) <= 20 * 4
        assert abs(own["numbers"].resumptions - 2 * own["numbers"].calls) <= 8
        assert own["main"].calls == 0
        assert own["main"].preexisting
    out, _ = guest.communicate(timeout=TIMEOUT_S)
    assert guest.returncode == 0
    told = json.loads(out)
    assert told["found"]
    assert all(seen == [20, 20, 7] for seen in told["found"])
    assert told["tools"] in (None, [[None, False]] * 6)
    assert told["profile"]
    assert told["trace"]
