"""Eight numbers at a time in compiled code: rows of :data:`LANES` doubles that one instruction works on.

numba unrolls a loop over eight before anything could make one instruction of it, and has to fear that the array it
writes to is one that it reads.  Here the loads, the arithmetic and the store are written for LLVM as vectors, on the
first :data:`LANES` numbers of one-dimensional contiguous arrays.  NaN and infinity keep their meaning; a product and a
sum may become one operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic as _intrinsic

LANES = 8  # doubles of one AVX-512 register, of two of AVX2
BLOCK = 4  # rows of a block of a product: eight accumulators of AVX2 hide the time that each addition takes
ROW = ir.VectorType(ir.DoubleType(), LANES)
FUSED = ("contract",)
intrinsic: Any = _intrinsic  # its published types are those of the function that it replaces
cgutils: Any = _cgutils  # has none

Vector = Any
Arithmetic = Callable[..., Vector]  # builder, then a row, or a number on every lane, for each argument


def _on_rows(arithmetic: Arithmetic) -> Any:
    """``operation(out, *arguments)`` as an intrinsic: ``arithmetic`` gets the rows that are there, and what it gives is
    written to ``out``."""

    def typed(context: Any, *given: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            places = [_place(context, builder, kind, value) for kind, value in zip(signature.args, values, strict=True)]
            rows = [
                builder.load(place, align=8) if isinstance(kind, types.Array) else everywhere_on(builder, place)
                for kind, place in zip(signature.args, places, strict=True)
            ]
            builder.store(arithmetic(builder, *rows), places[0], align=8)
            return context.get_dummy_value()

        numbers = [kind if isinstance(kind, types.Array) else types.float64 for kind in given]
        return types.void(*numbers), emit

    return typed


def _place(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if not isinstance(kind, types.Array):
        return value
    return builder.bitcast(context.make_array(kind)(context, builder, value).data, ROW.as_pointer())


def everywhere_on(builder: Any, number: Any) -> Vector:
    first = builder.insert_element(ir.Constant(ROW, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def _sum(builder: Any, a: Vector, b: Vector) -> Vector:
    return builder.fadd(a, b, flags=FUSED)


def _product(builder: Any, a: Vector, b: Vector) -> Vector:
    return builder.fmul(a, b, flags=FUSED)


def _fill(builder: Any, out: Vector, value: Vector) -> Vector:
    return value


def _multiply(builder: Any, out: Vector, a: Vector, b: Vector) -> Vector:
    return _product(builder, a, b)


def _add_product(builder: Any, out: Vector, a: Vector, b: Vector) -> Vector:
    return _sum(builder, out, _product(builder, a, b))


def _weighted(context: Any, builder: Any, kinds: Any, values: Any, row_of: Callable[[Any], Any], span: Any) -> None:
    """out = Σ_j coefficients[j] table[row_of(j)] over ``span``, kept in a register until its end; the coefficients are
    numbers, or rows with one for each lane."""
    out, coefficients, table = (
        context.make_array(kind)(context, builder, value).data
        for kind, value in zip(kinds[:3], values[:3], strict=True)
    )
    table, rows = builder.bitcast(table, ROW.as_pointer()), kinds[1].ndim > 1
    coefficients = builder.bitcast(coefficients, ROW.as_pointer()) if rows else coefficients
    total = cgutils.alloca_once_value(builder, ir.Constant(ROW, [0.0] * LANES))
    with cgutils.for_range_slice(builder, *span, ir.Constant(span[0].type, 1)) as (j, _):
        row = builder.load(builder.gep(table, [row_of(j)]), align=8)
        weight = builder.load(builder.gep(coefficients, [j]), align=8)
        weight = weight if rows else everywhere_on(builder, weight)
        builder.store(_add_product(builder, builder.load(total), row, weight), total)
    builder.store(builder.load(total), builder.bitcast(out, ROW.as_pointer()), align=8)


@intrinsic
def weighted_rows(context: Any, out: Any, coefficients: Any, table: Any) -> Any:
    """out = Σ_j coefficients[j] table[j] over all coefficients."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        shape = context.make_array(signature.args[1])(context, builder, values[1]).shape
        count = cgutils.unpack_tuple(builder, shape)[0]
        span = ir.Constant(count.type, 0), count
        _weighted(context, builder, signature.args, values, lambda j: j, span)
        return context.get_dummy_value()

    return types.void(out, coefficients, table), emit


@intrinsic
def weighted_sum(context: Any, out: Any, coefficients: Any, table: Any, slots: Any, first: Any, last: Any) -> Any:
    """out = Σ_j coefficients[j] table[slots[j]] over first ≤ j < last."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        at = context.make_array(signature.args[3])(context, builder, values[3]).data
        _weighted(
            context, builder, signature.args, values, lambda j: builder.load(builder.gep(at, [j])), tuple(values[4:])
        )
        return context.get_dummy_value()

    return types.void(out, coefficients, table, slots, types.int64, types.int64), emit


@intrinsic
def add_outer(context: Any, out: Any, left: Any, right: Any, count: Any, m: Any, n: Any) -> Any:
    """out[m : m + 4, n : n + LANES] += Σ_r left[r, m : m + 4] right[r, n : n + LANES] over r < count: a block of
    leftᵀ right that stays in registers."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        *matrices, count, m, n = values
        arrays = [
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args[:3], matrices, strict=True)
        ]

        def place(which: int, row: Any, column: Any) -> Any:
            width = cgutils.unpack_tuple(builder, arrays[which].shape)[1]
            return builder.gep(arrays[which].data, [builder.add(builder.mul(row, width), column)])

        def vector(which: int, row: Any, column: Any) -> Any:
            return builder.bitcast(place(which, row, column), ROW.as_pointer())

        into = [vector(0, builder.add(m, ir.Constant(m.type, i)), n) for i in range(BLOCK)]
        totals = [cgutils.alloca_once_value(builder, builder.load(at, align=8)) for at in into]
        with cgutils.for_range(builder, count) as loop:
            row = builder.load(vector(2, loop.index, n), align=8)
            for i, total in enumerate(totals):
                weight = builder.load(place(1, loop.index, builder.add(m, ir.Constant(m.type, i))))
                builder.store(_add_product(builder, builder.load(total), row, everywhere_on(builder, weight)), total)
        for total, at in zip(totals, into, strict=True):
            builder.store(builder.load(total), at, align=8)
        return context.get_dummy_value()

    return types.void(out, left, right, types.int64, types.int64, types.int64), emit


@intrinsic
def fill(context: Any, out: Any, value: Any) -> Any:
    """out = value, a number or a row."""
    return _on_rows(_fill)(context, out, value)


@intrinsic
def multiply(context: Any, out: Any, a: Any, b: Any) -> Any:
    """out = a b."""
    return _on_rows(_multiply)(context, out, a, b)


@intrinsic
def add_product(context: Any, out: Any, a: Any, b: Any) -> Any:
    """out += a b."""
    return _on_rows(_add_product)(context, out, a, b)
