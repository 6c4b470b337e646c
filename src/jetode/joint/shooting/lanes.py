"""The vector field along :data:`LANES` segments side by side: leaves of the shooting kernels, untyped like them.

Segments from node to node do not depend on each other.  The last index of every array is the lane, so that one
instruction serves several of them (:mod:`jetode.support.lanes`); a lane whose segment has ended goes on with steps of
length 0, and nobody reads it.
"""

from __future__ import annotations

from jetode.joint.shooting.element_steps import evaluate_elements
from jetode.joint.shooting.sums import LEAF
from jetode.support.compiled import inlined, leaf
from jetode.support.lane_blocks import monomials
from jetode.support.lanes import LANES, add_product, fill, multiply, weighted_sum


@inlined
def _monomials(axes, x, coefficients, parent, variable, elements, table, curves):
    """Every monomial as its parent times one variable; elements are variables after the state, their derivatives are
    left in ``curves``."""
    if elements[0].shape[0] > 0:
        evaluate_elements(axes, x, coefficients, elements[0], curves)
    monomials(table, x, parent, variable)


@inlined
def _stage(
    axes, x, h, i, coefficients, chain, parent, variable, offsets, slots, elements, a, stages, table, curves, trial,
    part,
):  # fmt: skip
    """Stage i of a Runge–Kutta step: x' at x + h Σ_j a_ij k_j into ``stages[i]``; the monomials there stay in
    ``table``."""
    d = len(axes)
    for c in range(d):
        fill(trial[c], x[c])
    for j in range(i):
        if a[i, j] != 0.0:
            multiply(part, h, a[i, j])
            for c in range(d):
                add_product(trial[c], part, stages[j, c])
    _monomials(axes, trial, coefficients, parent, variable, elements, table, curves)
    for c in range(d):
        if c < chain:
            fill(stages[i, c], trial[c + 1])
        else:
            weighted_sum(stages[i, c], coefficients, table, slots, offsets[c], offsets[c + 1])


@inlined
def _advance(axes, x, h, b, stages, part):
    """x + h Σ_i b_i k_i, in place."""
    for i in range(b.shape[0]):
        multiply(part, h, b[i])
        for c in range(len(axes)):
            add_product(x[c], part, stages[i, c])


@leaf(**LEAF)
def _slope(axes, x, coefficients, chain, parent, variable, offsets, slots, elements, table, curves, out):
    """x'_0."""
    if chain > 0:
        fill(out, x[1])
    else:
        _monomials(axes, x, coefficients, parent, variable, elements, table, curves)
        weighted_sum(out, coefficients, table, slots, offsets[0], offsets[1])


@inlined
def _step_lengths(group, at, spans, stride, spacing, substeps, h):
    """How far the next step of every lane goes, ``at`` samples after its node; 0 where its segment has ended."""
    for lane in range(LANES):
        left = spans[min(group + lane, spans.shape[0] - 1)] - at
        h[lane] = max(min(stride, left), 0) * spacing / substeps
