"""pprof's protocol buffer, read back by a decoder that is not ours."""

from __future__ import annotations

import json
from typing import Any

from exports.made import everything, exported
from exports.readers import node, package
from synthetic import MS, Maker

DECODE = """
const { Profile } = require(process.argv[1] + '/dist/commonjs/index.js');
const data = require('zlib').gunzipSync(require('fs').readFileSync(process.argv[2]));
const p = Profile.decode(data);
const plain = (key, value) => typeof value === 'bigint' ? value.toString() : value;
console.log(JSON.stringify({ ...p, stringTable: p.stringTable.strings }, plain));
"""


def decoded(make: Maker, tmp_path: Any, **options: Any) -> dict[str, Any]:
    path = tmp_path / "profile.pb.gz"
    path.write_bytes(exported(make, "pprof", **options))
    read = json.loads(node(DECODE, str(package("pprof-format")), str(path)))
    assert isinstance(read, dict)
    return read


def samples(read: dict[str, Any]) -> list[tuple[str, list[int], dict[str, Any]]]:
    """Each sample as a chain, outermost first, its values and its labels."""
    text = read["stringTable"]
    functions = {f["id"]: f for f in read["function"]}
    locations = {location["id"]: location for location in read["location"]}
    found = []
    for sample in read["sample"]:
        frames = []
        for number in reversed(sample["locationId"]):
            (line,) = locations[number]["line"]
            function = functions[line["functionId"]]
            place = f"{text[function['filename']]}:{line.get('line', 0)}"
            frames.append(f"{text[function['name']]} ({place})")
        labels = {
            text[label["key"]]: text[label["str"]] if label["str"] else label["num"]
            for label in sample["label"]
        }
        found.append((" > ".join(frames), sample["value"], labels))
    return found


def test_every_stack_of_every_thread(tmp_path: Any) -> None:
    read = decoded(everything(), tmp_path)
    main = {"thread": "MainThread", "thread_id": 1000, "process": 100}
    worker = {"thread": "worker", "thread_id": 1001, "process": 100}
    child = {"thread": "child", "thread_id": 1002, "process": 200}
    parse = "main (/app/app.py:3) > Parser.parse (/lib/python3.12/site-packages/parser.py"
    assert sorted(samples(read), key=str) == sorted(
        [
            (f"{parse}:12) > len (<built-in>:0)", [2, 5 * MS], main),
            (f"{parse}:13)", [1, 1 * MS], main),
            (
                "fib (/app/app.py:2) > fib (/app/app.py:2) > fib (/app/app.py:3)",
                [1, 4 * MS],
                worker,
            ),
            ("[undecodable] (:0)", [1, 1 * MS], worker),
            (f"{parse}:12) > len (<built-in>:0)", [1, 7 * MS], child),
        ],
        key=str,
    )


def test_head(tmp_path: Any) -> None:
    read = decoded(everything(), tmp_path)
    text = read["stringTable"]
    assert text[0] == ""
    assert [(text[t["type"]], text[t["unit"]]) for t in read["sampleType"]] == [
        ("samples", "count"),
        ("cpu", "nanoseconds"),
    ]
    assert text[read["defaultSampleType"]] == "cpu"
    assert read["period"] == 1_000_000
    assert int(read["timeNanos"]) == 1_700_000_000_500_000_000
    assert int(read["durationNanos"]) == 1_000 * MS
    assert read["mapping"][0]["hasFunctions"]
    (parse,) = [f for f in read["function"] if text[f["name"]] == "Parser.parse"]
    assert parse["startLine"] == 10


def test_names_in_angle_brackets_survive_the_pprof_tool(tmp_path: Any) -> None:
    """It strips them from functions whose system name is their name."""
    read = decoded(everything(), tmp_path)
    assert {f.get("systemName", 0) for f in read["function"]} == {0}


def test_wall_has_a_column_for_waiting(tmp_path: Any) -> None:
    read = decoded(everything(), tmp_path, time="wall")
    text = read["stringTable"]
    assert [text[t["type"]] for t in read["sampleType"]] == ["samples", "cpu", "wait"]
    values = {chain: value for chain, value, _ in samples(read)}
    assert values["main (/app/app.py:4) > time.sleep (<built-in>:0)"] == [1, 0, 100 * MS]
    assert values["main (/app/app.py:3)"] == [1, 0, 20 * MS]


def test_waiting_alone_is_shown_by_its_waiting(tmp_path: Any) -> None:
    read = decoded(everything(), tmp_path, time="waiting")
    assert read["stringTable"][read["defaultSampleType"]] == "wait"
    assert len(samples(read)) == 2


def test_nothing(tmp_path: Any) -> None:
    assert samples(decoded(Maker(), tmp_path)) == []


def test_half_characters_do_not_stop_it(tmp_path: Any) -> None:
    make = Maker()
    make.define("f", "/app/\udcff.py", 1)
    make.sample("f:3")
    ((chain, _, _),) = samples(decoded(make, tmp_path))
    assert chain == "f (/app/?.py:3)"


def test_the_same_recording_gives_the_same_bytes() -> None:
    assert exported(everything(), "pprof") == exported(everything(), "pprof")


def test_threads_and_nodes_do_not_run_into_each_other(tmp_path: Any) -> None:
    make = Maker()
    count = 3
    for thread in range(count):
        for name in range(count):
            make.sample(f"f{name}:1", thread * 10 + name + 1, thread=f"t{thread}")
    found = {
        (labels["thread"], chain): value
        for chain, value, labels in samples(decoded(make, tmp_path))
    }
    assert found == {
        (f"t{t}", f"f{n} (/app/app.py:1)"): [1, t * 10 + n + 1]
        for t in range(count)
        for n in range(count)
    }
