"""The search for good settings (docs/mathematics.md §7.4): every memory and degree by one step, then Gauss–Newton
passes over longer and longer rollouts for those that forecast farthest so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from jetode.equations.polynomials import Exponents
from jetode.memory.candidates import Candidate, Memory, build, candidate, library_of
from jetode.memory.closure import MemoryClosure
from jetode.memory.gauss_newton import linearised
from jetode.memory.ground import Ground
from jetode.memory.regression import Gram, every, one_step
from jetode.memory.settings import MemorySettings
from jetode.support.arrays import FloatArray


def search(
    ground: Ground, truth: FloatArray, settings: MemorySettings, interrupt: Callable[[], bool]
) -> list[Candidate]:
    """All candidates that were scored."""
    found: list[Candidate] = []
    leading: list[Candidate] = []  # the best ridge of each memory and set of monomials
    for q, theta in settings.memories:
        if interrupt():
            return found
        memory = build(ground, q, theta, settings)
        if memory is None:
            continue
        gram = first_gram(memory, settings)
        for monomials in libraries(memory):
            tried = _ridges(memory, monomials, (), dict.fromkeys(memory.folds, gram), 0.0, truth, settings)
            found += tried
            leading += tried[:1]
    for length, keep in zip(settings.lengths, settings.kept, strict=True):
        leading.sort(key=lambda c: -c.score)
        passed: list[Candidate] = []
        for base in leading[:keep]:
            if interrupt():
                return found
            if base.score >= settings.hopeless * leading[0].score:
                memory = base.memory
                grams = {f: next_gram(memory, base.without(f), length, settings, f) for f in memory.folds}
                tried = _ridges(memory, base.exponents, base.recipe, grams, length, truth, settings)
                found += tried
                passed += tried[:1]
        leading = passed
    return found


def libraries(memory: Memory) -> Iterator[tuple[Exponents, ...]]:
    """Sets of monomials for P: all up to each degree, and the odd ones, for systems that a change of sign leaves."""
    exponents = library_of(memory).exponents
    for degree in range(1, memory.degree + 1):
        yield tuple(e for e in exponents if sum(e) <= degree)
        if degree % 2 and degree > 1:
            yield tuple(e for e in exponents if sum(e) <= degree and sum(e) % 2)


def first_gram(memory: Memory, settings: MemorySettings) -> Gram:
    """Of one step."""
    stride = every(memory.stretches, settings.rows, 1)
    return one_step(memory.stretches, library_of(memory), memory.ground.step, stride)


def next_gram(
    memory: Memory, closure: MemoryClosure, length: float, settings: MemorySettings, fold: int | None = None
) -> Gram:
    """Of rollouts over ``length`` oscillations about a closure."""
    ground = memory.ground
    points = max(2, round(length / ground.step))
    stride = max(points // 2, every(memory.stretches, settings.rollouts, ground.clock.division))
    return linearised(memory.stretches, closure, ground.step, points, stride, fold)


def _ridges(
    memory: Memory,
    monomials: tuple[Exponents, ...],
    before: tuple[tuple[float, float], ...],
    grams: Mapping[int, Gram],
    length: float,
    truth: FloatArray,
    settings: MemorySettings,
) -> list[Candidate]:
    """The candidates of every ridge, best first; a Gram matrix of one step has the fold in it."""
    chosen = next(iter(grams.values())).chosen(frozenset(monomials))
    tried = []
    for ridge in settings.ridges:
        coefficients = {f: gram.solve(chosen, ridge, None if length else f) for f, gram in grams.items()}
        tried.append(candidate(memory, monomials, (*before, (length, ridge)), coefficients, truth, settings))
    return sorted((c for c in tried if c is not None), key=lambda c: -c.score)


def complete(found: Candidate, settings: MemorySettings) -> MemoryClosure:
    """The closure of a candidate's recipe with nothing left out."""
    closure = replace(found.memory.template, exponents=found.exponents, score=found.score)
    settings = replace(settings, rollouts=settings.final)
    for length, ridge in found.recipe:
        gram = next_gram(found.memory, closure, length, settings) if length else first_gram(found.memory, settings)
        coefficients = gram.solve(gram.chosen(frozenset(found.exponents)), ridge)
        closure = replace(closure, coefficients=coefficients)
    return closure
