"""What eliminating one node does to the coefficients' columns, in one pass over them (docs/mathematics.md (4.3))."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

from jetode.support.lane_blocks import Builder, opened, plus, product
from jetode.support.lanes import LANES, ROW, Vector, cgutils, everywhere_on, intrinsic


@intrinsic
def reduce_columns(
    context: Any, axes: Any, matrices: Any, vectors: Any, columns: Any, sums: Any, rows: Any, count: Any
) -> Any:
    """With ``matrices`` (W, H₁, A), ``vectors`` (m₁, c, Q, g₁) and ``columns``, B of the arrows, H_Xθ of the node after
    and of this one: B₁ = W H_Xθ and K = B₁ + H₁ B; the last += Aᵀ K, ``sums`` += Bᵀ m₁ + B₁ᵀ c − H_Xθᵀ Q g₁, and
    ``rows`` (left, right) from ``count`` on get what makes leftᵀ right = Bᵀ K + B₁ᵀ B − H_Xθᵀ Q B₁."""

    def emit(context: Any, builder: Builder, signature: Any, values: Any) -> Any:
        square, own, carried, later, earlier, total, one, other, count = opened(context, builder, signature, values)
        d = range(signature.args[0].count)
        w, h, a = ([[builder.load(square.number(k, c, e)) for e in d] for c in d] for k in range(3))
        m1, shift, q2, g1 = ([builder.load(own.number(k, c)) for c in d] for k in range(4))
        minus_q2 = [builder.fneg(number) for number in q2]

        def at(m: Any, kind: Any, spread: Callable[[Any], Vector]) -> None:
            def load(array: Any, *indices: Any) -> Vector:
                return builder.load(builder.bitcast(array.number(*indices), kind.as_pointer()), align=8)

            def store(value: Vector, array: Any, *indices: Any) -> None:
                builder.store(value, builder.bitcast(array.number(*indices), kind.as_pointer()), align=8)

            def weighted(numbers: list[Any], rows: list[Vector], begun: Vector | None = None) -> Vector:
                for number, row in zip(numbers, rows, strict=True):
                    weight = spread(number)
                    begun = product(builder, weight, row) if begun is None else plus(builder, begun, weight, row)
                return begun

            b, cross = [load(carried, e, m) for e in d], [load(later, e, m) for e in d]
            b1 = [weighted(w[c], cross) for c in d]
            k = [weighted(h[c], b, b1[c]) for c in d]
            softened = [product(builder, spread(minus_q2[c]), cross[c]) for c in d]
            gained = weighted(g1, softened, weighted(shift, b1, weighted(m1, b, load(total, m))))
            store(gained, total, m)
            for c in d:
                store(weighted([a[e][c] for e in d], k, load(earlier, c, m)), earlier, c, m)
                for row, pair in enumerate(((b[c], k[c]), (b1[c], b[c]), (softened[c], b1[c]))):
                    place = builder.add(count, ir.Constant(count.type, 3 * c + row))
                    store(pair[0], one, place, m)
                    store(pair[1], other, place, m)

        n = total.shape[0]
        whole = builder.and_(n, ir.Constant(n.type, -LANES))
        with cgutils.for_range_slice(builder, ir.Constant(n.type, 0), whole, ir.Constant(n.type, LANES)) as (m, _):
            at(m, ROW, lambda number: everywhere_on(builder, number))
        with cgutils.for_range_slice(builder, whole, n, ir.Constant(n.type, 1)) as (m, _):
            at(m, ir.DoubleType(), lambda number: number)
        return context.get_dummy_value()

    return types.void(axes, matrices, vectors, columns, sums, rows, types.int64), emit
