"""Rows of :data:`~jetode.support.lanes.LANES` doubles as values of compiled code, with the arithmetic of numbers.

A kernel that runs eight independent computations side by side is written like one of them: ``load`` gives a row of an
array (m, LANES), ``+ - * /`` work on rows and numbers, ``store`` writes one.  Nothing is fused or reordered, so that
every lane has the bits of the same operations on numbers, on any CPU; without compilation rows are NumPy arrays, and
the bits are the same again.  Of one-dimensional arrays ``load`` and ``store`` take numbers, for code that serves both.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types as _types
from numba.core import typing as _typing
from numba.core.typing import templates as _templates
from numba.extending import lower_builtin as _lower_builtin
from numba.extending import models as _models
from numba.extending import register_model as _register_model

from jetode.support.arrays import FloatArray
from jetode.support.lanes import LANES, ROW, cgutils, everywhere_on

# numba publishes no types of these
infer_global: Any = _templates.infer_global
AbstractTemplate: Any = _templates.AbstractTemplate
lower_builtin: Any = _lower_builtin
models: Any = _models
register_model: Any = _register_model
types: Any = _types
signature: Any = cast(Any, _typing).signature

Row = Any  # of compiled code; LANES numbers of an array without compilation


class RowType(types.Type):  # type: ignore[misc]
    """The type of a row."""


ROW_TYPE = RowType("Row")


@register_model(RowType)
class _RowModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ROW)


def rows_of_zeros(*shape: int) -> FloatArray:
    """Zeros (…, LANES), no row of which lies in two lines of the cache."""
    size = LANES * math.prod(shape)
    line = np.zeros(size + LANES)
    first = -line.ctypes.data % (LANES * line.itemsize) // line.itemsize
    return line[first : first + size].reshape(*shape, LANES)


def load(array: FloatArray, i: int) -> Row:
    """Row i of an array (m, LANES), or number i of one of one dimension."""
    return np.array(array[i])


def store(array: FloatArray, i: int, row: Row) -> None:
    """Write row (or number) i."""
    array[i] = row


def everywhere(number: float) -> Row:
    """The same number on every lane."""
    return np.full(LANES, number)


def where_less(a: Row, b: Row, yes: Row, no: Row) -> Row:
    """``yes`` where a < b, otherwise, also where one of them is NaN, ``no``."""
    return np.where(np.less(a, b), yes, no)


def smaller(a: Row, b: Row) -> Row:
    """a where a < b, otherwise, also where one is NaN, b."""
    return np.where(np.less(a, b), a, b)


def larger(a: Row, b: Row) -> Row:
    """a where a > b, otherwise, also where one is NaN, b."""
    return np.where(np.greater(a, b), a, b)


def magnitude(a: Row) -> Row:
    """|a|."""
    return np.abs(a)


def root(a: Row) -> Row:
    """√a."""
    return np.sqrt(a)


def some(a: Row) -> bool:
    """Whether any lane is other than 0."""
    return bool(np.any(a != 0.0))


def _element(array: Any) -> Any:
    """What ``load`` gives of this type of array, None where it gives nothing."""
    if not (isinstance(array, types.Array) and array.layout == "C" and array.dtype == types.float64):
        return None
    return {1: types.float64, 2: ROW_TYPE}.get(array.ndim)


@infer_global(load)
class _Load(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        kind = _element(args[0])
        return None if kind is None else signature(kind, args[0], types.intp)


@infer_global(store)
class _Store(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        kind = _element(args[0])
        return None if kind is None else signature(types.void, args[0], types.intp, kind)


def _place(context: Any, builder: Any, kind: Any, array: Any, i: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    if kind.ndim == 2:
        data = builder.bitcast(data, ROW.as_pointer())
    return builder.gep(data, [i], inbounds=True)


@lower_builtin(load, types.Array, types.intp)
def _lower_load(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.load(_place(context, builder, sig.args[0], *args), align=8)


@lower_builtin(store, types.Array, types.intp, RowType)
@lower_builtin(store, types.Array, types.intp, types.float64)
def _lower_store(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    builder.store(args[2], _place(context, builder, sig.args[0], *args[:2]), align=8)
    return context.get_dummy_value()


def _on_rows(function: Any, emit: Callable[..., Any], result: Any = ROW_TYPE) -> None:
    """``function`` of rows, some of which may be numbers, in compiled code: ``emit(builder, *rows)``."""

    def generic(self: Any, args: Any, kws: Any) -> Any:
        if ROW_TYPE not in args and function is not everywhere:
            return None
        if not all(a == ROW_TYPE or isinstance(a, types.Float | types.Integer) for a in args):
            return None
        return signature(result, *(a if a == ROW_TYPE else types.float64 for a in args))

    @lower_builtin(function, types.VarArg(types.Any))
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        rows = [a if kind == ROW_TYPE else everywhere_on(builder, a) for kind, a in zip(sig.args, args, strict=True)]
        return emit(builder, *rows)

    infer_global(function)(type(f"_{function.__name__}", (AbstractTemplate,), {"generic": generic}))


def _intrinsic(name: str) -> Callable[..., Any]:
    def emit(builder: Any, a: Any) -> Any:
        kind = ir.FunctionType(ROW, [ROW])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}f64"), [a])

    return emit


def _where_less(builder: Any, a: Any, b: Any, yes: Any, no: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", a, b), yes, no)


def _some(builder: Any, a: Any) -> Any:
    differ = builder.fcmp_unordered("!=", a, ir.Constant(ROW, [0.0] * LANES))
    bits = ir.IntType(LANES)
    return builder.icmp_unsigned("!=", builder.bitcast(differ, bits), ir.Constant(bits, 0))


_on_rows(operator.add, ir.IRBuilder.fadd)
_on_rows(operator.sub, ir.IRBuilder.fsub)
_on_rows(operator.mul, ir.IRBuilder.fmul)
_on_rows(operator.truediv, ir.IRBuilder.fdiv)
_on_rows(where_less, _where_less)
_on_rows(smaller, lambda builder, a, b: _where_less(builder, a, b, a, b))
_on_rows(larger, lambda builder, a, b: _where_less(builder, b, a, a, b))
_on_rows(magnitude, _intrinsic("fabs"))
_on_rows(root, _intrinsic("sqrt"))
_on_rows(some, _some, types.boolean)
_on_rows(everywhere, lambda builder, a: a)
