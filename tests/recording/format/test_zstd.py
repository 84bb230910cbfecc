"""Zstandard is the same whichever library an interpreter has it from."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import zstandard

from environments import Environment
from launching import clean_environment

SOURCE = Path(__file__).resolve().parents[3] / "src"
ASKED = """
import json, sys
from sonde.recording.format import zstd
compress, decompress = zstd.compressor(3), zstd.decompressor()
theirs = bytes.fromhex(sys.argv[1])
whole = [compress(bytes(3000)), compress(b"second"), compress(b"")]
refused = []
for frame in (whole[0] + b"x", whole[0] + whole[1], whole[0][:-1], whole[0][:4], b"nonsense"):
    try:
        decompress(frame)
    except zstd.ZstdError:
        refused.append(True)
print(json.dumps({
    "whole": [frame.hex() for frame in whole],
    "sizes": [zstd.content_size(frame) for frame in whole],
    "read": [decompress(frame).hex() for frame in (*whole, theirs)],
    "refused": len(refused),
}))
"""


def test_frames_are_the_same_everywhere(environment: Environment) -> None:
    said = [bytes(3000), b"second", b"", b"by the package" * 100]
    theirs = zstandard.ZstdCompressor().compress(said[3])
    done = subprocess.run(
        [environment.path, "-c", ASKED, theirs.hex()],
        env=clean_environment(PYTHONPATH=str(SOURCE)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [bytes.fromhex(raw) for raw in told["read"]] == said
    assert told["sizes"] == [len(raw) for raw in said[:3]]
    ours = [zstandard.decompress(bytes.fromhex(frame)) for frame in told["whole"]]
    assert ours == said[:3]
    assert told["refused"] == 5
