"""Numbers as they are known: rounded to two digits of their standard error, 713.9 ± 6.2."""

from __future__ import annotations

import math

MOST_DIGITS = 6  # significant digits where the error allows more: what an equation can be read with
PLAIN = (1e-4, 1e6)  # sizes that are written without a power of ten


class Rounded(float):
    """A number with its standard error; it computes as a float and is written by :func:`written`."""

    error: float

    def __new__(cls, value: float, error: float) -> Rounded:
        """``error`` 0 or NaN: the number counts as known to all its digits."""
        made = super().__new__(cls, value)
        made.error = float(error)
        return made

    def __abs__(self) -> Rounded:
        return Rounded(abs(float(self)), self.error)

    def __neg__(self) -> Rounded:
        return Rounded(-float(self), self.error)


def written(value: float, digits: int = MOST_DIGITS) -> str:
    """A number to two digits of its error where it has one, else to so many significant digits."""
    decimals = _decimals(value) if isinstance(value, Rounded) else None
    return f"{float(value):.{digits}g}" if decimals is None else _fixed(float(value), decimals)


def with_error(value: float, error: float, digits: int = MOST_DIGITS) -> str:
    """``713.9 ± 6.2``; the number alone where no error is known or it was fixed."""
    known = Rounded(value, error)
    decimals = _decimals(known)
    if decimals is None:
        return written(value, digits)
    size, _, exponent = _fixed(value, decimals).partition("e")
    if not exponent:
        return f"{size} ± {_fixed(error, decimals)}"
    scaled = error / 10.0 ** int(exponent)
    return f"({size} ± {_fixed(scaled, decimals + int(exponent))})e{exponent}"


def _decimals(value: Rounded) -> int | None:
    """Decimal places that two digits of the error reach, no more than :data:`MOST_DIGITS` of the number; None where no
    error is known."""
    if not (math.isfinite(value.error) and value.error > 0.0 and math.isfinite(value)):
        return None
    reached = 1 - math.floor(math.log10(value.error))
    if value == 0.0:
        return reached
    return min(reached, MOST_DIGITS - 1 - math.floor(math.log10(abs(float(value)))))


def _fixed(value: float, decimals: int) -> str:
    """Rounded at a decimal place, with a power of ten where the number is very large or small."""
    size = abs(value)
    if size and not PLAIN[0] <= size < PLAIN[1]:
        digits = max(0, math.floor(math.log10(size)) + decimals)
        return f"{value:.{digits}e}"
    return f"{round(value, decimals):.{max(0, decimals)}f}"
