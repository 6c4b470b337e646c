"""What elements add to a step of the shooting kernels (docs/mathematics.md (8.6)), as leaves of their own: most fits
have none, and their kernels are compiled with a call in place of the loops.  Untyped like the kernels; the last index
is the lane, but for results of elements, which are written from one place on."""

from __future__ import annotations

from jetode.equations.element_kernel import PARTNER, element
from jetode.joint.shooting.sums import LEAF
from jetode.support.compiled import leaf


@leaf(forceinline=False)
def evaluate_elements(axes, x, coefficients, codes, slopes):
    """f of every element into ``x`` after the state; f, its slope by its coordinate (and, of a product, by the other
    one) and ∂f/∂p into the rows of ``slopes``."""
    for m in range(codes.shape[0]):
        partner = codes[m, 3]
        for lane in range(x.shape[1]):
            v = x[codes[m, 1], lane]
            other = x[partner, lane] if partner >= 0 else 1.0
            element(codes[m, 0], v * other, coefficients, codes[m, 2], slopes[m, lane], 0)
            slopes[m, lane, PARTNER] = slopes[m, lane, 1] * v
            slopes[m, lane, 1] *= other
            x[len(axes) + m, lane] = slopes[m, lane, 0]


@leaf(**LEAF, forceinline=False)
def chain_rule(axes, slopes, partials, codes, table, curves, first, out, through):
    """∂x'_row/∂w_m into ``through``, and ∂x'_row/∂w_m ∂w_m/∂x added to the Jacobian ``out``, of rows from ``first``
    on."""
    offsets, _, _, slots = partials
    for row in range(first, len(axes)):
        for m in range(codes.shape[0]):
            acting = through[row, m]
            for lane in range(acting.shape[0]):
                acting[lane] = 0.0
            for j in range(offsets[row, len(axes) + m], offsets[row, len(axes) + m + 1]):
                for lane in range(acting.shape[0]):
                    acting[lane] += slopes[j] * table[slots[j], lane]
            for lane in range(acting.shape[0]):
                out[row, codes[m, 1], lane] += acting[lane] * curves[m, lane, 1]
            if codes[m, 3] >= 0:
                for lane in range(acting.shape[0]):
                    out[row, codes[m, 3], lane] += acting[lane] * curves[m, lane, PARTNER]


@leaf(**LEAF, forceinline=False)
def add_parameters(axes, columns, through, curves, responses, first, out):
    """Columns of the free parameters, which act on every row that their element stands in, over all stages."""
    d = len(axes)
    for column in range(columns.shape[0]):
        m, p = columns[column, 0], 2 + columns[column, 1]
        for i in range(through.shape[0]):
            for row in range(d):
                for c in range(d):
                    for lane in range(out.shape[2]):
                        f = through[i, row, m, lane] * curves[i, m, lane, p]
                        out[c, first + column, lane] += responses[i, c, row, lane] * f
