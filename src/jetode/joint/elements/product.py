"""A function of a product behind a pole (docs/mathematics.md (8.11)): where the record suggests one, and its fit.

YuWang's systems have exp(x y) or cosh(x y) in the rate of z and x z in that of y.  Seen in x, where y is a combination
of x and x', that is

    x_0' = α x_0 + x_1,    x_1' = a_0 + a_1 x_1 + (x_0 − p) w,    w' = c + c_w w + b f(x_0 x_1; k).

A guess of p gives s = α + a_1, the slope of the collapse curve, and w up to a constant, whatever α is (8.12); then the
last row is a regression on increments of w in which only the argument's α and k are not linear.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar

from jetode.equations.curve_basis import basis
from jetode.equations.element_terms import PlacedElement
from jetode.equations.elements import Element, kind_of
from jetode.equations.equation import Equation
from jetode.equations.polynomials import Library, evaluate
from jetode.equations.regular import equation_of_rows
from jetode.equations.rows import Coupled, Rows
from jetode.joint.candidates import Found, Interrupt, Progress, by_bic, states_for
from jetode.joint.elements.candidates import candidate_of, weak_solution
from jetode.joint.elements.discover import DISCOVERY, Look, Suggestion, bic_of
from jetode.joint.elements.fits import CLOSE, Fits, Named, fit_of, meant
from jetode.joint.elements.likeness import other_names
from jetode.joint.elements.naming import Functions
from jetode.joint.elements.weak_form import PLACES, Argument, Projection, shared
from jetode.joint.forms.affine_pole import GRID, affine_pole, pole_quantiles
from jetode.joint.forms.base import Candidate, hidden_library
from jetode.joint.forms.starts import collapse_curve, smooth_hidden
from jetode.joint.jets import Jets
from jetode.joint.parts import equation_of
from jetode.joint.parts import named as named_terms
from jetode.joint.scan import Problem
from jetode.joint.search_settings import COOLING, DECISION
from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.support.arrays import FloatArray

ORDER = 3
FEWEST_WINDOWS = 50
ANEW = Schedule((1.0, 0.3, 0.1, 0.03, 0.01, *CLOSE.levels[:2]), 6)  # a path alone, from the smoothed record
ONWARD = Schedule(CLOSE.levels[1:], CLOSE.iterations)  # from there with the coefficients


@dataclass(frozen=True)
class ProductSettings:
    """Numbers of the search, each with its reason."""

    window: float = 1.0  # tc over which increments are taken: shorter ones are noise, longer ones blur what bends
    overlap: int = 4  # windows that share a sample: more repeat what the others say
    evaluations: int = 10  # of the pole between two quantiles: to a percent, the joint fit does the rest
    most: float = 0.4  # of the increments of w that a curve may leave: 0.2 is noise where the record has 15 % of it
    alike: float = 1.25  # of what the best function leaves: smoothing blurs all of them, and ranks say little
    plain: int = 1  # parameters of those that are all fitted, a second each, since they can win by BIC
    tried: int = 4  # of the others, where none of these satisfies: the first that follows may be an imitation


SETTINGS = ProductSettings()


@dataclass(frozen=True, eq=False)
class Behind:
    """w behind a pole u0 = p at every sample, from the collapse curve u2 = constant + slope u1 there."""

    jets: Jets
    p: float
    constant: float
    slope: float
    w: FloatArray

    @classmethod
    def of(cls, jets: Jets, p: float) -> Behind:
        """w from u2 = a + (u0 − p) w."""
        lower, big_d = jets.u[:, : ORDER - 1], jets.u[:, 0] - p
        a, _ = collapse_curve(jets, big_d, affine_pole(ORDER, 0, (), 1, 1))
        w = smooth_hidden(jets, big_d, jets.u[:, ORDER - 1] - evaluate(a, lower))
        return cls(jets, p, a.get((0, 0), 0.0), a.get((0, 1), 0.0), w)

    @property
    def argument(self) -> FloatArray:
        """x_0 x_1 = u0 (u1 − s u0), a_1 = 0 as the simplest way to share s."""
        return np.asarray(self.jets.u[:, 0] * (self.jets.u[:, 1] - self.slope * self.jets.u[:, 0]))

    # -- the regression (8.12) -----------------------------------------------------------------------------

    def integrals(self, columns: FloatArray) -> FloatArray:
        """∫ · dt of every column over every window (trapezoid)."""
        out = []
        for inner, firsts in self._windows():
            middle = 0.5 * (columns[inner][1:] + columns[inner][:-1]) * self.jets.spacing
            total = np.vstack([np.zeros(columns.shape[1]), np.cumsum(middle, axis=0)])
            out.append(total[firsts + self._step] - total[firsts])
        return np.vstack(out)

    def increments(self) -> FloatArray:
        """Of w over every window."""
        return np.concatenate([self.w[i][k + self._step] - self.w[i][k] for i, k in self._windows()])

    def base(self) -> Projection:
        """On 1 and w, which stand beside every function."""
        return Projection.of(self.integrals(np.column_stack([np.ones_like(self.w), self.w])), self.increments())

    @property
    def _step(self) -> int:
        return max(1, round(SETTINGS.window / self.jets.spacing))

    @property
    def has_windows(self) -> bool:
        """Whether there are more windows than the columns of any regression."""
        return sum(firsts.size for _, firsts in self._windows()) > FEWEST_WINDOWS

    def _windows(self) -> Iterator[tuple[slice, FloatArray]]:
        """The inner part of every record, and where windows begin in it."""
        for piece in self.jets.pieces():
            inner = slice(piece.start + self.jets.trim, piece.stop - self.jets.trim)
            length = inner.stop - inner.start
            if length > self._step:
                yield inner, np.arange(0, length - self._step, max(1, self._step // SETTINGS.overlap))

    # -- what it leaves ------------------------------------------------------------------------------------

    def curve(self) -> float:
        """The share of the increments that a free curve (8.4) of the product leaves."""
        base, v = self.base(), self.argument
        modes = np.column_stack([basis((v - v.min()) / np.ptp(v))[:, : DISCOVERY.modes], v])
        return self._share(Projection.of(base.without(self.integrals(modes)), base.target))

    def quadratic(self) -> float:
        """The share that the quadratic polynomial of a form with a pole leaves."""
        states = np.column_stack([self.jets.u[:, : ORDER - 1], self.w / np.std(self.w)])
        columns = Library(hidden_library(ORDER, 2), ORDER).evaluate(states)
        return self._share(Projection.of(self.integrals(columns), self.increments()))

    def _share(self, left: Projection) -> float:
        total = self.increments()
        return float(left.target @ left.target) / float(total @ total)

    # -- functions -----------------------------------------------------------------------------------------

    def suggestions(self, kinds: Sequence[str]) -> list[Suggestion]:
        """Functions of the product with their best parameters, those that leave least first."""
        base, v = self.base(), self.argument
        places = np.linspace(float(v.min()), float(v.max()), PLACES)
        operator = self.integrals(np.asarray(shared(v, places).todense()))
        look = Look.of(Argument(0, v, places, (operator,)), base, 1)
        total, rows = float(self.increments() @ self.increments()), self.increments().size
        out = []
        for kind in kinds:
            best = look.best(kind, [guess for _, guess in look.ranked(kind)[: DISCOVERY.refined]])
            if best is not None:
                element = Element(kind, 0, best[0].parameters, 1)
                bic = bic_of(best[1], rows, 3 + len(element.parameters))
                out.append(Suggestion(ORDER, (element,), False, bic, best[1] / total))
        return sorted(out, key=lambda s: s.bic)

    def equation(self, element: Element) -> Equation:
        """The equation with a function, its last row by the regression; hidden coordinates at unit spread."""
        values = element(self.argument)
        columns = self.integrals(np.column_stack([np.ones_like(self.w), self.w, values]))
        constant, own, gain = weak_solution(columns, self.increments()).tolist()
        rows: Rows = (
            Coupled({(1,): self.slope}, {(0,): 1.0}),
            Coupled({(0, 0): self.constant}, {(1, 0): 1.0, (0, 0): -self.p}),
            {(0, 0, 0): constant, (0, 0, 1): own},
        )
        found = equation_of_rows(rows, (PlacedElement(element, {ORDER - 1: {(0, 0, 0): gain}}),))
        spread = float(np.std(self.jets.u[:, 1] - self.slope * self.jets.u[:, 0]))
        return found.changed(1, 1.0 / spread, {}).changed(ORDER - 1, 1.0 / float(np.std(self.w)), {})


def likeliest(jets: Jets) -> Behind | None:
    """Behind the pole with which a free curve of the product leaves least: one of the quantiles, improved.  None where
    no record is as long as a few windows."""
    poles = pole_quantiles(jets.u[:, 0], GRID.along_u0)
    if not Behind.of(jets, float(poles[0])).has_windows:
        return None
    lefts = [Behind.of(jets, float(p)).curve() for p in poles]
    i = int(np.argmin(lefts))
    ends = float(poles[max(i - 1, 0)]), float(poles[min(i + 1, poles.size - 1)])
    options = {"maxiter": SETTINGS.evaluations}
    best = minimize_scalar(lambda p: Behind.of(jets, p).curve(), bounds=ends, method="bounded", options=options)
    return Behind.of(jets, float(best.x) if best.fun < lefts[i] else float(poles[i]))


def search_products(problem: Problem, functions: Functions, interrupt: Interrupt, progress: Progress) -> Found | None:
    """Equations with a function of a product that follow the record, best first.  None where there is none, or where a
    free curve of the product leaves much, or more than the quadratic polynomial does, which has more coefficients."""
    jets = problem.prepared.jets
    if interrupt() or not functions.spread or not functions.kinds:
        return None
    progress("functions of a product behind a pole")
    behind = likeliest(jets)
    if behind is None or behind.curve() > min(behind.quadratic(), SETTINGS.most):
        return None
    fits = Fits(problem, functions.kinds, interrupt, CLOSE, hasty=False)
    found, fitted = Found((), problem.data, problem.price), list[Named]()
    for suggestions in _plainest(behind.suggestions(functions.kinds)):
        if found.satisfies() or interrupt():
            break
        fitted += [one for suggestion in suggestions for one in _fitted(problem, behind, suggestion, interrupt)]
        found = _compared(fits, fitted)
    return found if found.follows() else None


def _compared(fits: Fits, fitted: list[Named]) -> Found:
    """These and the names that are like the best of them, by BIC."""
    named = [one for one in fits.with_other_names(fitted) if meant(fit_of(one[0]))]
    chosen = fits.selected(named)
    if not chosen:
        return fits.found([])
    problem, interrupt = fits.problem, fits.interrupt
    best = min((c for c, _ in chosen), key=by_bic)
    alike = [(with_terms_of(problem, c, best, interrupt), s) for c, s in chosen]
    alike += renamed(problem, min(alike, key=lambda one: one[0].bic), fits.kinds, [s for _, s in chosen], interrupt)
    return fits.found([(centred(problem, c, interrupt), s) for c, s in alike])


def _plainest(suggestions: Sequence[Suggestion]) -> tuple[list[Suggestion], list[Suggestion]]:
    """Those that leave about as little as the best: the plain ones, and the first others."""
    most = SETTINGS.alike * min((s.left for s in suggestions), default=0.0)
    ranked = sorted((s for s in suggestions if s.left <= most), key=lambda s: s.left)
    plain = [s for s in ranked if len(s.elements[0].parameters) <= SETTINGS.plain]
    return plain, [s for s in ranked if s not in plain][: SETTINGS.tried]


def _fitted(problem: Problem, behind: Behind, suggestion: Suggestion, interrupt: Interrupt) -> list[Named]:
    """The joint fit of a suggestion, where it is not grossly wrong.  Its coefficients come out well before its path,
    which in a noisy record has taken a wrong turn somewhere: that begins anew with the coefficients held, and both go
    on from there without ever being loose again."""
    data, candidate, equation = problem.data, candidate_of(suggestion), behind.equation(suggestion.elements[0])
    gross = DECISION.gross * data.n_samples
    begun = states_for(problem.prepared, equation, data)
    rough = anneal(data, candidate.form.terms(equation), begun, COOLING.schedule, interrupt)
    if not rough.cost <= gross:
        return []
    held = replace(rough.terms, free=np.zeros_like(rough.terms.free))
    anew = states_for(problem.prepared, equation_of(rough.terms), data)
    path = anneal(data, held, anew, ANEW, interrupt, rescale=False, ceiling=gross)
    if not np.isfinite(path.cost):
        return []
    fit = anneal(data, rough.terms, path.states, ONWARD, interrupt, ceiling=gross)
    return [(replace(candidate, fit=fit), suggestion)] if np.isfinite(fit.cost) else []


def with_terms_of(problem: Problem, candidate: Candidate, best: Candidate, interrupt: Interrupt) -> Candidate:
    """A function with the terms that another one has beside it, where they do (BIC): the selection of its own may have
    stuck, and names are compared by what tells them apart."""
    fit, wanted = fit_of(candidate), set(named_terms(fit_of(best).terms))
    keep = np.array([p or t in wanted for p, t in zip(fit.terms.is_parameter, named_terms(fit.terms), strict=True)])
    if keep.all() or candidate is best or interrupt():
        return candidate
    return _cheaper(problem, candidate, replace(candidate, fit=replace(fit, terms=fit.terms.select(keep))), interrupt)


def renamed(
    problem: Problem, best: Named, kinds: Sequence[str], done: Sequence[Suggestion], interrupt: Interrupt
) -> list[Named]:
    """Plain functions that no path was found for, in the place of the best one's with its terms and path: they can win
    or cast doubt, and are lost where anything is loose."""
    candidate, suggestion = best
    fit, names, out = fit_of(candidate), {s.functions for s in done}, list[Named]()
    wanted = set(named_terms(fit.terms))
    plain = [kind for kind in kinds if len(kind_of(kind).parameters) <= SETTINGS.plain]
    for other, terms, states in other_names(fit, suggestion, plain):
        kept = terms.select(np.array([t in wanted for t in named_terms(terms)]))
        if other.functions in names or interrupt():
            continue
        found = anneal(problem.data, kept, states, ONWARD, interrupt, ceiling=DECISION.selectable * fit.cost)
        if np.isfinite(found.cost) and meant(found):
            bic = found.cost + problem.price * float(found.terms.free.sum())
            out.append((replace(candidate_of(other), fit=found, bic=bic), other))
    return out


def _cheaper(problem: Problem, before: Candidate, other: Candidate, interrupt: Interrupt) -> Candidate:
    """Of a candidate and another with other terms or a narrower form at the same place the likelier (BIC), fitted."""
    again = anneal(problem.data, fit_of(other).terms, fit_of(other).states, CLOSE, interrupt)
    bic = again.cost + problem.price * float(again.terms.free.sum())
    return replace(other, fit=again, bic=bic) if bic < before.bic else before


def centred(problem: Problem, candidate: Candidate, interrupt: Interrupt) -> Candidate:
    """The pole at 0 where the record cannot tell it from 0 (BIC), before names are compared: a wrong one may need it
    elsewhere."""
    form = replace(candidate.form, fixed=(*candidate.form.fixed, (("D", (0, 0)), 0.0)))
    fit = fit_of(candidate)
    terms = form.terms(equation_of(fit.terms))
    kept = terms.select(np.array([term in set(named_terms(fit.terms)) for term in named_terms(terms)]))
    return _cheaper(problem, candidate, replace(candidate, form=form, fit=replace(fit, terms=kept)), interrupt)
