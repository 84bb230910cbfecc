"""The calling context tree as indented lines with bars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sonde.reports.names import labelled
from sonde.reports.page import bar, line
from sonde.views.words import count, duration, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.tree import Node, Tree

SMALL = 0.005
"""Branches below this share of the total are folded."""
BAR = 8
DEEPEST_INDENT = 20
LONGEST_CHAIN = 16
"""Of a longer run of frames without a branch only the ends are shown."""
CHAIN_END = 6

_NUMBERS = 8 + 1 + BAR + 9 + 2


@dataclass(frozen=True)
class Folded:
    """What a line stands for that is not shown: small branches, or the middle of a chain."""

    text: str


def render(result: Tree, out: Console) -> None:
    if not result.nodes:
        return
    line(out, (f"{'total':>8} {'':{BAR}}{'self':>9}  function", "bold"))
    for depth, item in _shown(result):
        indent = " " * min(depth, DEEPEST_INDENT)
        if depth > DEEPEST_INDENT:
            indent = f"{indent[:-4]}{depth:>3} "
        if isinstance(item, Folded):
            line(out, (f"{'':{_NUMBERS}}{indent}… {item.text}", "dim"))
            continue
        share = item.total_ns / result.total_ns if result.total_ns else 0.0
        waiting = item.state == "waiting"
        line(
            out,
            (f"{percent(share, 1):>8} ", "cyan"),
            (bar(share, BAR, waiting=waiting), "yellow" if waiting else "green"),
            f"{duration(item.self_ns) if item.self_ns else '':>9}  {indent}",
            labelled(item.name, item.file, item.line, out.width - _NUMBERS - len(indent)),
        )
    if any(node.state == "waiting" for node in result.nodes):
        line(out, ("Bars: █ running, ░ waiting.", "dim"))


def _shown(result: Tree) -> list[tuple[int, Node | Folded]]:
    """The lines of the page: nodes with their depth, small ones folded, long chains cut."""
    limit = result.total_ns * SMALL
    children: list[list[Node]] = [[] for _ in result.nodes]
    roots: list[Node] = []
    for node in result.nodes:
        (roots if node.parent is None else children[node.parent]).append(node)

    page: list[tuple[int, Node | Folded]] = []
    chain: list[tuple[int, Node]] = []

    def end_chain() -> None:
        """A chain is read as far as it goes before it can be known to be too long."""
        if len(chain) > LONGEST_CHAIN:
            hidden = len(chain) - 2 * CHAIN_END
            page.extend(chain[:CHAIN_END])
            page.append((chain[CHAIN_END][0], Folded(f"{count(hidden, 'frame')} without a branch")))
            page.extend(chain[-CHAIN_END:])
        else:
            page.extend(chain)
        chain.clear()

    # A stack of our own: recorded stacks are deeper than Python's recursion may go.
    work: list[tuple[int, list[Node], int]] = [(0, roots, 0)]
    while work:
        depth, nodes, at = work.pop()
        large = [node for node in nodes if node.total_ns >= limit]
        if at < len(large):
            work.append((depth, nodes, at + 1))
            node = large[at]
            chain.append((depth, node))
            below = children[node.id]
            if node.self_ns >= limit or len(below) != 1:
                end_chain()
            work.append((depth + 1, below, 0))
        elif len(large) < len(nodes):
            end_chain()
            rest = len(nodes) - len(large)
            page.append((depth, Folded(f"{rest:,} more below {percent(SMALL, 1)}")))
    end_chain()
    return page
