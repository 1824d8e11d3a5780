"""Rows in one byte a weight: never below the weight, at most an eighth above it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from opelda.engines import coarse_rows


def unpacked(coarse, scale, n_topics):
    """Take bytes apart as the layout says: byte g of integer i of a block is topic 16 g + i."""
    n_rows = len(coarse)
    quads = coarse.astype("<i4").view(np.uint8).reshape(n_rows, -1, 16, 4)
    code = quads.swapaxes(2, 3).reshape(n_rows, -1)[:, :n_topics].astype(np.uint32)
    tiny = (code << 20).view(np.float32).astype(np.float64)  # 2**-96 of the scaled weight
    return tiny * 2.0**48 * scale[:, None].astype(np.float64)


@given(st.integers(0, 2**32 - 1), st.sampled_from([16, 48, 64, 272, 320]), st.integers(1, 40))
def test_bytes_bound_the_weights_from_above(seed, stride, n_rows):
    rng = np.random.default_rng(seed)
    rows = np.exp(rng.uniform(-34, 0, (n_rows, stride))).astype(np.float32)
    rows[rng.random(rows.shape) < 0.3] = 0
    rows[0] = 0
    coarse, scale = coarse_rows(rows)
    bound = unpacked(coarse, scale, stride)
    top = rows.max(axis=1, keepdims=True)
    assert (bound >= rows).all()
    assert (bound[rows == 0] == 0).all()
    near = rows > top * 2.0**-28  # further down the exponent has no bits left
    assert (bound[near] <= rows[near] * 1.1251).all()
    assert (bound <= np.maximum(rows * 1.1251, top * 2.0**-27)).all()


def test_threads_do_not_matter():
    rows = np.random.default_rng(0).random((500, 272), np.float32)
    one, many = coarse_rows(rows), coarse_rows(rows, n_threads=3)
    assert all(np.array_equal(a, b) for a, b in zip(one, many, strict=True))
