"""Order and pole of a clean record from the null space of D u_{n−1}' = N (the paper's Eq. weak_system).

Without noise the smallest singular value of [M_D, −M_N] falls by orders of magnitude at the first library that holds
the closure, whatever the order, the shape of D, and whether the record crosses D = 0.  Libraries are tried from small
to large; in the first that singles out one vector, D is stripped of the monomials it does not need.  The joint fit
decides afterwards; here a closure is only proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from jetode.equations.closure import Closure
from jetode.equations.polynomials import Exponents, Library, Polynomial, evaluate, total_degree_exponents
from jetode.equations.regular import RegularClosure
from jetode.equations.regularise import regularise
from jetode.joint.forms.base import Form, Start, hidden_library
from jetode.joint.forms.registry import families
from jetode.joint.forms.starts import regress_increments, smooth_hidden
from jetode.joint.jets import Jets
from jetode.joint.problem import Prepared
from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.joint.shooting.gaussnewton import Data
from jetode.joint.term_selection import Refitting, Selection, eliminate
from jetode.paper.nullspace import null_space, solve_numerator
from jetode.paper.weakform import ClosureSystem, Window, place_windows, weak_form
from jetode.signal.spline import smooth
from jetode.support.arrays import FloatArray

DEGREES: dict[int, tuple[tuple[int, int], ...]] = {  # order: (degree of D, degree of N), from small to large
    2: ((0, 2), (0, 3), (1, 3), (1, 4), (2, 5)),
    3: ((0, 2), (0, 3), (1, 3), (1, 4), (2, 4), (2, 5), (3, 7)),
    4: ((0, 2), (0, 3), (1, 3), (2, 4), (3, 6)),
    5: ((0, 2), (1, 3), (2, 4)),
}
LINEAR = ((0, 1),)  # tried for every order before anything else: sines have many equations, this is the simplest
FIRST = Schedule((1e-1, 1e-2, 1e-3, 1e-4, 1e-5), 12)
REFITTING = Refitting(Schedule((1e-4, 1e-5), 12), insist=False)


@dataclass(frozen=True)
class NullSpaceSettings:
    """The weak form of a clean record, and which of its null vectors are closures."""

    spline_degree: int = 11  # smooth well beyond the fifth derivative that order 5 needs
    half_width: float = 1.5  # tc, of a test function: a quarter of the period of a sine
    exponent: int = 8  # of the test functions: they and seven derivatives vanish at their ends
    windows: int = 3000  # test functions at most: many times the monomials of the largest library
    min_gap: float = 10.0  # ratio of the two smallest singular values from which a library singles out one vector
    looser: float = 2.0  # factor of the smallest singular value that a monomial of D must be worth


@dataclass(frozen=True)
class ProposalSettings:
    """The joint fit of a proposal."""

    level: float = 1e-3  # std: the noise level that the fit assumes, far above that of a clean record
    stiffness: float = 3e-10  # of the hidden coordinate, which a clean record gives without smoothing
    first: Schedule = FIRST  # tight from the start: the proposal is nearly the equation
    # level is far above what a clean record can tell apart: a weak term stays unless a reheated refit drops it too
    refitting: Refitting = REFITTING
    most_terms: int = 45  # coefficients of the first fit: a larger library is fitted by anything
    hopeless: float = 1e3  # cost per sample of the first fit: the path does not follow the record
    far: float = 10.0  # cost per sample with all terms: three levels off, which fewer terms do not bring to a third
    reached: float = 0.1  # cost per sample of the selected fit: a third of level
    negligible_a: float = 1e-3  # of the largest term of a, which the crossing conditions give least exactly
    negligible_d: float = 1e-6  # of the largest term of D, stripped of what it does not need already
    negligible_p: float = 1e-9  # of the largest term of P: what rounding leaves


NULL_SPACE = NullSpaceSettings()
SETTINGS = ProposalSettings()


@dataclass(frozen=True, eq=False)
class Proposal:
    """A rational closure (dimensionless), the gap of its null space, the degrees (d_D, d_N) of its library, and the
    half-width of its test functions in samples."""

    closure: Closure
    gap: float
    degrees: tuple[int, int]
    half_width: int


def clean_jets(prepared: Prepared, order: int) -> Jets:
    """Dimensionless u0 … u_{order−1}, by interpolating splines of high degree."""
    parts = [
        smooth(prepared.y[piece], prepared.jets.spacing, NULL_SPACE.spline_degree, "interpolate").jets(order - 1)
        for piece in prepared.jets.pieces()
    ]
    return replace(prepared.jets, u=np.concatenate(parts))


def proposals(prepared: Prepared, order: int, degrees: tuple[tuple[int, int], ...] | None = None) -> Iterator[Proposal]:
    """Closures of this order whose library singles out one vector, from the smallest library on."""
    if not prepared.present.all():
        return
    jets = clean_jets(prepared, order)
    longest = max(jets.pieces(), key=lambda p: p.stop - p.start)
    margin = 2 * NULL_SPACE.spline_degree
    points = jets.u[longest.start + margin : longest.stop - margin]
    test = Window(max(6, round(NULL_SPACE.half_width / jets.spacing)), NULL_SPACE.exponent)
    if points.shape[0] < 4 * test.reach:
        return
    centres = place_windows(0, points.shape[0] - 1, NULL_SPACE.windows, test.reach)
    seen: set[tuple[tuple[Exponents, ...], tuple[Exponents, ...]]] = set()
    for d_degree, n_degree in degrees or DEGREES[order]:
        numerator, denominator = _libraries(order, d_degree, n_degree)
        if 4 * len(numerator) > centres.size:
            return
        system = weak_form(points, jets.spacing, denominator, numerator, centres, test)
        values = null_space(system).singular_values
        if d_degree and values[-2] < NULL_SPACE.min_gap * values[-1]:
            continue
        system = _stripped(system, float(values[-1]))
        space = null_space(system)
        gap = float(space.singular_values[-2] / max(space.singular_values[-1], 1e-300))
        kept = numerator.exponents, system.denominator.exponents
        if gap >= NULL_SPACE.min_gap and kept not in seen:  # a larger D, stripped, is often one that was there before
            seen.add(kept)
            closure = Closure(
                numerator.polynomial(solve_numerator(system, space.denominator)),
                system.denominator.polynomial(space.denominator),
                order,
            )
            yield Proposal(closure, gap, (d_degree, n_degree), test.half_width)


def _libraries(order: int, d_degree: int, n_degree: int) -> tuple[Library, Library]:
    """Monomials of N, at most quadratic in the last coordinate (linear from order 4 on), and of D."""
    highest = {2: n_degree, 3: 2}.get(order, 1)
    numerator = tuple(e for e in total_degree_exponents(order, n_degree) if e[-1] <= highest)
    variables = range(order - 1) if d_degree < 3 else range(min(2, order - 1))
    return Library(numerator, order), Library(tuple(total_degree_exponents(order, d_degree, variables)), order)


def _stripped(system: ClosureSystem, smallest: float) -> ClosureSystem:
    """The system without the monomials of D that its null vector does not need, the highest first."""
    for monomial in sorted(system.denominator.exponents, key=lambda e: -sum(e)):
        fewer = _without(system, monomial)
        if len(fewer.denominator) and null_space(fewer).singular_values[-1] < NULL_SPACE.looser * smallest:
            system = fewer
    return system


def _without(system: ClosureSystem, monomial: tuple[int, ...]) -> ClosureSystem:
    """The system without one monomial of D."""
    keep = [i for i, e in enumerate(system.denominator.exponents) if e != monomial]
    fewer = Library(tuple(system.denominator.exponents[i] for i in keep), system.denominator.n_variables)
    return replace(system, m_d=system.m_d[:, keep], denominator=fewer)


def substantial(polynomial: Polynomial, points: FloatArray, share: float) -> Polynomial:
    """The terms that reach ``share`` of the largest, by their rms over the points."""
    if not polynomial:
        return {}
    library = Library(tuple(polynomial), points.shape[1])
    rms = np.sqrt(np.mean(library.evaluate(points) ** 2, axis=0))
    sizes = {e: abs(polynomial[e]) * float(r) for e, r in zip(library.exponents, rms, strict=True)}
    return {e: c for e, c in polynomial.items() if sizes[e] > share * max(sizes.values())}


def start(proposal: Proposal, jets: Jets) -> tuple[Form, Start] | None:
    """The regular form of a proposal and where its fit begins.

    ``a`` and D come from the crossing conditions; P, on which those say little where N is inexact, from regression.
    """
    order = proposal.closure.order
    lower = jets.u[:, :-1]
    regular = regularise(proposal.closure, np.std(jets.u, axis=0)).regular
    if regular is None:
        return None
    regular = regular.canonical()
    d_degree, n_degree = proposal.degrees
    big_d = substantial(regular.D, lower, SETTINGS.negligible_d)
    if not any(any(e) for e in big_d):
        big_p = substantial(regular.P, jets.u, SETTINGS.negligible_p)
        one = (0,) * (order - 1)
        form = Form(order, (("a", ()), ("D", (one,)), ("P", tuple(big_p))))
        return form, Start(form.terms(RegularClosure({}, {one: 1.0}, big_p, order)), jets.u)
    lead = regular.lead
    a = {e: c for e, c in substantial(regular.a, lower, SETTINGS.negligible_a).items() if sum(e) <= n_degree - d_degree}
    hidden = tuple(e for e in hidden_library(order, n_degree) if e[-1] == 1 and sum(e) <= n_degree - d_degree)
    visible = tuple(e for e in hidden_library(order, 2) if e[-1] == 0)
    others = tuple(e for e in big_d if e != lead)
    form = Form(order, (("a", tuple(a)), ("D", (lead, *others)), ("P", (*visible, *hidden))))
    values = evaluate(big_d, lower)
    w = smooth_hidden(jets, values, jets.u[:, -1] - evaluate(a, lower), SETTINGS.stiffness)
    spread = float(np.std(w))
    if not 0.0 < spread < np.inf:
        return None
    states = np.column_stack([lower, w / spread])
    library = Library(form["P"], order)
    p = library.polynomial(regress_increments(jets, states, library))
    return form, Start(form.terms(RegularClosure(a, {e: c * spread for e, c in big_d.items()}, p, order)), states)


def starts(proposal: Proposal, jets: Jets) -> Iterator[tuple[Form, Start]]:
    """A proposal as every form that can be read off a rational closure, then as a regular closure."""
    for family in families():
        begun = family.from_rational(proposal.closure, jets) if family.from_rational else None
        if begun is not None:
            yield begun
    begun = start(proposal, jets)
    if begun is not None:
        yield begun


def fit_proposal(
    prepared: Prepared, proposal: Proposal, price: float, interrupt: Callable[[], bool]
) -> tuple[Form, Selection, Data] | None:
    """The joint fit of a proposal in the first form that follows the record, with its terms selected; else None."""
    jets = clean_jets(prepared, proposal.closure.order)
    fitted = (_fit(prepared, form, begun, price, interrupt) for form, begun in starts(proposal, jets))
    return next((fit for fit in fitted if fit is not None), None)


def _fit(
    prepared: Prepared, form: Form, begun: Start, price: float, interrupt: Callable[[], bool]
) -> tuple[Form, Selection, Data] | None:
    if int(begun.terms.free.sum()) > SETTINGS.most_terms:
        return None
    data = prepared.data(SETTINGS.level)
    with np.errstate(invalid="ignore", over="ignore"):  # a start that runs away is a value
        fit = anneal(data, begun.terms, begun.states[data.layout.first], SETTINGS.first, interrupt)
    if not fit.cost < SETTINGS.hopeless * data.n_samples:
        return None
    protected, most = form.protected(fit.terms), SETTINGS.far * data.n_samples
    selection = eliminate(data, fit.terms, fit, protected, price, interrupt, SETTINGS.refitting, most)
    return (form, selection, data) if selection.fit.cost < SETTINGS.reached * data.n_samples else None
