"""Sums over whole blocks of rows of :data:`.LANES` doubles, as one operation each (:mod:`jetode.support.lanes`).

Written out row by row, most of the time goes into finding the places of rows: each is an index into an array of which
the compiler knows neither the sign of the index nor whether what was just written has moved.  Here the places of a
block follow from its first, and what is summed stays in registers.  Every array is contiguous; ``axes`` has one entry
per state variable, so that the dimension d is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types

from jetode.support.lanes import FUSED, LANES, ROW, Vector, cgutils, everywhere_on, intrinsic

Builder = Any


class Rows:
    """The rows of an array (…, LANES), or the numbers of another, by their indices."""

    def __init__(self, context: Any, builder: Builder, kind: Any, value: Any) -> None:
        array = context.make_array(kind)(context, builder, value)
        self.builder, self.shape = builder, cgutils.unpack_tuple(builder, array.shape)
        self.numbers = array.data
        self.rows = builder.bitcast(array.data, ROW.as_pointer())

    def at(self, *indices: Any) -> Any:
        """Where a row is."""
        return self.builder.gep(self.rows, [self.place(indices)])

    def place(self, indices: Sequence[Any]) -> Any:
        """How many rows, or numbers, are before one."""
        total = self.index(indices[0])
        for i, n in zip(indices[1:], self.shape[1:], strict=False):
            total = self.builder.add(self.builder.mul(total, n), self.index(i))
        return total

    def index(self, i: Any) -> Any:
        return ir.Constant(self.shape[0].type, i) if isinstance(i, int) else i

    def load(self, *indices: Any) -> Vector:
        return self.builder.load(self.at(*indices), align=8)

    def store(self, row: Vector, *indices: Any) -> None:
        self.builder.store(row, self.at(*indices), align=8)

    def number(self, *indices: Any) -> Any:
        """Where a number is."""
        return self.builder.gep(self.numbers, [self.place(indices)])


def opened(context: Any, builder: Builder, signature: Any, values: Any) -> list[Any]:
    """Arrays as rows, also those of tuples, whatever else as it is; without the first argument, the axes."""
    out: list[Any] = []
    for kind, value in zip(signature.args[1:], values[1:], strict=True):
        several = isinstance(kind, types.BaseTuple)
        kinds, parts = (kind.types, cgutils.unpack_tuple(builder, value)) if several else ((kind,), (value,))
        out += [
            Rows(context, builder, k, part) if isinstance(k, types.Array) else part
            for k, part in zip(kinds, parts, strict=True)
        ]
    return out


def product(builder: Builder, a: Vector, b: Vector) -> Vector:
    """a b."""
    return builder.fmul(a, b, flags=FUSED)


def plus(builder: Builder, total: Vector, a: Vector, b: Vector) -> Vector:
    """total + a b."""
    return builder.fadd(total, product(builder, a, b), flags=FUSED)


@intrinsic
def monomials(context: Any, table: Any, state: Any, parent: Any, variable: Any) -> Any:
    """table[0] = 1 and table[k] = table[parent[k]] state[variable[k]] after it."""

    def emit(context: Any, builder: Builder, signature: Any, values: Any) -> Any:
        into, given, before, factor = (
            Rows(context, builder, kind, value) for kind, value in zip(signature.args, values, strict=True)
        )
        into.store(ir.Constant(ROW, [1.0] * LANES), 0)
        count = before.shape[0]
        one = ir.Constant(count.type, 1)
        with cgutils.for_range_slice(builder, one, count, one) as (k, _):
            known = into.load(builder.load(before.number(k)))
            into.store(product(builder, known, given.load(builder.load(factor.number(k)))), k)
        return context.get_dummy_value()

    return types.void(table, state, parent, variable), emit


@intrinsic
def propagate(context: Any, axes: Any, out: Any, matrix: Any, given: Any) -> Any:
    """out[c, m] = Σ_e matrix[c, e] given[e, m] for all m."""

    def emit(context: Any, builder: Builder, signature: Any, values: Any) -> Any:
        into, left, right = opened(context, builder, signature, values)
        d = signature.args[0].count
        factors = [[left.load(c, e) for e in range(d)] for c in range(d)]
        with cgutils.for_range(builder, right.shape[1]) as loop:
            column = [right.load(e, loop.index) for e in range(d)]
            for c in range(d):
                total = product(builder, factors[c][0], column[0])
                for e in range(1, d):
                    total = plus(builder, total, factors[c][e], column[e])
                into.store(total, c, loop.index)
        return context.get_dummy_value()

    return types.void(axes, out, matrix, given), emit


@intrinsic
def add_forcing(context: Any, axes: Any, out: Any, responses: Any, tables: Any, row: Any, columns: Any) -> Any:
    """out[c, d + m] += Σ_i responses[i, c, row] tables[i, slots[m]], with ``columns`` (slots, first, last), over
    first ≤ m < last."""

    def emit(context: Any, builder: Builder, signature: Any, values: Any) -> Any:
        into, respond, forcing, row, at, first, last = opened(context, builder, signature, values)
        d = signature.args[0].count
        totals = [cgutils.alloca_once(builder, ROW) for _ in range(d)]
        with cgutils.for_range_slice(builder, first, last, ir.Constant(first.type, 1)) as (m, _):
            column, slot = builder.add(m, ir.Constant(m.type, d)), builder.load(at.number(m))
            for c, total in enumerate(totals):
                builder.store(into.load(c, column), total)
            with cgutils.for_range(builder, forcing.shape[0]) as loop:
                force = forcing.load(loop.index, slot)
                for c, total in enumerate(totals):
                    response = respond.load(loop.index, c, row)
                    builder.store(plus(builder, builder.load(total), response, force), total)
            for c, total in enumerate(totals):
                into.store(builder.load(total), c, column)
        return context.get_dummy_value()

    return types.void(axes, out, responses, tables, types.int64, columns), emit


@intrinsic
def add_sample(
    context: Any, axes: Any, weights: Any, paths: Any, residual: Any, sums: Any, listed: Any, count: Any
) -> Any:
    """One sample of every lane, with ``paths`` (ends, reached) and its derivatives
    v[g] = Σ_k weights[k] (ends[0, g], ends[1, g], reached[0, g], ends[2, g])_k: sums[e, g] += v[e] v[g] for e < d and
    sums[e, −1] += v[e] residual; v after the first d of it and the residual as a row of ``listed`` for each lane, from
    ``count`` on."""

    def emit(context: Any, builder: Builder, signature: Any, values: Any) -> Any:
        weight, end, state, left, into, rows, count = opened(context, builder, signature, values)
        d, columns = signature.args[0].count, end.shape[1]
        factors, r = [weight.load(k) for k in range(4)], left.load(0)

        def derivative(g: Any) -> Vector:
            total = product(builder, factors[0], end.load(0, g))
            for factor, row in zip(factors[1:], (end.load(1, g), state.load(0, g), end.load(2, g)), strict=True):
                total = plus(builder, total, factor, row)
            return total

        def spread(row: Vector, column: Any) -> None:
            for lane in range(LANES):
                place = rows.number(builder.add(count, ir.Constant(count.type, lane)), column)
                builder.store(builder.extract_element(row, ir.Constant(ir.IntType(32), lane)), place)

        by_state = [derivative(e) for e in range(d)]

        def add(g: Any, row: Vector) -> None:
            for e, own in enumerate(by_state):
                into.store(plus(builder, into.load(e, g), own, row), e, g)

        for e, own in enumerate(by_state):
            add(e, own)
        some = ir.Constant(columns.type, d)
        with cgutils.for_range_slice(builder, some, columns, ir.Constant(columns.type, 1)) as (g, _):
            row = derivative(g)
            add(g, row)
            spread(row, builder.sub(g, some))
        add(columns, r)
        spread(r, builder.sub(columns, some))
        return context.get_dummy_value()

    return types.void(axes, weights, paths, residual, sums, listed, types.int64), emit


@intrinsic
def respond(
    context: Any, axes: Any, h: Any, tableau: Any, jacobians: Any, responses: Any, products: Any, propagator: Any
) -> Any:
    """How the stages of a Runge–Kutta step of length h by a ``tableau`` (a, b) act on its end:
    R_i = h (b_i 1 + Σ_{k>i} a_ki R_k J_k) into ``responses``, R_i J_i into ``products``, and the ``propagator``
    1 + Σ_i R_i J_i."""

    def emit(context: Any, builder: Builder, signature: Any, values: Any) -> Any:
        length, stages, weights, jacobian, response, carried, whole = opened(context, builder, signature, values)
        d, s = signature.args[0].count, weights.shape[0]
        square = [(c, e) for c in range(d) for e in range(d)]
        one, step = ir.Constant(s.type, 1), length.load(0)
        total = {
            at: cgutils.alloca_once_value(builder, ir.Constant(ROW, [float(at[0] == at[1])] * LANES)) for at in square
        }
        own = {at: cgutils.alloca_once(builder, ROW) for at in square}
        with cgutils.for_range(builder, s) as loop:
            i = builder.sub(builder.sub(s, one), loop.index)
            weight = product(builder, step, everywhere_on(builder, builder.load(weights.number(i))))
            for at in square:
                builder.store(weight if at[0] == at[1] else ir.Constant(ROW, [0.0] * LANES), own[at])
            with cgutils.for_range_slice(builder, builder.add(i, one), s, one) as (k, _):
                number = builder.load(stages.number(k, i))
                with builder.if_then(builder.fcmp_unordered("!=", number, ir.Constant(number.type, 0.0))):
                    part = product(builder, step, everywhere_on(builder, number))
                    for at in square:
                        builder.store(plus(builder, builder.load(own[at]), part, carried.load(k, *at)), own[at])
            rows = {at: builder.load(own[at]) for at in square}
            for c, e in square:
                response.store(rows[c, e], i, c, e)
                found = product(builder, rows[c, 0], jacobian.load(i, 0, e))
                for m in range(1, d):
                    found = plus(builder, found, rows[c, m], jacobian.load(i, m, e))
                carried.store(found, i, c, e)
                builder.store(builder.fadd(builder.load(total[c, e]), found, flags=FUSED), total[c, e])
        for at in square:
            whole.store(builder.load(total[at]), *at)
        return context.get_dummy_value()

    return types.void(axes, h, tableau, jacobians, responses, products, propagator), emit
