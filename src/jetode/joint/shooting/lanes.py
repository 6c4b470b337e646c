"""The vector field along :data:`LANES` segments side by side: leaves of the shooting kernels, untyped like them.

Segments from node to node do not depend on each other.  The last index of every array is the lane, so that one
instruction serves several of them; a lane whose segment has ended goes on with steps of length 0, and nobody reads it.
"""

from __future__ import annotations

from jetode.joint.shooting.element_steps import evaluate_elements
from jetode.joint.shooting.sums import LEAF
from jetode.support.compiled import inlined, leaf

LANES = 8  # doubles of one AVX-512 register, of two of AVX2


@inlined
def _monomials(axes, x, coefficients, parent, variable, elements, table, curves):
    """Every monomial as its parent times one variable; elements are variables after the state, their derivatives are
    left in ``curves``."""
    if elements[0].shape[0] > 0:
        evaluate_elements(axes, x, coefficients, elements[0], curves)
    for lane in range(LANES):
        table[0, lane] = 1.0
    for k in range(1, parent.shape[0]):
        for lane in range(LANES):
            table[k, lane] = table[parent[k], lane] * x[variable[k], lane]


@inlined
def _rate(coefficients, offsets, slots, table, row, out):
    """x'_row from the monomials in ``table``."""
    for lane in range(LANES):
        out[lane] = 0.0
    for j in range(offsets[row], offsets[row + 1]):
        for lane in range(LANES):
            out[lane] += coefficients[j] * table[slots[j], lane]


@inlined
def _stage(
    axes, x, h, i, coefficients, chain, parent, variable, offsets, slots, elements, a, stages, table, curves, trial
):  # fmt: skip
    """Stage i of a Runge–Kutta step: x' at x + h Σ_j a_ij k_j into ``stages[i]``; the monomials there stay in
    ``table``."""
    d = len(axes)
    for c in range(d):
        for lane in range(LANES):
            trial[c, lane] = x[c, lane]
    for j in range(i):
        if a[i, j] != 0.0:
            for c in range(d):
                for lane in range(LANES):
                    trial[c, lane] += h[lane] * a[i, j] * stages[j, c, lane]
    _monomials(axes, trial, coefficients, parent, variable, elements, table, curves)
    for c in range(d):
        if c < chain:
            for lane in range(LANES):
                stages[i, c, lane] = trial[c + 1, lane]
        else:
            _rate(coefficients, offsets, slots, table, c, stages[i, c])


@inlined
def _advance(axes, x, h, b, stages):
    """x + h Σ_i b_i k_i, in place."""
    for i in range(b.shape[0]):
        for c in range(len(axes)):
            for lane in range(LANES):
                x[c, lane] += h[lane] * b[i] * stages[i, c, lane]


@leaf(**LEAF)
def _slope(axes, x, coefficients, chain, parent, variable, offsets, slots, elements, table, curves, out):
    """x'_0."""
    if chain > 0:
        for lane in range(LANES):
            out[lane] = x[1, lane]
    else:
        _monomials(axes, x, coefficients, parent, variable, elements, table, curves)
        _rate(coefficients, offsets, slots, table, 0, out)


@inlined
def _step_lengths(group, at, spans, stride, spacing, substeps, h):
    """How far the next step of every lane goes, ``at`` samples after its node; 0 where its segment has ended."""
    for lane in range(LANES):
        left = spans[min(group + lane, spans.shape[0] - 1)] - at
        h[lane] = max(min(stride, left), 0) * spacing / substeps
