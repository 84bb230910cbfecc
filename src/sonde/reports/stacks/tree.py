"""The calling context tree as indented lines with bars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sonde.reports.layout.names import IMPORT_SYSTEM, labelled, library_name
from sonde.reports.layout.page import bar, line
from sonde.row_values import BUILT_IN
from sonde.views.selecting.formatting import count, measured, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.stacks.tree import Node, Tree

SMALL = 0.005
"""Branches below this share of the total are folded."""
FEW = 5
"""So are those that rest on fewer samples than this, which may be chance, ..."""
NOT_SMALL = 0.02
"""... unless their share is this large all the same."""
BAR = 8
MAX_INDENT = 20
MAX_CHAIN_LENGTH = 16
"""Of a longer run of frames without a branch only the ends are shown."""
CHAIN_END = 6

_NUMBERS = 8 + 1 + BAR + 9 + 2


PLUMBING_BELOW = ("exec", "__import__")
"""Built-ins that belong to the import machinery where it calls them."""


@dataclass(frozen=True)
class Folded:
    """What a line stands for that is not shown: small branches, or the middle of a chain."""

    text: str


def render(result: Tree, out: Console) -> None:
    if not result.nodes:
        return
    line(out, (f"{'total':>8} {'':{BAR}}{'self':>9}  function", "bold"))
    for depth, item in _shown(result):
        indent = " " * min(depth, MAX_INDENT)
        if depth > MAX_INDENT:
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
            f"{measured(item.self_ns, result.unit) if item.self_ns else '':>9}  {indent}",
            labelled(_name(item), item.file, item.line, out.width - _NUMBERS - len(indent)),
        )
    if any(node.state == "waiting" for node in result.nodes):
        line(out, ("Bars: █ on-CPU, ░ off-CPU.", "dim"))
    if any(node.library for node in result.nodes):
        line(out, ("→ library function, with all that it called itself.", "dim"))
    elif any(node.file.startswith(IMPORT_SYSTEM) for node in result.nodes):
        line(out, ("Frames of the import system are hidden; --json has them.", "dim"))


def _name(node: Node) -> str:
    return f"→ {library_name(node.name, node.file)}" if node.library else node.name


def _shown(result: Tree) -> list[tuple[int, Node | Folded]]:
    """The lines of the page: nodes with their depth, small ones folded, long chains cut."""
    small = _small(result)
    limit = result.total_ns * small
    roots, children = _families(result, limit)

    page: list[tuple[int, Node | Folded]] = []
    chain: list[tuple[int, Node]] = []

    def end_chain() -> None:
        """A chain is read as far as it goes before it can be known to be too long."""
        if len(chain) > MAX_CHAIN_LENGTH:
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
            page.append((depth, Folded(f"{rest:,} more below {percent(small, 1)}")))
    end_chain()
    return page


def _small(result: Tree) -> float:
    """The share below which a branch is folded; a wait is no chance, however few there are."""
    samples = sum(node.samples for node in result.nodes)
    if not samples or any(node.state == "waiting" for node in result.nodes):
        return SMALL
    return min(max(SMALL, FEW / samples), NOT_SMALL)


def _families(result: Tree, limit: float) -> tuple[list[Node], list[list[Node]]]:
    """The roots, and the children of every node, with the import machinery left out.

    Between a module and one it imports stand half a dozen frames that nobody wants to read;
    one that took time itself stays.
    """
    children: list[list[Node]] = [[] for _ in result.nodes]
    roots: list[Node] = []
    plumbing: list[bool] = []
    for node in result.nodes:
        plumbing.append(
            node.file.startswith(IMPORT_SYSTEM)
            or (
                node.file == BUILT_IN
                and node.name in PLUMBING_BELOW
                and node.parent is not None
                and plumbing[node.parent]
            )
        )
    # Children come after their parent, so from the end every node finds its own complete.
    for node in reversed(result.nodes):
        family = roots if node.parent is None else children[node.parent]
        if plumbing[node.id] and node.self_ns < limit and children[node.id]:
            family.extend(children[node.id])
        else:
            family.append(node)
    for family in (roots, *children):
        family.sort(key=lambda node: (-node.total_ns, node.id))
    return roots, children
