"""The search for good settings (docs/mathematics.md §7.4): every memory and degree by one step, Gauss–Newton passes
over longer and longer rollouts for those that forecast farthest so far, then the same for neighbours of the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from jetode.equations.polynomials import Exponents
from jetode.memory.candidates import Candidate, Memory, build, candidates, library_of
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
    seek = Search(ground, truth, settings, interrupt)
    memories = [build(ground, q, theta, settings) for q, theta in settings.memories]
    found = seek.along([(m, libraries(m)) for m in memories if m is not None], settings.kept)
    tried = set(settings.memories)
    for _ in range(settings.rounds):
        if not found or interrupt():
            break
        best = max(found, key=lambda c: c.score)
        beside = [s for s in neighbours(best, settings) if s not in tried]
        tried |= set(beside)
        near = [build(ground, q, theta, settings, max(map(sum, best.exponents))) for q, theta in beside]
        alike = [(m, [like(best, m)]) for m in near if m is not None]
        found += seek.along(alike, (len(alike),) * len(settings.lengths))
    return found


@dataclass(frozen=True, eq=False)
class Search:
    """What every step of the search is given."""

    ground: Ground
    truth: FloatArray
    settings: MemorySettings
    interrupt: Callable[[], bool]

    def along(
        self, memories: Sequence[tuple[Memory, Iterable[tuple[Exponents, ...]]]], kept: Sequence[int]
    ) -> list[Candidate]:
        """Candidates of sets of monomials in memories: by one step, then by passes for the ``kept`` best of each."""
        settings = self.settings
        found: list[Candidate] = []
        leading: list[Candidate] = []  # the best ridge of each memory and set of monomials
        for memory, sets in memories:
            if self.interrupt():
                return found
            gram = first_gram(memory, settings)
            for monomials in sets:
                tried = self.ridges(memory, monomials, (), dict.fromkeys(memory.folds, gram), 0.0)
                found += tried
                leading += tried[:1]
        for length, keep in zip(settings.lengths, kept, strict=True):
            leading.sort(key=lambda c: -c.score)
            passed: list[Candidate] = []
            for base in leading[:keep]:
                if self.interrupt():
                    return found
                if base.score >= settings.hopeless * leading[0].score:
                    memory = base.memory
                    grams = {f: next_gram(memory, base.without(f), length, settings, f) for f in memory.folds}
                    tried = self.ridges(memory, base.exponents, base.recipe, grams, length)
                    found += tried
                    passed += tried[:1]
            leading = passed
        return found

    def ridges(
        self,
        memory: Memory,
        monomials: tuple[Exponents, ...],
        before: tuple[tuple[float, float], ...],
        grams: Mapping[int, Gram],
        length: float,
    ) -> list[Candidate]:
        """The candidates of every ridge, best first; a Gram matrix of one step has the fold in it."""
        chosen = next(iter(grams.values())).chosen(frozenset(monomials))
        ridges = self.settings.ridges if length else self.settings.first_ridges
        recipes = [(*before, (length, ridge)) for ridge in ridges]
        solved = {f: gram.solutions(chosen, ridges, None if length else f) for f, gram in grams.items()}
        coefficients = [{f: of_fold[i] for f, of_fold in solved.items()} for i in range(len(ridges))]
        tried = candidates(memory, monomials, recipes, coefficients, self.truth, self.settings)
        return sorted(tried, key=lambda c: -c.score)


def neighbours(best: Candidate, settings: MemorySettings) -> list[tuple[int, float]]:
    """Memories beside a good one: shorter, longer, and with one coefficient less or more in as much more time."""
    template = best.memory.template
    q, theta = template.q, template.theta / template.period
    beside = [(q, theta / settings.beside), (q, theta * settings.beside)]
    beside += [(n, theta * n / q) for n in (q - 1, q + 1) if n > 1]
    return [(n, round(span, 3)) for n, span in beside]


def like(best: Candidate, memory: Memory) -> tuple[Exponents, ...]:
    """The monomials of a memory that a candidate has in its own: the same degrees, all or the odd ones."""
    degrees = {sum(e) for e in best.exponents}
    return tuple(e for e in library_of(memory).exponents if sum(e) in degrees)


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


def complete(found: Candidate, settings: MemorySettings) -> MemoryClosure:
    """The closure of a candidate's recipe with nothing left out."""
    closure = replace(found.memory.template, exponents=found.exponents, score=found.score)
    settings = replace(settings, rollouts=settings.final)
    for length, ridge in found.recipe:
        gram = next_gram(found.memory, closure, length, settings) if length else first_gram(found.memory, settings)
        coefficients = gram.solve(gram.chosen(frozenset(found.exponents)), ridge)
        closure = replace(closure, coefficients=coefficients)
    return closure
