"""Derive src/jetode/data/panel.csv, panel_more.csv and panel_ratios.csv from the right-hand sides of the package dysts.

    .venv/bin/python scripts/make_panel.py            # all tables, about a quarter of an hour
    .venv/bin/python scripts/make_panel.py --table ratios
    .venv/bin/python scripts/make_panel.py --only Lorenz

Regular forms are derived symbolically with exact parameters: u0 = s, u1 = F_s; where F_s is affine in one hidden
variable with a constant coefficient, that variable is eliminated, the other one is w, and u2 must be affine in w.
A chain is F_s = f0(s) + c(s) v with one hidden variable v, whose own rate is affine in the other, w.
tc = std(s)/std(s') and the largest Lyapunov exponent are measured on our own tight trajectories.
"""

from __future__ import annotations

import argparse
import csv
import json
import types
from dataclasses import dataclass
from pathlib import Path

import dysts
import dysts.flows
import numpy as np
import sympy
from scipy.integrate import solve_ivp

from jetode.equations.expressions import parse_polynomial, to_floats
from jetode.equations.field import Field
from jetode.integration.dop853 import Stop, integrate
from jetode.integration.lyapunov import lyapunov_spectrum

DATA = Path(__file__).parents[1] / "src" / "jetode" / "data"
PARTS = ("a", "D", "P", "f0", "c")
COLUMNS = [
    "system",
    "observable",
    "dim",
    "class",
    "equations",
    "initial",
    "a",
    "D",
    "P",
    "tc",
    "dt",
    "lyapunov",
    "f0",
    "c",
]
# the channels of the any-channel issue
PANEL = """HyperRossler x1; LorenzStenflo x1; Rossler z; Lorenz z; Halvorsen x; MooreSpiegel x; Rossler y; SprottF x;
SprottF y; SprottG x; SprottJ y; SprottJerk x; SprottJerk y; SprottL z; SprottM x; SprottP y; SprottQ y; SprottR x;
SprottS z; Chen x; Lorenz x; RayleighBenard x; Rossler x; Rucklidge y; SprottC y; SprottJerk z; SprottR y; Bouali x;
Finance z; IsothermalChemical z; NoseHoover x; NoseHoover y; SprottO z; Chua z; YuWang2 x"""
# predators whose meals saturate, a ratio: beyond the family but for few of them
RATIOS = "Blasius x; Blasius y; Blasius z; HastingsPowell x; HastingsPowell y; HastingsPowell z"
TRAJECTORY = 4000.0  # tc over which tc is measured
EXPONENT = 8_000.0  # tc over which the exponent is measured
CHAOTIC = 5e-3  # exponent × tc of a channel that is taken
OTHER_EXPONENT = 1500.0  # tc, where the right-hand side is not polynomial (interpreted code)
METADATA = json.loads((Path(dysts.__path__[0]) / "data" / "chaotic_attractors.json").read_text())
FUNCTIONS = {
    name: getattr(sympy, name) for name in ("sin", "cos", "tan", "exp", "log", "sinh", "cosh", "tanh", "sign", "sqrt")
}
NUMPY = types.SimpleNamespace(**FUNCTIONS, abs=sympy.Abs, arctan=sympy.atan, pi=sympy.pi, maximum=sympy.Max)


@dataclass
class Flow:
    """A system of dysts in exact symbols."""

    name: str
    variables: tuple[sympy.Symbol, ...]
    rows: tuple[sympy.Expr, ...]
    initial: tuple[float, ...]
    period: float

    @property
    def polynomial(self) -> bool:
        return all(row.is_polynomial(*self.variables) for row in self.rows)

    def text(self) -> str:
        return "; ".join(f"{v}: {row}" for v, row in zip(self.variables, self.rows, strict=True))


def load(name: str) -> Flow | None:
    """The flow, or None where its right-hand side is not a closed expression of the state."""
    about = METADATA[name]
    dimension = about["embedding_dimension"]
    if about["nonautonomous"] or about["delay"] or dimension not in (3, 4):
        return None
    names = ("x", "y", "z") if dimension == 3 else ("x1", "x2", "x3", "x4")
    variables = sympy.symbols(names, real=True)
    values = about["parameters"]
    if any(not isinstance(v, int | float) for v in values.values()):
        return None
    exact = {k: sympy.Rational(str(v)) for k, v in values.items()}
    rhs = getattr(dysts.flows, name)._rhs
    rhs = getattr(rhs, "py_func", rhs)
    code = types.FunctionType(rhs.__code__, {"np": NUMPY})
    try:
        rows = code(*variables, sympy.Symbol("t"), **exact)
        rows = tuple(sympy.expand(row) for row in rows)
    except (TypeError, NameError, AttributeError, ValueError):
        return None
    if len(rows) != dimension or any(row.has(sympy.Symbol("t")) for row in rows):
        return None
    return Flow(name, variables, rows, tuple(about["initial_conditions"]), about["period"])


def classify(flow: Flow, index: int) -> tuple[str, dict[str, sympy.Expr]]:
    """The class of one observable and, where there is one, its regular form in the system's own coordinate."""
    if not flow.polynomial:
        return "control: not polynomial", {}
    if len(flow.variables) == 4:
        return "4-D", {}
    u0, u1, w = sympy.symbols("u0 u1 w")
    s = flow.variables[index]
    others = [v for i, v in enumerate(flow.variables) if i != index]
    rate = flow.rows[index]
    best: dict[str, sympy.Expr] = {}
    for gone, kept in (others, others[::-1]):
        linear = sympy.Poly(rate, gone)
        if linear.degree() != 1 or not linear.LC().is_number:
            continue
        solved = sympy.expand((u1 - rate.subs(gone, 0)) / linear.LC())
        second = sum(sympy.diff(rate, v) * f for v, f in zip(flow.variables, flow.rows, strict=True))

        def inside(e: sympy.Expr, gone=gone, kept=kept, solved=solved) -> sympy.Expr:
            return sympy.expand(e.subs(gone, solved).subs({s: u0, kept: w}))

        u2 = sympy.Poly(inside(second), w)
        if u2.degree() != 1:
            continue
        form = {
            "a": u2.coeff_monomial(1),
            "D": u2.coeff_monomial(w),
            "P": inside(flow.rows[flow.variables.index(kept)]),
        }
        if not best or _size(form) < _size(best):
            best = form
    if not best:
        hidden = [v for v in others if rate.has(v)]
        if len(hidden) == 1 and sympy.degree(rate, hidden[0]) == 1:
            return "chain", chain_form(flow, s, hidden[0], next(v for v in others if v != hidden[0]))
        return "control: multivalued", {}
    factor = best["D"]
    if factor.is_number:
        return "R0", best
    return ("R1" if factor.is_polynomial(u0) and not factor.has(u1) and sympy.degree(factor, u0) == 1 else "R2"), best


def chain_form(flow: Flow, s: sympy.Symbol, second: sympy.Symbol, third: sympy.Symbol) -> dict[str, sympy.Expr]:
    """f0, c, a, D, P of a chain in the system's own coordinates; {} where v' is not affine in w."""
    named = dict(zip((s, second, third), sympy.symbols("u0 v w"), strict=True))
    rates = dict(zip(flow.variables, flow.rows, strict=True))
    first, rate = sympy.Poly(rates[s], second), sympy.Poly(rates[second], third)
    if rate.degree() != 1:
        return {}
    parts = (rate.coeff_monomial(1), rate.coeff_monomial(third), rates[third])
    parts += (first.coeff_monomial(1), first.coeff_monomial(second))
    return {part: sympy.expand(e.subs(named, simultaneous=True)) for part, e in zip(PARTS, parts, strict=True)}


def _size(form: dict[str, sympy.Expr]) -> int:
    return sum(len(sympy.Add.make_args(e)) for e in form.values())


class Simulator:
    """Tight trajectories of a flow, on its attractor."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        names = [str(v) for v in flow.variables]
        self.field = None
        if flow.polynomial:
            self.field = Field.polynomial([to_floats(parse_polynomial(str(r), names)) for r in flow.rows])
        self.rhs = sympy.lambdify([flow.variables], flow.rows, "numpy")
        jacobian = sympy.Matrix(flow.rows).jacobian(flow.variables)
        self.jacobian = sympy.lambdify([flow.variables], jacobian, "numpy")

    def run(self, start: np.ndarray, count: int, dt: float) -> np.ndarray | None:
        if self.field is not None:
            out = integrate(
                self.field, start, count, dt, rtol=1e-11, atol=1e-12, bound=1e6, max_steps=400 * count + 10**6
            )
            return out.states if out.stop is Stop.COMPLETED else None
        out = solve_ivp(
            lambda _, x: self.rhs(x), (0, dt * (count - 1)), start, "DOP853",
            t_eval=dt * np.arange(count), rtol=1e-11, atol=1e-12,
        )  # fmt: skip
        return out.y.T if out.success else None

    def exponent(self, start: np.ndarray, tc: float) -> float:
        if self.field is not None:
            step = tc / 40
            spectrum = lyapunov_spectrum(self.field, start, EXPONENT * tc, step, transient=100 * tc, count=1)
            return spectrum.largest
        d = start.size
        vector = np.ones(d) / np.sqrt(d)
        growth, state, count = 0.0, start, round(OTHER_EXPONENT)

        def extended(_: float, x: np.ndarray) -> np.ndarray:
            return np.concatenate([self.rhs(x[:d]), np.asarray(self.jacobian(x[:d]), dtype=float) @ x[d:]])

        for _ in range(count):
            out = solve_ivp(extended, (0, tc), np.concatenate([state, vector]), "DOP853", rtol=1e-9, atol=1e-10)
            state, vector = out.y[:d, -1], out.y[d:, -1]
            norm = float(np.linalg.norm(vector))
            growth, vector = growth + np.log(norm), vector / norm
        return growth / (count * tc)


def short(e: sympy.Expr) -> str:
    return str(e).replace(" ", "")


def rows_of(name: str, wanted: list[str] | None) -> list[dict[str, str]]:
    """Table rows of one system: the wanted observables, or all with a regular form."""
    flow = load(name)
    if flow is None:
        return []
    kinds = {str(v): classify(flow, i) for i, v in enumerate(flow.variables)}
    if wanted is None:
        wanted = [v for v, (kind, _) in kinds.items() if kind in ("R0", "R1", "R2")]
    if not wanted:
        return []
    simulator = Simulator(flow)
    start = np.array(flow.initial)
    first = simulator.run(start, 2, 50 * flow.period)
    states = None if first is None else simulator.run(first[-1], 4000, flow.period / 40)
    if states is None:
        return []
    rates = np.array([simulator.rhs(x) for x in states])
    out = []
    exponent: float | None = None
    for observable in wanted:
        i = [str(v) for v in flow.variables].index(observable)
        rough = float(np.std(states[:, i]) / np.std(rates[:, i]))
        length = TRAJECTORY if flow.polynomial else TRAJECTORY / 8
        long = simulator.run(states[-1], round(10 * length), rough / 10)
        if long is None:
            return out
        speeds = np.array([simulator.rhs(x)[i] for x in long])
        tc = float(np.std(long[:, i]) / np.std(speeds))
        if exponent is None:
            exponent = simulator.exponent(long[-1], tc)
        kind, form = kinds[observable]
        out.append(
            {
                "system": name,
                "observable": observable,
                "dim": str(len(flow.variables)),
                "class": kind,
                "equations": flow.text(),
                "initial": " ".join(repr(x) for x in flow.initial),
                **{part: short(form[part]) if part in form else "" for part in PARTS},
                "tc": f"{tc:.5g}",
                "dt": f"{tc / 20:.4g}",
                "lyapunov": f"{exponent:.4g}",
            }
        )
        print(name, observable, kind, out[-1]["tc"], out[-1]["lyapunov"], out[-1]["D"], flush=True)
    return out


def chaotic(row: dict[str, str]) -> bool:
    return float(row["lyapunov"]) * float(row["tc"]) > CHAOTIC


def write(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def channels(text: str) -> dict[str, list[str]]:
    """The observables of every system of a list."""
    out: dict[str, list[str]] = {}
    for channel in text.replace("\n", " ").split(";"):
        system, observable = channel.split()
        out.setdefault(system, []).append(observable)
    return out


def table_of(text: str) -> list[dict[str, str]]:
    """The rows of a list of channels."""
    return [row for name, wanted in channels(text).items() for row in rows_of(name, wanted)]


def all_others() -> list[dict[str, str]]:
    """Every chaotic channel of three coordinates with a regular form that is not in the panel."""
    panel, more = channels(PANEL), []
    for name in sorted(METADATA):
        if METADATA[name]["embedding_dimension"] == 3:
            rows = rows_of(name, None)
            more += [r for r in rows if r["observable"] not in panel.get(name, ()) and chaotic(r)]
    return more


TABLES = {"panel": lambda: table_of(PANEL), "more": all_others, "ratios": lambda: table_of(RATIOS)}
FILES = {"panel": "panel.csv", "more": "panel_more.csv", "ratios": "panel_ratios.csv"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="one system, printed and not written")
    parser.add_argument("--table", choices=(*TABLES, "all"), default="all")
    options = parser.parse_args()
    if options.only:
        rows_of(options.only, None)
        return
    for table in TABLES if options.table == "all" else (options.table,):
        write(DATA / FILES[table], TABLES[table]())


if __name__ == "__main__":
    main()
