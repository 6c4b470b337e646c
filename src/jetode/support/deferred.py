"""A routine that is compiled when it is first needed, instead of with every kernel that might call it.

A kernel contains its leaves.  One that few runs reach would still be compiled with each kernel and each dimension, on
the first day of everybody.  A :class:`Deferred` routine lives behind a cell with its address: kernels load the cell
and call, and are cached on disk as before, since they know the cell by its name only.  Whoever hands a kernel data that
lead to the call asks :meth:`Deferred.ready` for it first; a call without it gives NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

from jetode.support.compiled import cache_of

POINTER = types.CPointer(types.float64)  # type: ignore[no-untyped-call]
SIGNATURE = (types.int64, types.float64, POINTER, POINTER), types.void


class Deferred:
    """``routine(kind, v, p, out)``, which reads from the pointer ``p`` and writes to the pointer ``out``."""

    def __init__(self, routine: Callable[..., None]) -> None:
        callback: Any = CFunc
        self._compiled = callback(routine, SIGNATURE, {}, {"error_model": "numpy", "_nrt": False})
        self._compiled._cache = cache_of(routine)
        self._cell = np.zeros(1, dtype=np.intp)
        self.symbol = f"{routine.__module__}.{routine.__name__}"
        binding.add_symbol(self.symbol, self._cell.ctypes.data)

    def ready(self) -> None:
        """Compile it, or load it, if this process has not yet."""
        if not self._cell[0]:
            self._compiled.compile()
            self._cell[0] = self._compiled.address

    def caller(self) -> Any:
        """What a kernel calls: ``call(kind, v, p, first, out, at)`` for the arrays from ``first`` and ``at`` on."""
        symbol = self.symbol

        def call(context: Any, kind: Any, v: Any, p: Any, first: Any, out: Any, at: Any) -> Any:
            signature = types.void(types.int64, types.float64, p, types.int64, out, types.int64)
            return signature, lambda *given: _emit(symbol, *given)

        return intrinsic(call)


def _emit(symbol: str, context: Any, builder: Any, signature: Any, given: Any) -> Any:
    kind, v, p, first, out, at = given
    double = ir.DoubleType().as_pointer()
    routine = ir.FunctionType(ir.VoidType(), [kind.type, v.type, double, double]).as_pointer()
    module = builder.module
    cell = module.globals.get(symbol) or ir.GlobalVariable(module, routine, symbol)

    def place(array: Any, of: Any, index: Any) -> Any:
        return builder.gep(context.make_array(of)(context, builder, array).data, [index])

    places = place(p, signature.args[2], first), place(out, signature.args[4], at)
    address = builder.load(cell)
    known = cgutils.is_not_null(builder, address)  # type: ignore[no-untyped-call]
    with builder.if_else(known) as (there, missing):
        with there:
            builder.call(address, [kind, v, *places])
        with missing:
            builder.store(ir.Constant(v.type, float("nan")), places[1])
    return context.get_dummy_value()
