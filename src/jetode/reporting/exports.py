"""The identified equations as standalone code: Python (NumPy only), C99, Julia, ODE text and SBML.

Every export holds the right-hand side of x' = f(x), the state at the last sample and the names of the coordinates:
the pole-free ones (u0 … u_{n−2}, w) where the model has a regular form, else the jets with u_{n−1}' = N/D.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from xml.sax.saxutils import quoteattr

from jetode.equations.field import Field
from jetode.equations.polynomials import Exponents, Polynomial, graded_order
from jetode.reconstruction.model import Model
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

CONTENT = "http://www.w3.org/1998/Math/MathML"
SBML = "http://www.sbml.org/sbml/level3/version2/core"


@dataclass(frozen=True)
class Equations:
    """Names, rates (numerator, denominator or None) and the start state of a model, with a title."""

    names: tuple[str, ...]
    rates: tuple[tuple[Polynomial, Polynomial | None], ...]
    start: tuple[float, ...]
    title: tuple[str, ...]


def equations(model: Model) -> Equations:
    """The equations of motion a forecast of ``model`` integrates."""
    if model.regular is None:
        field, names = Field.from_closure(model.closure), model.closure.names
    else:
        field, names = model.regular.field, model.regular.names()
    start: FloatArray = model.end_state
    if model.regular is not None and model.coordinates == "jet":
        start = model.regular_state(start)
    n = field.dimension
    rates: list[tuple[Polynomial, Polynomial | None]] = [
        ({tuple(int(j == i + 1) for j in range(n)): 1.0}, None) for i in range(field.chain)
    ]
    rates += [(row, None) for row in field.rows[:-1]]
    rates.append((field.rows[-1], field.denominator))
    record = model.record
    channel = f"u0 = {record.name or 'the record'}" + (f" [{record.unit}]" if record.unit else "")
    time = f"t in {record.time_unit}" if record.time_unit else "t in the record's time unit"
    verdict = ("Trusted: " if model.verdict.trusted else "Not trusted: ") + model.verdict.reason
    # a name out of a file must not end a comment
    title = tuple(re.sub(r"[\r\n]|\*/|--|\"\"\"", " ", line) for line in (f"{channel}, {time}.", verdict))
    return Equations(tuple(names), tuple(rates), tuple(float(v) for v in start), title)


def _product(coefficient: float, exponents: Exponents, names: Sequence[str]) -> str:
    factors = [n for n, k in zip(names, exponents, strict=True) for _ in range(k)]
    return "*".join(factors if coefficient == 1 and factors else [repr(float(coefficient)), *factors])


def _sum(p: Mapping[Exponents, float], names: Sequence[str]) -> str:
    """Infix text that Python, C, Julia and XPP read alike."""
    if not p:
        return "0.0"
    return " + ".join(_product(p[e], e, names) for e in sorted(p, key=graded_order)).replace("+ -", "- ")


def _infix(rate: tuple[Polynomial, Polynomial | None], names: Sequence[str]) -> str:
    above, below = rate
    return _sum(above, names) if below is None else f"({_sum(above, names)})/({_sum(below, names)})"


def python(model: Model) -> str:
    """A module with ``rhs(t, x)``, the start state ``X0`` and a Runge–Kutta ``trajectory``; needs NumPy only."""
    e = equations(model)
    rates = "".join(f"            {_infix(rate, e.names)},\n" for rate in e.rates)
    return f'''"""{e.title[0]}

{e.title[1]}
Written by jetode.
"""

import numpy as np

NAMES = {e.names!r}
X0 = np.array({list(e.start)!r})  # at the last sample of the record
DT = {float(model.record.dt)!r}  # sampling interval of the record


def rhs(t, x):
    """Rates of the state x; call it with SciPy's solve_ivp or any other solver."""
    {", ".join(e.names)} = x
    return np.array(
        [
{rates}        ]
    )


def trajectory(n, dt=DT, x0=X0, substeps=8):
    """n + 1 states dt apart, by the classical Runge-Kutta method."""
    h = dt / substeps
    out = np.empty((n + 1, len(x0)))
    out[0] = x = np.array(x0, dtype=float)
    for i in range(n):
        for _ in range(substeps):
            k1 = rhs(0.0, x)
            k2 = rhs(0.0, x + 0.5 * h * k1)
            k3 = rhs(0.0, x + 0.5 * h * k2)
            k4 = rhs(0.0, x + h * k3)
            x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        out[i + 1] = x
    return out
'''


def c(model: Model) -> str:
    """C99: ``void jetode_rhs(double t, const double x[], double dx[])``, ``jetode_x0``, JETODE_DIMENSION."""
    e = equations(model)
    states = "\n".join(f"    const double {n} = x[{i}];" for i, n in enumerate(e.names))
    unused = "".join(f" (void){n};" for n in e.names)
    rates = "\n".join(f"    dx[{i}] = {_infix(rate, e.names)};" for i, rate in enumerate(e.rates))
    start = ", ".join(repr(v) for v in e.start)
    return f"""/* {e.title[0]}
 * {e.title[1]}
 * Written by jetode. C99. */

#define JETODE_DIMENSION {len(e.names)}

/* {", ".join(e.names)} at the last sample of the record */
const double jetode_x0[JETODE_DIMENSION] = {{{start}}};
const double jetode_dt = {float(model.record.dt)!r};

void jetode_rhs(double t, const double x[], double dx[])
{{
{states}
    (void)t;{unused}
{rates}
}}
"""


def julia(model: Model) -> str:
    """Julia: ``jetode_rhs!(du, u, p, t)`` as DifferentialEquations.jl calls it, and ``jetode_u0``."""
    e = equations(model)
    rates = "\n".join(f"    du[{i + 1}] = {_infix(rate, e.names)}" for i, rate in enumerate(e.rates))
    return f"""# {e.title[0]}
# {e.title[1]}
# Written by jetode.
#
#   using DifferentialEquations
#   solve(ODEProblem(jetode_rhs!, jetode_u0, (0.0, 100jetode_dt)), Vern9())

const jetode_u0 = [{", ".join(repr(v) for v in e.start)}]  # at the last sample of the record
const jetode_dt = {float(model.record.dt)!r}

function jetode_rhs!(du, u, p, t)
    {", ".join(e.names)} = u
{rates}
    return nothing
end
"""


def ode(model: Model) -> str:
    """ODE text as XPPAUT reads it: one equation and one initial value per coordinate."""
    e = equations(model)
    rates = "\n".join(f"{n}' = {_infix(rate, e.names)}" for n, rate in zip(e.names, e.rates, strict=True))
    start = "\n".join(f"init {n}={v!r}" for n, v in zip(e.names, e.start, strict=True))
    dt = float(model.record.dt)
    title = f"# {e.title[0]}\n# {e.title[1]}\n# Written by jetode."
    return f"{title}\n{rates}\n{start}\n@ dt={dt!r}, total={1000 * dt!r}\ndone\n"


def _apply(operator: str, parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"<apply><{operator}/>{''.join(parts)}</apply>"


def _content(p: Mapping[Exponents, float], names: Sequence[str]) -> str:
    """Content MathML of a polynomial."""
    terms = []
    for e in sorted(p, key=graded_order):
        factors = [_number(p[e])]
        factors += [f"<ci>{n}</ci>" for n, k in zip(names, e, strict=True) for _ in range(k)]
        terms.append(_apply("times", factors))
    return _apply("plus", terms) if terms else "<cn>0</cn>"


def _number(value: float) -> str:
    mantissa, _, exponent = repr(float(value)).partition("e")
    return f'<cn type="e-notation">{mantissa}<sep/>{int(exponent)}</cn>' if exponent else f"<cn>{mantissa}</cn>"


def sbml(model: Model) -> str:
    """SBML level 3 version 2: one parameter and one rate rule per coordinate."""
    e = equations(model)
    parameters = "\n".join(
        f'      <parameter id="{n}" value="{v!r}" constant="false"/>' for n, v in zip(e.names, e.start, strict=True)
    )
    rules = []
    for n, (above, below) in zip(e.names, e.rates, strict=True):
        body = _content(above, e.names)
        if below is not None:
            body = f"<apply><divide/>{body}{_content(below, e.names)}</apply>"
        rules.append(
            f'      <rateRule variable="{n}"><math xmlns="{CONTENT}">{body}</math></rateRule>',
        )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<sbml xmlns="{SBML}" level="3" version="2">
  <model id="jetode" name={quoteattr(" ".join(e.title))}>
    <listOfParameters>
{parameters}
    </listOfParameters>
    <listOfRules>
{chr(10).join(rules)}
    </listOfRules>
  </model>
</sbml>
"""


FORMATS: Mapping[str, Callable[[Model], str]] = MappingProxyType(
    {"python": python, "c": c, "julia": julia, "ode": ode, "sbml": sbml}
)


def export(model: Model, format: str) -> str:
    """The model's equations as source text in one of :data:`FORMATS`."""
    if format not in FORMATS:
        raise InputError(f"The 'format' parameter must be one of {', '.join(FORMATS)}. Got {format!r} instead.")
    return FORMATS[format](model)
