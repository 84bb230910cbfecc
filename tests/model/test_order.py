"""The order of rows by a column of whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.model.order import stable_order


@pytest.mark.parametrize(
    "keys",
    [
        np.zeros(0, dtype=np.uint32),
        np.zeros(5, dtype=np.int64),
        np.array([3, 1, 3, 1, 0, 3], dtype=np.uint32),
        np.array([-5, 7, -5, 2**40, -(2**40)], dtype=np.int64),
        np.array([2**62, -(2**62), 0, 2**62], dtype=np.int64),
        np.array([2**63 - 1, -(2**63), 5, 5], dtype=np.int64),
        np.random.default_rng(1).integers(0, 40, 10_000).astype(np.uint32),
        np.random.default_rng(2).integers(0, 2**60, 1_000),
    ],
)
def test_the_order_of_a_stable_sort(keys: np.ndarray) -> None:
    before = keys.copy()
    assert stable_order(keys).tolist() == np.argsort(keys, kind="stable").tolist()
    assert (keys == before).all()
