"""The pictures of the evaluation, as SVG: small, and the same for the same figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

WIDTH, HEIGHT = 7.2, 3.4
COLOURS = ("#1f5fa8", "#d1642a", "#3d8c40", "#8a5aa8", "#777777", "#b8902a", "#2a9aa8", "#a83a5a")


def draw(kind: str, data: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update(
        {
            "svg.fonttype": "none",  # text stays text
            "svg.hashsalt": "sonde",
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": mpl.cycler(color=COLOURS),
        }
    )
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT))
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    DRAWN[kind](axes, data)
    axes.set_ylabel(data["label"])
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None, "Creator": None}, transparent=False)
    plt.close(figure)
    # It writes spaces at the ends of lines.
    lines = [line.rstrip() for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines) + "\n")


def _boxes(axes: Any, data: dict[str, Any]) -> None:
    values: dict[str, list[float]] = data["values"]
    axes.boxplot(list(values.values()), widths=0.5, medianprops={"color": COLOURS[1]})
    axes.set_xticks(range(1, len(values) + 1), list(values), rotation=20, ha="right")


def _bars(axes: Any, data: dict[str, Any]) -> None:
    """For each group on the axis one bar of each row."""
    values: dict[str, list[float]] = data["values"]
    groups: list[str] = data["groups"]
    wide = 0.8 / max(len(values), 1)
    for number, (name, row) in enumerate(values.items()):
        places = [i - 0.4 + wide * (number + 0.5) for i in range(len(groups))]
        axes.bar(places, row, wide, label=name, color=COLOURS[number % len(COLOURS)])
    turned = {"rotation": 30, "ha": "right"} if len(groups) > 6 else {}
    axes.set_xticks(range(len(groups)), groups, **turned)
    axes.legend(frameon=False, fontsize=8, ncols=2)


def _lines(axes: Any, data: dict[str, Any]) -> None:
    for name, row in data["values"].items():
        points = [(x, y) for x, y in zip(data["x"], row, strict=True) if y is not None]
        axes.plot(*zip(*points, strict=True), marker="o", markersize=4, label=name)
    if data.get("log"):
        axes.set_xscale("log")
    axes.set_xticks(data["x"], [f"{x:g}" for x in data["x"]])
    axes.minorticks_off()
    axes.set_xlabel(data["across"])
    axes.legend(frameon=False, fontsize=8)


DRAWN: dict[str, Callable[[Any, dict[str, Any]], None]] = {
    "boxes": _boxes,
    "bars": _bars,
    "lines": _lines,
}
