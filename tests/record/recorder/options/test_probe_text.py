"""Probes as they are written: what is valid, and one sentence for what is not."""

from __future__ import annotations

import pytest

from sonde.errors import UsageError
from sonde.record.recorder.options.probe_text import MAX_EVERY, Probe, parse_probe


def test_a_probe_has_a_place_an_expression_and_steps() -> None:
    probe = parse_probe("shop/orders.py:120 len(self.items[0].rows['ä'][-3]) every 10")
    assert probe == Probe("shop/orders.py", 120, "len(self.items[0].rows['ä'][-3])", 10)
    assert probe.steps == b"n\x04selfa\x05itemsi\x010a\x04rowsk\x02\xc3\xa4i\x02-3l\x00"
    assert str(parse_probe("C:x.py:1  name ", 5)) == "C:x.py:1 name every 5"
    assert parse_probe("x.py:1 name every 2", 5).every == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "give 'FILE:LINE EXPRESSION"),
        ("orders.py len(batch)", "give 'FILE:LINE EXPRESSION"),
        ("orders.py:0 batch", "numbered from 1"),
        ("orders.py:120 batch every 0", f"1 to {MAX_EVERY:,}"),
        ("orders.py:120 open('x')", "calls a function"),
        ("orders.py:120 batch.pop()", "calls a function"),
        ("orders.py:120 len(batch.pop())", "calls a function"),
        ("orders.py:120 len(*batch)", "computes something"),
        ("orders.py:120 a + b", "computes something"),
        ("orders.py:120 a[i]", "constant whole number or string"),
        ("orders.py:120 a[1:2]", "constant whole number or string"),
        ("orders.py:120 a[True]", "constant whole number or string"),
        ("orders.py:120 a[b", "invalid expression"),
        ("orders.py:120 lambda: 1", "computes something"),
        ("orders.py:120 a" + ".b" * 12, "more than 12"),
        ("orders.py:120 " + "a" * 256, "255 bytes"),
        ("o" * 400 + ".py:120 a", "too long"),
        ("orders.py:120 " + "(" * 10_000, "invalid expression"),
    ],
)
def test_what_is_no_probe_is_refused_in_a_sentence(text: str, says: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_probe(text)
    assert says in str(error.value)
    assert "\n" not in str(error.value)
