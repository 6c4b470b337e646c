"""From rows to the rational closure of the record: coordinates are eliminated from the last coupled row to the first
(docs/mathematics.md (3.15)).

Let row i be x' = f + c v with v obeying B v^{(m+1)} = A(x_0 … x, v, v' … v^{(m)}).  Its (m + 1)-th derivative is

    y_{m+2} = known(…, y_1 … y_{m+1}, v … v^{(m)}) + c A/B,     y_k = x^{(k)},

and v^{(k)} = V_k/c^{k+1} with V_0 = y_1 − f, V_{k+1} = c V_k' − (k + 1) c' V_k; the lowest power of c that leaves no
fraction gives the closure of x.  A shift needs nothing: v^{(k)} is y_{k+1}.
"""

from __future__ import annotations

from collections.abc import Sequence

from jetode.equations.polynomials import Polynomial, add, derivative, multiply, power, scale, widen
from jetode.equations.rows import Coupled, Row, rate

Closure = tuple[Polynomial, Polynomial]  # numerator, denominator


def closure_of_rows(rows: Sequence[Row]) -> Closure:
    """N and D over (u0 … u_{n−1}) of coupled rows before one plain row."""
    n = len(rows)
    last = rows[-1]
    assert not isinstance(last, Coupled)
    closure: Closure = (dict(last), {(0,) * n: 1.0})
    for i in range(n - 2, -1, -1):
        row = rows[i]
        assert isinstance(row, Coupled)
        if not row.is_shift:
            closure = _through(rows, i, row, closure)
    return closure


def _through(rows: Sequence[Row], i: int, row: Coupled, closure: Closure) -> Closure:
    """The closure of x_i from that of x_{i+1}, both over n variables: x_0 … x_i and the derivatives."""
    n = len(rows)
    above, below = ({(*e[: i + 1], *(0,) * (n - 1 - i), *e[i + 1 :]): c for e, c in p.items()} for p in closure)
    flow = _Flow(rows, i)
    factor = widen(row.factor, flow.n)
    known = add(widen(row.offset, flow.n), multiply(factor, flow.unit(n)))
    for _ in range(n - 1 - i):
        known = flow(known)
    numerator = multiply(below, known)
    weight = flow.weight
    cleared = max(*(weight(p) for p in (numerator, below)), weight(above) - 1, 0)
    hidden = _hidden(flow, row)
    return (
        add(
            *_in_jets(_collected(numerator, n), row, hidden, cleared),
            *_in_jets(_listed(above, n), row, hidden, cleared + 1),
        ),
        add(*_in_jets(_listed(below, n), row, hidden, cleared)),
    )


class _Flow:
    """d/dt of polynomials over (x_0 … x_i, y_1 … y_{m+1}, v … v^{(m)}), without the derivatives of the last y and v."""

    def __init__(self, rows: Sequence[Row], i: int) -> None:
        self.count = len(rows)  # of x and y together
        self.derivatives = self.count - 1 - i
        self.n = self.count + self.derivatives
        rates = [{e[: i + 1] + (0,) * (self.n - i - 1): c for e, c in rate(rows, j).items()} for j in range(i)]
        ends = {self.count - 1, self.n - 1}
        following = {v: self.unit(v + 1) for v in range(i, self.n) if v not in ends}
        self.rates = dict(enumerate(rates)) | following

    def unit(self, v: int) -> Polynomial:
        """One of the variables."""
        return {tuple(int(j == v) for j in range(self.n)): 1.0}

    def __call__(self, p: Polynomial) -> Polynomial:
        """The derivative along the flow."""
        slopes = [(derivative(p, v), along) for v, along in self.rates.items()]
        return add(*(multiply(slope, along) for slope, along in slopes if slope))

    def weight(self, p: Polynomial) -> int:
        """The power of c that clears p of fractions: k + 1 for every v^{(k)}."""
        return max((sum((k + 1) * power for k, power in enumerate(e[self.count :])) for e in p), default=0)


def _hidden(flow: _Flow, row: Coupled) -> list[Polynomial]:
    """V_0 … V_m over (x_0 … x_i, y_1 … y_{m+1})."""
    factor = widen(row.factor, flow.n)
    slope = flow(factor)
    i = len(next(iter(row.factor))) - 1
    out = [add(flow.unit(i + 1), scale(widen(row.offset, flow.n), -1.0))]
    for k in range(1, flow.derivatives):
        out.append(add(multiply(factor, flow(out[-1])), scale(multiply(slope, out[-1]), -float(k))))
    return [{e[: flow.count]: c for e, c in v.items()} for v in out]


Hidden = tuple[tuple[int, ...], Polynomial]  # powers of v … v^{(m)}, and what multiplies them


def _listed(p: Polynomial, n: int) -> list[Hidden]:
    """The terms of a polynomial over (x, y, v) one by one."""
    return [(e[n:], {e[:n]: c}) for e, c in p.items()]


def _collected(p: Polynomial, n: int) -> list[Hidden]:
    """The terms of a polynomial over (x, y, v) by their powers of v."""
    out: dict[tuple[int, ...], Polynomial] = {}
    for powers, term in _listed(p, n):
        out.setdefault(powers, {}).update(term)
    return list(out.items())


def _in_jets(terms: Sequence[Hidden], row: Coupled, hidden: Sequence[Polynomial], cleared: int) -> list[Polynomial]:
    """c^cleared times every term, as polynomials over (x_0 … x_i, y_1 … y_{m+1})."""
    n = len(next(iter(hidden[0])))
    factor = widen(row.factor, n)
    out = []
    for powers, coefficient in terms:
        product = power(factor, cleared - sum((k + 1) * p for k, p in enumerate(powers)), n)
        for value, p in zip(hidden, powers, strict=True):
            product = multiply(product, power(value, p, n))
        out.append(multiply(product, coefficient))
    return out
