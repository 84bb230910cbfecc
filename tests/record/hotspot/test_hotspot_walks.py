"""Java stacks put together from what is known: always what HotSpot's own walker tells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from java import Jdk, compiled
from launching import must_run
from matrix import soak

Keep = Callable[[str], Path]

RATE = "10000"
TRUTH = Path(__file__).parents[2] / "truth" / "hotspot"
# Some frames stay the interpreter's, between those of compiled methods.
INTERPRETED = ("-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,Activations.slow*")


# Not inlined, calls have frames that lie where others have lain.
@pytest.mark.parametrize("option", ["-XX:+Inline", soak("-XX:-Inline")])
def test_no_stack_is_put_together_wrongly(
    jdk: Jdk, java_targets: Path, keep: Keep, option: str
) -> None:
    """Recursion, exceptions, code thrown away, classes that come and go, threads that end."""
    command = [jdk.java, *INTERPRETED, option, "-Xmx256m", "-cp", java_targets, "Activations", "8"]
    run = must_run(keep("activations"), command, "--rate", RATE, "--stacks", "checked")
    assert run.out == "done\n"
    quality = run.recording.quality
    # Most of its time goes into compiling and loading classes.
    assert quality["walks_checked"] > 500
    assert quality["walks_wrong"] == 0
    assert quality["frames_visited"] < quality["frames"]
    assert quality["garbled_rings"] == 0


def test_deep_stacks_are_not_walked_again(jdk: Jdk, keep: Keep, tmp_path: Path) -> None:
    classes = compiled(TRUTH, tmp_path)
    command = [jdk.java, "-cp", classes, "Deep", "2"]
    quality = must_run(keep("deep"), command, "--rate", RATE).recording.quality
    assert quality["frames"] > 100_000
    assert quality["frames"] > 5 * quality["frames_visited"]
