"""The tree view against trees done by hand."""

from __future__ import annotations

from sonde.views.selecting.selection import Selection
from sonde.views.stacks.tree import Tree, tree
from synthetic import APP, Maker


def rows(result: Tree) -> list[tuple[object, ...]]:
    return [(n.parent, n.name, n.line, n.self_ns, n.total_ns, n.samples) for n in result.nodes]


def test_self_and_total_by_line() -> None:
    make = Maker()
    make.sample("main:3 > work:12", 10)
    make.sample("main:3 > work:13", 20)
    make.sample("main:3 > work:13", 20)
    make.sample("main:4", 5)
    result = tree(make.recording())
    assert result.total_ns == 55
    assert rows(result) == [
        (None, "main", 3, 0, 50, 0),
        (0, "work", 13, 40, 40, 2),
        (0, "work", 12, 10, 10, 1),
        (None, "main", 4, 5, 5, 1),
    ]


def test_merge_lines_makes_one_node_per_function_path() -> None:
    make = Maker()
    make.define("work", APP, 40)
    make.sample("main:3 > work:42", 10)
    make.sample("main:4 > work:43", 20)
    make.sample("main:4 > other:9 > work:43", 4)
    result = tree(make.recording(), merge_lines=True)
    assert rows(result) == [
        (None, "main", 1, 0, 34, 0),
        (0, "work", 40, 30, 30, 2),
        (0, "other", 1, 0, 4, 0),
        (2, "work", 40, 4, 4, 1),
    ]


def test_recursion_keeps_its_depth() -> None:
    make = Maker()
    make.sample("fib:2 > fib:2 > fib:2", 7)
    make.sample("fib:2 > fib:1", 1)
    assert rows(tree(make.recording(), merge_lines=True)) == [
        (None, "fib", 1, 0, 8, 0),
        (0, "fib", 1, 1, 8, 1),
        (1, "fib", 1, 7, 7, 1),
    ]


def test_code_that_reads_the_same_is_one_node() -> None:
    """Two processes, or a module loaded twice, have code objects of their own."""
    make = Maker()
    make.sample("main:3 > work:12", 10, version=0)
    make.sample("main:3 > work:12", 20, version=1)
    assert rows(tree(make.recording())) == [
        (None, "main", 3, 0, 30, 0),
        (0, "work", 12, 30, 30, 2),
    ]


def test_functions_of_one_name_and_different_lines_stay_apart() -> None:
    make = Maker()
    make.define("f", "/app/one.py", 1)
    make.sample("f:5", 1)
    make.define("f", "/app/two.py", 1)
    make.sample("f:5", 2)
    assert [(n.file, n.self_ns) for n in tree(make.recording()).nodes] == [
        ("/app/two.py", 2),
        ("/app/one.py", 1),
    ]


def test_samples_without_a_stack_stand_at_the_root() -> None:
    make = Maker()
    make.sample("main:3", 10)
    make.sample(None, 30)
    result = tree(make.recording())
    assert result.total_ns == 40
    assert rows(result) == [
        (None, "[undecodable]", 0, 30, 30, 1),
        (None, "main", 3, 10, 10, 1),
    ]


def test_json_is_exactly_as_agreed() -> None:
    make = Maker()
    make.define("work", "/app/work.py", 10)
    make.sample("main:3 > work:12 > list.append", 10)
    assert tree(make.recording()).to_json() == {
        "unit": "ns",
        "total": 10,
        "nodes": [
            {
                "id": 0,
                "parent": None,
                "name": "main",
                "file": APP,
                "line": 3,
                "first_line": 1,
                "self": 0,
                "total": 10,
                "samples": 0,
                "state": "running",
            },
            {
                "id": 1,
                "parent": 0,
                "name": "work",
                "file": "/app/work.py",
                "line": 12,
                "first_line": 10,
                "self": 0,
                "total": 10,
                "samples": 0,
                "state": "running",
            },
            {
                "id": 2,
                "parent": 1,
                "name": "list.append",
                "file": "<built-in>",
                "line": 0,
                "first_line": 0,
                "self": 10,
                "total": 10,
                "samples": 1,
                "state": "running",
            },
        ],
    }


def mixed() -> Maker:
    make = Maker()
    make.sample("main:3 > read:7", 10)
    make.sample("main:3 > read:7 > parse:9", 5)
    make.sample("main:3 > read:7", 100, state=1)
    make.sample("main:3 > read:7", 20, state=2)
    make.sample("main:4 > sleep:2", 50, state=1)
    return make


def test_running_time_alone_is_the_default() -> None:
    result = tree(mixed().recording())
    assert result.total_ns == 15
    assert {n.state for n in result.nodes} == {"running"}
    assert rows(result) == [
        (None, "main", 3, 0, 15, 0),
        (0, "read", 7, 10, 15, 1),
        (1, "parse", 9, 5, 5, 1),
    ]


def test_waiting_counts_preemption_too() -> None:
    result = tree(mixed().recording(), Selection("waiting"))
    assert {n.state for n in result.nodes} == {"waiting"}
    assert rows(result) == [
        (None, "main", 3, 0, 120, 0),
        (0, "read", 7, 120, 120, 2),
        (None, "main", 4, 0, 50, 0),
        (2, "sleep", 2, 50, 50, 1),
    ]


def test_wall_gives_a_node_that_ran_and_waited_twice() -> None:
    result = tree(mixed().recording(), Selection("wall"))
    assert result.total_ns == 185
    assert [(n.parent, n.name, n.self_ns, n.total_ns, n.state) for n in result.nodes] == [
        (None, "main", 0, 135, "waiting"),
        (0, "read", 120, 120, "waiting"),
        (0, "read", 10, 15, "running"),
        (2, "parse", 5, 5, "running"),
        (None, "main", 0, 50, "waiting"),
        (4, "sleep", 50, 50, "waiting"),
    ]
    by_state = {"running": 0, "waiting": 0}
    for node in result.nodes:
        by_state[node.state] += node.self_ns
    assert by_state == {"running": 15, "waiting": 170}


def test_every_total_is_self_plus_children() -> None:
    nodes = tree(mixed().recording(), Selection("wall")).nodes
    for node in nodes:
        children = sum(n.total_ns for n in nodes if n.parent == node.id)
        assert node.total_ns == node.self_ns + children


def test_top_keeps_the_heaviest_and_their_callers() -> None:
    make = Maker()
    make.sample("a:1 > b:1 > c:1", 10)
    make.sample("d:1", 5)
    make.sample("a:1 > e:1", 1)
    result = tree(make.recording(), top=3)
    assert rows(result) == [
        (None, "a", 1, 0, 11, 0),
        (0, "b", 1, 0, 10, 0),
        (1, "c", 1, 10, 10, 1),
    ]
    assert result.total_ns == 16


def test_a_recording_without_samples_has_an_empty_tree() -> None:
    assert tree(Maker().recording()).to_json() == {"unit": "ns", "total": 0, "nodes": []}
