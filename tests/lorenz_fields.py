"""Lorenz as a field, as its exact closure in x, and the map from one to the other."""

import numpy as np

from jetode.field import Field

LORENZ = Field.polynomial(
    [
        {(1, 0, 0): -10.0, (0, 1, 0): 10.0},
        {(1, 0, 0): 28.0, (1, 0, 1): -1.0, (0, 1, 0): -1.0},
        {(1, 1, 0): 1.0, (0, 0, 1): -8 / 3},
    ]
)
LORENZ_CLOSURE = Field(
    3,
    (
        {
            (0, 1, 1): 3.0,
            (0, 2, 0): 33.0,
            (1, 0, 1): -41.0,
            (1, 1, 0): -88.0,
            (2, 0, 0): 2160.0,
            (3, 1, 0): -3.0,
            (4, 0, 0): -30.0,
        },
    ),
    {(1, 0, 0): 3.0},
)


def lorenz_jets(state: np.ndarray) -> np.ndarray:
    x, y, z = state
    rate = 10 * (y - x)
    return np.array([x, rate, 10 * (28 * x - x * z - y - rate)])
