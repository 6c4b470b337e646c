"""Solution of the linearised shooting problem: a backward Riccati recursion over the nodes with the coefficients as an
arrow, the forward sweep, and the posterior covariance along the path.

Untyped for the type checker, like :mod:`jetode.joint.shooting.kernels`; functions without a decorator bring the
kernels' scratch space.
"""

from __future__ import annotations

import numpy as np

from jetode.joint.shooting.reduction import reduce_columns
from jetode.joint.shooting.sums import CHUNK, KERNEL, LEAF, _add_symmetric, _mirror, padded
from jetode.support.compiled import kernel, leaf


@leaf(**LEAF, forceinline=False)
def _invert_small(axes, work, out):
    """Inverse of a small symmetric positive definite matrix ``work`` by Gauss–Jordan, which overwrites it."""
    d = len(axes)
    for c in range(d):
        for e in range(d):
            out[c, e] = 1.0 if c == e else 0.0
    for c in range(d):
        pivot = work[c, c]
        if pivot == 0.0:
            pivot = 1e-300
        for e in range(d):
            work[c, e] /= pivot
            out[c, e] /= pivot
        for r in range(d):
            if r != c:
                f = work[r, c]
                if f != 0.0:
                    for e in range(d):
                        work[r, e] -= f * work[c, e]
                        out[r, e] -= f * out[c, e]


@leaf(**LEAF, forceinline=False)
def _add_product(axes, a, b, out):
    """out += a b with a of size d × d."""
    for c in range(len(axes)):
        for m in range(out.shape[1]):
            total = out[c, m]
            for e in range(len(axes)):
                total += a[c, e] * b[e, m]
            out[c, m] = total


def eliminate_nodes(linear, q2, damping):
    """Backward Riccati recursion: cost-to-go ½ zᵀ[[H, B],[Bᵀ, C]]z + gᵀx + hᵀθ at every node of a ``Linearisation``.

    At a node, ``H, B, g`` of all that follows is softened by the jump (W = (1 + H Q)⁻¹ with Q = diag(``q2``), the
    squared size of each coordinate's jumps), carried through the transition and added to what the node's own samples
    say.  Returns H, B, g of every node, the coefficients' C, h after the first nodes have been eliminated too, and the
    smoothers W.
    """
    info, cross, gradient = linear.info.copy(), linear.cross.copy(), linear.gradient.copy()
    arrow_info, arrow_gradient = linear.arrow_info, linear.arrow_gradient
    (n_nodes, d), n_free = gradient.shape, arrow_info.shape[0]
    width = padded(n_free)
    c_info, c_grad, smoothers = np.zeros((width, width)), arrow_gradient.copy(), np.empty((n_nodes, d, d))
    c_info[:n_free, :n_free] = arrow_info
    if linear.elimination_scratch is None:
        linear.elimination_scratch = (
            np.empty((d, d)), np.empty((d, d)), np.empty((3, d, d)), np.empty((4, d)),
            np.zeros((CHUNK + 3 * d, width)), np.zeros((CHUNK + 3 * d, width)),
        )  # fmt: skip
    sums = c_info, c_grad, smoothers
    _eliminate(
        linear.program.axes, linear.data.layout.spans, linear.transitions, linear.arrows, linear.defects,
        info, cross, gradient, q2, damping, sums, linear.elimination_scratch,
    )  # fmt: skip
    return info, cross, gradient, np.ascontiguousarray(c_info[:n_free, :n_free]), c_grad, smoothers


@kernel(**KERNEL)
def _eliminate(axes, spans, transitions, arrows, defects, info, cross, gradient, q2, damping, sums, scratch):
    c_info, c_grad, smoothers = sums
    n_nodes, d, n_free = gradient.shape[0], len(axes), c_grad.shape[0]
    soft, ha, matrices, vectors, left, right = scratch
    h1, big_a, m1, shift, g1 = matrices[1], matrices[2], vectors[0], vectors[1], vectors[3]
    for c in range(d):
        vectors[2, c] = q2[c]
    count = np.int64(0)
    for k in range(n_nodes - 1, -1, -1):
        if spans[k] > 0:
            for c in range(d):
                for e in range(d):
                    soft[c, e] = q2[e] * info[k + 1, c, e]
                soft[c, c] += 1.0
            w = smoothers[k + 1]
            _invert_small(axes, soft, w)
            for c in range(d):
                g1[c] = 0.0
                for m in range(d):
                    g1[c] += w[c, m] * gradient[k + 1, m]
                    matrices[0, c, m] = w[c, m]
                    h1[c, m] = ha[c, m] = 0.0
            _add_product(axes, w, info[k + 1], h1)
            for c in range(d):
                for m in range(c):
                    mean = 0.5 * (h1[c, m] + h1[m, c])
                    h1[c, m] = mean
                    h1[m, c] = mean
            for c in range(d):
                shift[c], m1[c] = defects[k, c], g1[c]
                for e in range(d):
                    m1[c] += h1[c, e] * defects[k, e]
                    big_a[c, e] = transitions[k, c, e]
            _add_product(axes, h1, big_a, ha)
            columns = arrows[k], cross[k + 1], cross[k]
            reduce_columns(axes, matrices, vectors, columns, c_grad, (left, right), count)
            count += 3 * d
            for c in range(d):
                for e in range(d):
                    gradient[k, c] += big_a[e, c] * m1[e]
                    soft[c, e] = big_a[e, c]
            _add_product(axes, soft, ha, info[k])
        for c in range(d):
            info[k, c, c] += damping
        if count >= CHUNK or k == 0:
            _add_symmetric(left, right, count, c_info)
            count = np.int64(0)
    _mirror(c_info)
    for k in range(n_nodes):
        if k == 0 or spans[k - 1] == 0:
            for c in range(d):
                for e in range(d):
                    soft[c, e] = info[k, c, e]
            inverse = smoothers[k]
            _invert_small(axes, soft, inverse)
            for m in range(n_free):
                for c in range(d):
                    t = 0.0
                    for e in range(d):
                        t += inverse[c, e] * cross[k, e, m]
                    c_grad[m] -= t * gradient[k, c]
                    for n in range(n_free):
                        c_info[m, n] -= t * cross[k, c, n]


def promised_fall(linear, q2, theta, steps):
    """By how much the linearised cost of jumps and samples falls along these steps, without the coefficients' own."""
    n_nodes, d = steps.shape
    shifts = (linear.arrows.reshape(n_nodes * d, -1) @ theta).reshape(n_nodes, d)
    bends = (linear.cross.reshape(n_nodes * d, -1) @ theta).reshape(n_nodes, d)
    spans = linear.data.layout.spans
    return _promised(spans, linear.transitions, linear.defects, linear.info, linear.gradient, shifts, bends, q2, steps)


@kernel(**KERNEL)
def _promised(spans, transitions, defects, info, gradient, shifts, bends, q2, steps):
    n_nodes, d = steps.shape
    total = 0.0
    for k in range(n_nodes):
        for c in range(d):
            bent = 2.0 * (gradient[k, c] + bends[k, c])
            jump = -defects[k, c] - shifts[k, c]
            for e in range(d):
                bent += info[k, c, e] * steps[k, e]
                jump -= transitions[k, c, e] * steps[k, e]
            total -= steps[k, c] * bent
            if spans[k] > 0:
                jump += steps[k + 1, c]
                total += (defects[k, c] ** 2 - jump**2) / q2[c]
    return total


def propagate_step(elimination, theta_step):
    """Forward sweep: the states' steps that go with the coefficients' step ``theta_step``."""
    linear = elimination.linear
    n_nodes, d = elimination.gradient.shape
    shifts = linear.defects + (linear.arrows.reshape(n_nodes * d, -1) @ theta_step).reshape(n_nodes, d)
    slopes = elimination.gradient + (elimination.cross.reshape(n_nodes * d, -1) @ theta_step).reshape(n_nodes, d)
    steps = np.empty((n_nodes, d))
    _propagate(
        linear.data.layout.spans, linear.transitions, shifts, elimination.info, slopes, elimination.smoothers,
        elimination.squares, steps, np.empty(d),
    )  # fmt: skip
    return steps


@kernel(**KERNEL)
def _propagate(spans, transitions, shifts, info, gradient, smoothers, q2, steps, t):
    """One node after the other; ``shifts`` and ``gradient`` contain the coefficients' step."""
    n_nodes, d = gradient.shape
    for k in range(n_nodes):
        begins = k == 0 or spans[k - 1] == 0
        for c in range(d):
            acc = 0.0
            if not begins:
                acc = shifts[k - 1, c]
                for e in range(d):
                    acc += transitions[k - 1, c, e] * steps[k - 1, e]
            steps[k, c] = acc
        for c in range(d):
            acc = gradient[k, c]
            if not begins:
                for e in range(d):
                    acc += info[k, c, e] * steps[k, e]
            t[c] = acc
        for c in range(d):
            factor = 1.0 if begins else q2[c]
            acc = 0.0
            for e in range(d):
                acc += smoothers[k, c, e] * t[e]
            steps[k, c] -= factor * acc


@np.errstate(over="ignore", invalid="ignore")  # of coefficients that nothing determines
def propagate_covariance(spans, transitions, arrows, cross, smoothers, q2, theta_covariance):
    """Posterior covariance of every node's state, and of state with coefficients (θ uncertain as given).

    Along the chain ``x_{k+1} = Wᵀ (A x_k + B θ) − Q W H_Xθ θ + ε``, ``ε ~ N(0, Q W)``: exact for the linearised
    problem, smoothed over the whole record; at the last node it is the filter's covariance.
    """
    d, n_free = smoothers.shape[1], theta_covariance.shape[0]
    turned = smoothers if np.ptp(q2) == 0.0 else smoothers.transpose(0, 2, 1)  # equal jumps: W is symmetric
    flows = turned[1:] @ transitions[:-1]
    loads = -q2[:, None] * (smoothers @ cross)
    loads[1:] += turned[1:] @ arrows[:-1]
    begins = np.concatenate([[True], spans[:-1] == 0])
    loads[begins] = -smoothers[begins] @ cross[begins]
    mixed = loads @ theta_covariance
    covariances = np.where(begins[:, None], 1.0, q2)[:, :, None] * smoothers + mixed @ loads.transpose(0, 2, 1)
    _carry_covariance(begins, flows, loads, covariances, mixed, np.empty((d, n_free)), np.empty((d, d)))
    return covariances, mixed


@kernel(**KERNEL)
def _carry_covariance(begins, flows, loads, covariances, mixed, carried, product):
    """Add to each node's own covariances what comes from the node before it."""
    n_nodes, d, n_free = mixed.shape
    for k in range(1, n_nodes):
        if begins[k]:
            continue
        flow = flows[k - 1]
        for c in range(d):
            for m in range(n_free):
                total = 0.0
                for e in range(d):
                    total += flow[c, e] * mixed[k - 1, e, m]
                carried[c, m] = total
            for e in range(d):
                total = 0.0
                for g in range(d):
                    total += flow[c, g] * covariances[k - 1, g, e]
                product[c, e] = total
        for c in range(d):
            for e in range(d):
                total = 0.0
                for g in range(d):
                    total += product[c, g] * flow[e, g]
                for m in range(n_free):
                    total += carried[c, m] * loads[k, e, m] + carried[e, m] * loads[k, c, m]
                covariances[k, c, e] += total
            for m in range(n_free):
                mixed[k, c, m] += carried[c, m]
