"""What elements add to a step of the shooting kernels (docs/mathematics.md (8.6)), as leaves of their own: most fits
have none, and their kernels are compiled with a call in place of the loops.  Untyped like the kernels."""

from __future__ import annotations

from jetode.equations.element_kernel import element
from jetode.joint.shooting.sums import LEAF
from jetode.support.compiled import leaf


@leaf(forceinline=False)
def evaluate_elements(axes, x, coefficients, codes, slopes):
    """f of every element into ``x`` after the state; f, ∂f/∂v and ∂f/∂p into the rows of ``slopes``."""
    for m in range(codes.shape[0]):
        element(codes[m, 0], x[codes[m, 1]], coefficients, codes[m, 2], slopes[m], 0)
        x[len(axes) + m] = slopes[m, 0]


@leaf(**LEAF, forceinline=False)
def chain_rule(axes, slopes, partials, codes, table, curves, first, out, through):
    """∂x'_row/∂w_m into ``through``, and ∂x'_row/∂w_m ∂w_m/∂x added to the Jacobian ``out``, of rows from ``first``
    on."""
    offsets, _, _, slots = partials
    for row in range(first, len(axes)):
        for m in range(codes.shape[0]):
            value = 0.0
            for j in range(offsets[row, len(axes) + m], offsets[row, len(axes) + m + 1]):
                value += slopes[j] * table[slots[j]]
            through[row, m] = value
            out[row, codes[m, 1]] += value * curves[m, 1]


@leaf(**LEAF, forceinline=False)
def add_parameters(axes, columns, through, curves, responses, first, out):
    """Columns of the free parameters, which act on every row that their element stands in, over all stages."""
    d = len(axes)
    for column in range(columns.shape[0]):
        m, p = columns[column, 0], 2 + columns[column, 1]
        for i in range(through.shape[0]):
            for row in range(d):
                f = through[i, row, m] * curves[i, m, p]
                for c in range(d):
                    out[c, first + column] += responses[i, c, row] * f
