"""Friction laws of mechanics (docs/mathematics.md (8.13)): x'' = f(x) + g(v) with g of v, sign v, v |v| and v³.

A bearing, the air and a dashpot act at once, and over a narrow range of amplitudes each of them can stand for another:
so all are put beside f together, fitted jointly with the path, and what does not pay for itself is taken away again.
What is left of v in the equation before, x v and the like, is dropped: it may have stood for the law.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from jetode.equations.element_terms import PlacedElement
from jetode.equations.elements import Element, Shape
from jetode.equations.equation import Equation
from jetode.equations.polynomials import Exponents
from jetode.joint.candidates import Found, Interrupt, by_bic, by_cost
from jetode.joint.choose_terms import choose_terms
from jetode.joint.elements.candidates import linear_form
from jetode.joint.elements.fits import RENAMED, meant, settled
from jetode.joint.forms.base import Candidate, Form
from jetode.joint.forms.pole_free import PoleFree
from jetode.joint.parts import equation_of
from jetode.joint.problem import CLEAN_SIGMA, Prepared
from jetode.joint.scan import Problem
from jetode.joint.search_settings import COOLING, DECISION, SEARCH
from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.joint.shooting.gaussnewton import Fit
from jetode.joint.term_selection import COMPARE, Quadratic, quadratic_model
from jetode.support.arrays import BoolArray, FloatArray

ORDER, VELOCITY = 2, 1  # of mechanics, and the coordinate that friction is of
KINDS = ("sign", "drag")  # of friction that is no power of v
POWERS: tuple[Exponents, ...] = ((0, 1), (0, 3))  # and that is
SPRING: tuple[Exponents, ...] = ((0, 0), (1, 0), (2, 0), (3, 0))
PLACE = (0, 0)  # a law stands in the rate of v, times 1


@dataclass(frozen=True)
class FrictionSettings:
    """Numbers of the laws, each with its reason."""

    finest: float = 1e-3  # std: the least noise that laws are told at: integrated across a sign a path is no finer
    width: float = 0.05  # std: of a sign, as narrow as that of any other
    forces: int = 5  # of the search that laws are tried beside: without a law another name can be ahead
    near: float = 10.0  # of the cost, in terms: a force farther behind another cannot win by fewer terms
    selected: int = 2  # forces at most whose laws are selected: a second or two each
    less: float = 0.5  # of the cost: a law that leaves more is one term among others
    fall: float = 5.0  # terms' worth of cost that a law has to promise: less could be any term
    decided: float = 10.0  # of BIC: by less, a law with one function does as well
    doubt: float = 30.0  # of predicted BIC behind the best: a law that lies farther behind is not fitted


SETTINGS = FrictionSettings()
TIGHT = Schedule((*RENAMED.levels, COMPARE.levels[-1]), COMPARE.iterations)  # from the path of the equation without
LOOSE = Schedule(tuple(q for q in COOLING.schedule.levels if q >= TIGHT.levels[0]), COOLING.schedule.iterations)


@dataclass(frozen=True, eq=False)
class Mechanics:
    """The force f(x) of a fitted equation x'' = f(x) + …: its functions and powers of x, and the equation."""

    form: Form
    equation: Equation
    states: FloatArray

    @classmethod
    def of(cls, form: Form, fit: Fit) -> Mechanics | None:
        """None where an equation is not mechanics: of another order, with a pole, or with a function that is of no one
        coordinate or acts beyond the last row."""
        equation = equation_of(fit.terms)
        if form.order != ORDER or form.has_pole or form["a"] or form["f1"]:
            return None
        simple = all(e.element.partner is None and set(e.multipliers) == {1} for e in equation.elements)
        return cls(form, equation, fit.states) if simple else None

    @property
    def own(self) -> tuple[int, ...]:
        """The functions of x by number."""
        return tuple(m for m, one in enumerate(self.equation.elements) if one.element.variable != VELOCITY)

    @property
    def library(self) -> tuple[Exponents, ...]:
        """Powers: of x what the equation has and its linear terms, of v those of the law."""
        force = dict.fromkeys(((0, 0), (1, 0), *(e for e in self.equation.parts()["P"] if not e[1])))
        return (*force, *POWERS)

    def friction(self, kinds: Sequence[str]) -> tuple[Element, ...]:
        """Functions of v of these kinds."""
        width = SETTINGS.width * float(np.std(self.states[:, VELOCITY]))
        return tuple(Element(kind, VELOCITY, (width,) if kind == "sign" else ()) for kind in kinds)

    def with_law(self, kinds: Sequence[str]) -> tuple[Form, Equation]:
        """The form with every power and functions of v of these kinds, and the equation with those at 0."""
        placed = [self.equation.elements[m] for m in self.own]
        form = linear_form(ORDER).with_parts(P=self.library)
        held = [((f"e{self.own.index(m)}", e), c) for (part, e), c in self.form.fixed
                for m in self.own if part == f"e{m}"]  # fmt: skip
        for one in placed:
            form = form.with_element(one.element, "P")
        for element in self.friction(kinds):
            held += [((f"e{len(form.elements)}", (i,)), p) for i, p in enumerate(element.parameters)]
            form = form.with_element(element, "P")
            before = [e for e in self.equation.elements if e.element.kind == element.kind and e.element.variable]
            gain = before[0].in_row(1).get(PLACE, 0.0) if before else 0.0
            placed.append(PlacedElement(element, {1: {PLACE: gain}}))
        equation = self.equation.with_rows(self.equation.rows, tuple(placed))
        return replace(form, fixed=tuple(held)), equation


def with_spring(problem: Problem, kinds: Sequence[str], interrupt: Interrupt) -> Found | None:
    """A spring, whose force is a cubic polynomial, with friction laws; None where no path follows."""
    data = problem.data
    spring = Candidate(PoleFree(ORDER, (("a", ()), ("D", ((0,),)), ("P", (*SPRING, (0, 1))))), {(0,): 1.0})
    start = spring.start(problem.prepared.jets.head(data.y.size))
    fit = anneal(data, start.terms, start.states[data.layout.first], LOOSE, interrupt)
    laws = friction_laws(problem, [replace(spring, fit=fit)], kinds, interrupt, DECISION.rich)
    found = Found(tuple(laws), data, problem.price)
    return found if found.follows() else None


def at_own_noise(prepared: Prepared, found: Found, kinds: Sequence[str], interrupt: Interrupt) -> Found:
    """What the search has found, which trusts no sample beyond its own level of noise; or, where the record is less
    noisy and shows another friction law, the equations with laws, if the best follows it or leaves far less of it."""
    sigma, before = max(prepared.sigma, SETTINGS.finest), found.candidates[: SETTINGS.forces]
    if not before or before[0].fit is None or sigma >= SEARCH.sigma or interrupt():
        return found
    data = prepared.data(max(sigma, CLEAN_SIGMA), found.data.y.size)
    data = replace(data, weight=prepared.present[: data.y.size] / sigma**2)
    laws = friction_laws(Problem(prepared, sigma, data, found.price), before, kinds, interrupt)
    lawful = Found(tuple(laws), data, found.price)
    if not laws or _law(laws[0]) == _law(before[0]):
        return found
    if lawful.follows():
        return lawful
    without = anneal(data, before[0].fit.terms, before[0].fit.states, TIGHT, interrupt)
    return lawful if laws[0].cost < SETTINGS.less * without.cost else found


def law_of(elements: Iterable[Shape]) -> tuple[str, ...]:
    """The kinds of friction among the functions of a plane's flow."""
    return tuple(one.kind for one in elements if one.kind in KINDS and one.coordinates == (VELOCITY,))


def is_decided(laws: Sequence[Candidate]) -> bool:
    """Whether the best of these laws has both functions of v, and those with fewer are far behind it."""
    best, *others = laws
    fewer = [c.bic for c in others if len(_law(c)) < len(_law(best))]
    return len(_law(best)) == len(KINDS) and min(fewer, default=np.inf) > best.bic + SETTINGS.decided


def _law(candidate: Candidate) -> tuple[str, ...]:
    return law_of(e.shape for e in candidate.form.elements)


def beside_force(form: Form, fit: Fit, kinds: Sequence[str]) -> tuple[Form, Equation] | None:
    """A fitted equation of mechanics with a law of these kinds in place of its own, at first without effect, and no
    other terms of x than it has; None where it is not mechanics or has no function of x."""
    start = Mechanics.of(form, fit)
    if start is None or not start.own:
        return None
    lawful, equation = start.with_law(kinds)
    return lawful.with_parts(P=(*(e for e in form["P"] if not e[1]), *POWERS)), equation


def friction_laws(
    problem: Problem, before: Iterable[Candidate], kinds: Sequence[str], interrupt: Interrupt, most: float = np.inf
) -> list[Candidate]:
    """Friction laws of these kinds beside those of some forces with which all of them together follow the record best,
    their terms selected, by BIC; none where nothing is mechanics, where no law promises to lower the cost, or where all
    of them leave more than ``most`` per sample."""
    tried = (with_every_law(problem, one, kinds, interrupt, most) for one in before)
    every = [one for one in tried if one is not None]
    ranked = sorted(every, key=by_cost)
    near = [c for c in ranked if c.cost < ranked[0].cost + SETTINGS.near * problem.price][: SETTINGS.selected]
    return sorted((law for one in near for law in _selected(problem, one, interrupt)), key=by_bic)


def with_every_law(
    problem: Problem, before: Candidate, kinds: Sequence[str], interrupt: Interrupt, most: float
) -> Candidate | None:
    """A fitted equation of mechanics with all terms of the law; None where it is not mechanics, where the law does not
    promise to lower the cost (score test of the joint fit), or where no path follows."""
    allowed = tuple(kind for kind in KINDS if kind in kinds)
    start = None if before.fit is None or not allowed else Mechanics.of(before.form, before.fit)
    if start is None or before.fit is None or not np.isfinite(before.cost) or interrupt():
        return None
    form, equation = start.with_law(allowed)
    terms, data = form.terms(equation), problem.data
    at = replace(before.fit, terms=terms, q=min(before.fit.q, TIGHT.levels[-2]))
    model = quadratic_model(data, terms, at)
    if model is None or not _promises(problem, model, terms.coefficients[terms.free] != 0.0):
        return None
    fit = anneal(data, terms, before.fit.states, TIGHT, interrupt, ceiling=most * data.n_samples)
    return Candidate(form, before.guess, fit=fit) if np.isfinite(fit.cost) else None


def _promises(problem: Problem, model: Quadratic, present: BoolArray) -> bool:
    """Whether the law lowers the predicted cost by more than any term would."""
    return model.restricted_cost(present) > SETTINGS.fall * problem.price


def _selected(problem: Problem, every: Candidate, interrupt: Interrupt) -> Iterator[Candidate]:
    """Every set of functions of v of an equation that has all of them, with its terms selected: those that the
    quadratic model of the cost does not put far behind the best."""
    assert every.fit is not None
    fit, form = every.fit, every.form
    model = quadratic_model(problem.data, fit.terms, fit)
    if model is None:
        return
    mechanics = Mechanics.of(form, fit)
    assert mechanics is not None
    kinds = [e.kind for e in form.elements if e.variable == VELOCITY]
    chosen = [c for size in range(len(kinds) + 1) for c in combinations(kinds, size)]
    predicted = [_predicted(model, every, c, problem.price) for c in chosen]
    for law, bic in sorted(zip(chosen, predicted, strict=True), key=lambda p: p[1]):
        if bic > min(predicted) + SETTINGS.doubt or interrupt():
            break
        yield from _with_terms(problem, replace(every, form=mechanics.with_law(law)[0]), mechanics, law, interrupt)


def _with_terms(
    problem: Problem, every: Candidate, mechanics: Mechanics, law: Sequence[str], interrupt: Interrupt
) -> Iterator[Candidate]:
    """A form with some functions of v, its terms selected; nothing where no path follows."""
    trial = anneal(problem.data, every.form.terms(mechanics.with_law(law)[1]), mechanics.states, TIGHT, interrupt)
    if np.isfinite(trial.cost):
        found = choose_terms(problem.data, replace(every, fit=trial), problem.price, interrupt)
        found = settled(problem, found, interrupt) if law else found
        if found.fit is not None and np.isfinite(found.bic) and meant(found.fit):
            yield found


def _predicted(model: Quadratic, every: Candidate, law: Sequence[str], price: float) -> float:
    """The lowest BIC that the quadratic model promises an equation with functions of v of these kinds only."""
    assert every.fit is not None
    terms, form = every.fit.terms, every.form
    n = terms.dimension
    dropped = {m for m, e in enumerate(form.elements) if e.variable == VELOCITY and e.kind not in law}
    gone = np.array([any(k and m in dropped for m, k in enumerate(e[n:])) for e in terms.exponents])[terms.free]
    protected = form.protected(terms)[terms.free]
    keep = model.best_support(~gone, protected | gone, price)
    return model.restricted_cost(keep) + price * float(keep.sum())
