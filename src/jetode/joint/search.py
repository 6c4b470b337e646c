"""Which equation fits (docs/mathematics.md §4): the ladder of forms, each rung scanned, cooled and its terms selected.

Every candidate is a form with a guess of its factor.  They are scanned on a stretch of the record, the best are cooled
on all that is searched, their terms selected, and compared by BIC at one small q.  What forms there are, and in which
order, :mod:`jetode.joint.forms.registry` knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from jetode.joint.candidates import Found, Interrupt, Progress, by_bic, different, states_for
from jetode.joint.choose_terms import choose_terms
from jetode.joint.constraints import Constraints
from jetode.joint.elements.friction import ORDER as MECHANICS_ORDER
from jetode.joint.elements.friction import with_spring
from jetode.joint.elements.known import with_known
from jetode.joint.elements.naming import (
    NONE,
    Functions,
    asks_for_function,
    function_stands_out,
    imitates,
    search_elements,
)
from jetode.joint.elements.product import ORDER as PRODUCT_ORDER
from jetode.joint.elements.product import search_products
from jetode.joint.elements.search import names_a_function, search_functions
from jetode.joint.food_chain_search import search_food_chain
from jetode.joint.forms.base import Candidate
from jetode.joint.forms.pole_free import candidate as plain_candidate
from jetode.joint.forms.pole_free import whole_plane
from jetode.joint.forms.registry import Rung, ladder
from jetode.joint.interim import improved
from jetode.joint.null_space_proposals import Proposal, fit_proposal, proposals
from jetode.joint.parts import equation_of
from jetode.joint.problem import FAST_STEP, Prepared
from jetode.joint.progress import WithModel, renewed
from jetode.joint.scan import Problem, begun, cool, scan
from jetode.joint.search_settings import COOLING, DECISION, SCAN, SEARCH
from jetode.joint.shooting.annealing import anneal
from jetode.joint.unscanned import (
    beyond_doubt,
    compared_on,
    is_coarse,
    library_size,
    looks_fast,
    ranked,
    selected,
    term_price,
    unscanned,
)

FREE = Constraints()
CUBE = 3
NEARLY = 0.3  # of a fitted exponent: noise of 5 % moves it by 0.05, and no other whole odd number is near


def search(
    prepared: Prepared,
    order: int,
    interrupt: Interrupt,
    progress: Progress,
    constraints: Constraints = FREE,
    functions: Functions = NONE,
    repeats: bool = False,
) -> Found:
    """Climb the rungs; where the first does not satisfy, nor what needs no scan on the next, functions of one
    coordinate are tried (before both where the weak form shows a curve), then it gets a second chance on another
    stretch.  A polynomial that could imitate a function has to beat it.  Of a record that ``repeats`` itself all rungs
    come before any function: on a closed curve functions and polynomials are alike.  Functions that are known stand in
    the equation, and nothing is searched."""
    if functions.known:
        return _given(prepared, order, functions, interrupt)
    asked = not repeats and asks_for_function(prepared, order, functions)
    named = search_functions(prepared, order, functions, interrupt, progress) if asked else None
    if names_a_function(named):
        return _rather_cubes(named, prepared, order, interrupt)
    before, after = rungs = _rungs(order, repeats)
    in_short_steps = cache(partial(_in_short_steps, prepared, order, renewed(interrupt), progress))
    first = _polynomials(prepared, order, rungs, interrupt, progress, constraints, in_short_steps)
    if interrupt():
        return _likelier(named, first)
    if first.satisfies():
        return _beside(first, named) if asked else _challenged(first, prepared, order, functions, interrupt, progress)
    named = named if asked else search_functions(prepared, order, functions, interrupt, progress)
    if names_a_function(named):
        return _rather_cubes(named, prepared, order, interrupt)
    lawful = _with_friction(prepared, order, functions, interrupt, progress)
    first = lawful or _second_chance(prepared, order, before[0], first, interrupt, progress, constraints)
    if first.satisfies():
        return _beside(first, named)
    found = climb(prepared, order, after, interrupt, progress, constraints, first.candidates)
    if found.satisfies() or constraints != FREE:
        return _beside(found, named)
    return _last(prepared, order, functions, interrupt, progress, in_short_steps) or _likelier(named, found)


def _given(prepared: Prepared, order: int, functions: Functions, interrupt: Interrupt) -> Found:
    """The equation with functions that are known, or none."""
    given = with_known(compared_on(prepared, order, fine=True), order, functions.known, interrupt)
    return given or Found((), prepared.data(prepared.sigma), term_price(prepared.n_samples, library_size(order)))


def _rungs(order: int, repeats: bool) -> tuple[tuple[Rung, ...], tuple[Rung, ...]]:
    """The rungs before functions are tried, and those after: all of them before where a record repeats itself."""
    first = tuple(ladder(order))
    return (first, ()) if repeats else (first[:1], first[1:])


def _polynomials(
    prepared: Prepared,
    order: int,
    rungs: tuple[tuple[Rung, ...], tuple[Rung, ...]],
    interrupt: Interrupt,
    progress: Progress,
    constraints: Constraints,
    in_short_steps: Callable[[], Found | None],
) -> Found:
    """The first rung's result.  Where it does not satisfy, what needs no scan on the next, the cubic without a pole, if
    it leaves no doubt; then the first rung with usual steps, if the search takes coarse ones, in which spikes are lost;
    then what is too fast for these.  They take a second or two, and functions, which imitate cubes, can take all
    iterations that there are.  In the plane functions come first."""
    before, after = rungs
    first = climb(prepared, order, before, interrupt, progress, constraints)
    if order == MECHANICS_ORDER or not after or first.satisfies() or interrupt():
        return first
    progress(f"{after[0].name}: fitting what needs no scan")
    cubic = unscanned(compared_on(prepared, order), _candidates(after[0], False, prepared, constraints), interrupt)
    if beyond_doubt(cubic):
        return cubic
    if is_coarse(prepared, order):
        finer = climb(prepared, order, before, renewed(interrupt), progress, constraints, fine=True)
        if finer.satisfies():
            return finer
    found = in_short_steps() if constraints == FREE else None
    return found if found is not None and beyond_doubt(found) else first


def _last(
    prepared: Prepared,
    order: int,
    functions: Functions,
    interrupt: Interrupt,
    progress: Progress,
    in_short_steps: Callable[[], Found | None],
) -> Found | None:
    """What is tried where nothing else satisfies, if it does."""
    chain = search_food_chain(prepared, order, renewed(interrupt), progress)
    return chain or in_short_steps() or _of_product(prepared, order, functions, interrupt, progress)


def _likelier(named: Found | None, found: Found) -> Found:
    """Of two that do not satisfy: the function that follows the record where no polynomial does so with a lower BIC."""
    if named is None or (found.follows() and found.candidates[0].bic <= named.candidates[0].bic):
        return found
    return named


def _second_chance(
    prepared: Prepared,
    order: int,
    rung: Rung,
    first: Found,
    interrupt: Interrupt,
    progress: Progress,
    constraints: Constraints,
) -> Found:
    """The first rung on another stretch of the record; what satisfies there, fitted to this one, beside what was."""
    offset = min(SEARCH.length, SEARCH.second_chance * prepared.duration)
    if prepared.duration - offset <= SEARCH.shortest:
        return first
    other = prepared.without_head(round(offset / prepared.jets.spacing))
    second = climb(other, order, [rung], interrupt, progress, constraints)
    if not second.satisfies():
        return first
    again = transfer(prepared, first, second.candidates[0], interrupt)
    return replace(first, candidates=tuple(different(sorted([again, *first.candidates], key=by_bic))))


def _in_short_steps(prepared: Prepared, order: int, interrupt: Interrupt, progress: Progress) -> Found | None:
    """The quadratic without a pole, then the cubic, integrated in short steps where a first look says that it is fast,
    if one satisfies: what relaxes in less than the usual step is lost in it, or takes many terms.  A cubic that is not
    is integrated in usual ones, where the search takes coarse ones."""
    progress("no pole, short steps")
    usual = compared_on(prepared, order, fine=True)
    for degree in (2, 3):
        candidate = plain_candidate(order, degree)
        if interrupt():
            break
        if looks_fast(usual, candidate, interrupt):
            problem = compared_on(replace(prepared, step=FAST_STEP), order, fine=True)
            found = unscanned(problem, [candidate], interrupt, COOLING.reheats[0])
        elif degree == CUBE and is_coarse(prepared, order):
            found = unscanned(usual, [candidate], interrupt)
        else:
            continue
        if found.satisfies():
            return found
    return None


def _with_friction(
    prepared: Prepared, order: int, functions: Functions, interrupt: Interrupt, progress: Progress
) -> Found | None:
    """A spring with a friction law, where it satisfies."""
    if order != MECHANICS_ORDER or not functions.kinds or interrupt():
        return None
    progress("friction laws")
    found = with_spring(compared_on(prepared, order, fine=True), functions.kinds, interrupt)
    return found if found is not None and found.satisfies() else None


def _of_product(
    prepared: Prepared, order: int, functions: Functions, interrupt: Interrupt, progress: Progress
) -> Found | None:
    """An equation with a function of a product behind a pole, where nothing else satisfies: a look of a second, for
    which iterations are there whatever the rungs before it have used."""
    effort = renewed(interrupt)
    if order != PRODUCT_ORDER or effort():
        return None
    found = search_products(compared_on(prepared, order, fine=True), functions, effort, progress)
    return found if names_a_function(found) else None


def clean_functions(
    prepared: Prepared, order: int, functions: Functions, interrupt: Interrupt, progress: Progress
) -> Found | None:
    """The same for a clean record, where a curve leaves less than the noise that the search assumes."""
    assumed = replace(prepared, sigma=max(prepared.sigma, SEARCH.sigma))
    if not asks_for_function(assumed, order, functions):
        return None
    named = search_functions(prepared, order, functions, interrupt, progress)
    return named if names_a_function(named) else None


def _challenged(
    found: Found, prepared: Prepared, order: int, functions: Functions, interrupt: Interrupt, progress: Progress
) -> Found:
    """What satisfies, or an equation with a function that does so with a lower BIC; the other is its rival."""
    best = found.candidates[0]
    many = best.free > DECISION.sure_terms  # few do not imitate a curve
    if not (functions.kinds and (imitates(best) or (many and function_stands_out(prepared, order, functions)))):
        return found
    problem = compared_on(prepared, order, fine=True)
    named = search_elements(problem, order, functions, interrupt, progress, imitated=True)
    if names_a_function(named) and named.candidates[0].bic < best.bic:
        return _beside(named, found)
    return _beside(found, named)


def _rather_cubes(named: Found, prepared: Prepared, order: int, interrupt: Interrupt) -> Found:
    """An equation of the plane with a power that is nearly a cube, or the cubic polynomial where that is likelier; the
    other is its rival."""
    fit = named.candidates[0].fit
    elements = [placed.element for placed in equation_of(fit.terms).elements] if fit and order == 2 else []
    if not any(e.kind == "power" and abs(e.named["exponent"] - CUBE) < NEARLY for e in elements):
        return named
    cubes = _whole_plane(compared_on(prepared, order, fine=True), interrupt)
    return _beside(cubes, named) if _is_likelier(cubes, named) else _beside(named, cubes if cubes.candidates else None)


def _beside(best: Found, other: Found | None) -> Found:
    """The best with what another search has found as its rivals: functions beside a polynomial, or polynomials beside a
    function.  What follows the record with a BIC lower beyond doubt is the better one, though its terms be in doubt."""
    if other is None:
        return best
    if other.follows() and other.candidates[0].bic < best.candidates[0].bic - DECISION.min_exchange:
        best, other = other, best
    has = bool(best.candidates[0].form.elements)
    return replace(best, candidates=(*best.candidates, *(c for c in other.candidates if bool(c.form.elements) != has)))


def transfer(prepared: Prepared, found: Found, candidate: Candidate, interrupt: Interrupt) -> Candidate:
    """A candidate found on another stretch, its terms fitted to this one."""
    assert candidate.fit is not None
    terms = candidate.fit.terms
    start = states_for(prepared, equation_of(terms), found.data)
    fit = anneal(found.data, terms, start, COOLING.transfer, interrupt)
    return replace(candidate, fit=fit, bic=fit.cost + found.price * float(terms.free.sum()))


def climb(
    prepared: Prepared,
    order: int,
    rungs: Sequence[Rung],
    interrupt: Interrupt,
    progress: Progress,
    constraints: Constraints = FREE,
    before: tuple[Candidate, ...] = (),
    fine: bool = False,
) -> Found:
    """Some rungs, each scanned, cooled and its terms selected; ends where one satisfies."""
    problem = compared_on(prepared, order, fine)
    data, n = problem.data, problem.data.n_samples
    found = Found(before, data, problem.price)
    for rung in rungs:
        plain, candidates = (_candidates(rung, scanned, prepared, constraints) for scanned in (False, True))
        if interrupt() or found.satisfies():
            break
        progress(f"{rung.name}: fitting what needs no scan")
        plain = begun(problem, plain, interrupt)
        known = selected(problem, plain, interrupt)
        best = ranked(problem, [*found.candidates, *(c for _, c in known)])
        if not beyond_doubt(best):
            progress(f"{rung.name}: scanning {len(candidates)} candidates")
            scanned = scan(prepared, problem.sigma, candidates, interrupt, SCAN.carry_reach * problem.price)
            progress(f"{rung.name}: fitting the best on the record")
            chosen = list(found.candidates)
            for i, candidate in enumerate(cool(problem, scanned, plain, interrupt)):
                progress(WithModel(f"{rung.name}: eliminating terms"))
                # only a rung's best may fail to satisfy, and by much only the first rung's
                ceiling = n * (DECISION.satisfying(n) if i else DECISION.rich if found.candidates else np.inf)
                done = next((c for fit, c in known if fit is candidate.fit), None)
                chosen.append(done or choose_terms(data, candidate, problem.price, interrupt, ceiling))
                if interrupt():
                    break
            best = ranked(problem, chosen)
        found = best
        progress(improved(f"{rung.name}: the best so far", found, prepared))
    return _in_whole_plane(problem, found, interrupt)


def _in_whole_plane(problem: Problem, found: Found, interrupt: Interrupt) -> Found:
    """A plane's flow with a cube that satisfies, or the likelier one with powers of the velocity: on a closed curve
    x² v and the like can stand for v³."""
    best = found.candidates[0] if found.candidates else None
    if best is None or best.fit is None or best.form.order != 2 or best.form.has_pole or not found.satisfies():
        return found
    if max(map(sum, best.fit.terms.exponents)) < CUBE or any(max(e[1:]) > 1 for e in best.form["P"]):
        return found
    other = _whole_plane(problem, interrupt)
    return other if _is_likelier(other, found) else found


def _whole_plane(problem: Problem, interrupt: Interrupt) -> Found:
    """Every cubic term of the plane, selected; nothing where no path follows."""
    return unscanned(problem, [whole_plane()], interrupt)


def _is_likelier(other: Found, found: Found) -> bool:
    """Whether the best of another search satisfies with a lower BIC."""
    return bool(other.candidates) and other.candidates[0].bic < found.candidates[0].bic and other.satisfies()


def _candidates(rung: Rung, scanned: bool, prepared: Prepared, constraints: Constraints) -> list[Candidate]:
    """Candidates whose form can obey the constraints, with the prior that the record's distance from 0 asks for."""
    candidates = rung.candidates(prepared.jets, scanned)
    reach = max(1.0, abs(float(np.mean(prepared.jets.u[:, 0]))) / SEARCH.near)
    forms = [constraints.apply(c.form, prepared.amplitude, prepared.time) for c in candidates]
    allowed = [(c, f) for c, f in zip(candidates, forms, strict=True) if f is not None]
    return [replace(c, form=replace(f, reach=reach)) for c, f in allowed]


def propose(
    prepared: Prepared, order: int, interrupt: Interrupt, degrees: tuple[tuple[int, int], ...] | None = None
) -> Found | Proposal | None:
    """For a clean record: the closure that the null space singles out, fitted where it has a regular form that follows
    the record; the rational proposal itself where it has none but its gap leaves no doubt."""
    proposed = sorted(proposals(prepared, order, degrees), key=lambda p: -p.gap)[: SEARCH.proposed]
    price = term_price(prepared.n_samples, library_size(order))
    for proposal in proposed:
        fitted = fit_proposal(prepared, proposal, price, interrupt)
        if fitted is not None:
            form, selection, data = fitted
            guess = equation_of(selection.fit.terms).parts()["D"]
            candidate = Candidate(form, guess, fit=selection.fit, bic=selection.bic)
            return Found((candidate,), data, price)
    return proposed[0] if proposed and proposed[0].gap > SEARCH.certain_gap else None
