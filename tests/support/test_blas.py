"""One BLAS thread inside, as many as before outside."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_info

from jetode.support.blas import one_thread


def blas() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_a_block_and_a_function_have_one_thread():
    np.ones((2, 2)) @ np.ones((2, 2))
    before = blas()
    with one_thread():
        assert all(count == 1 for count in blas())
    assert blas() == before
    inside = one_thread()(blas)
    assert all(count == 1 for count in inside()) and inside() == inside() and blas() == before
