"""The search for good settings (docs/mathematics.md §7.4): every memory and degree by one step, then Gauss–Newton
passes over longer and longer rollouts for those that forecast farthest so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from jetode.equations.polynomials import Exponents
from jetode.memory.candidates import Candidate, Memory, build, library_of, solved
from jetode.memory.gauss_newton import linearised
from jetode.memory.ground import Ground
from jetode.memory.regression import Gram, every, one_step
from jetode.memory.settings import MemorySettings
from jetode.support.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Chain:
    """One memory and set of monomials: the candidates of its latest pass, best first."""

    memory: Memory
    monomials: tuple[Exponents, ...]
    latest: tuple[Candidate, ...]

    @property
    def score(self) -> float:
        """Of the best."""
        return self.latest[0].score


def search(
    ground: Ground, truth: FloatArray, settings: MemorySettings, interrupt: Callable[[], bool]
) -> list[Candidate]:
    """All candidates that were scored."""
    found: list[Candidate] = []
    chains: list[Chain] = []
    for q, theta in settings.memories:
        if interrupt():
            return found
        memory = build(ground, q, theta, settings)
        if memory is None:
            continue
        stride = every(memory.stretches, settings.rows, 1)
        gram = one_step(memory.stretches, library_of(memory), ground.step, stride)
        for monomials in libraries(memory):
            chains += _chain(memory, gram, monomials, truth, settings)
    found += [c for chain in chains for c in chain.latest]
    for length, keep in zip(settings.lengths, settings.kept, strict=True):
        if not chains:
            break
        chains.sort(key=lambda chain: -chain.score)
        least = settings.hopeless * chains[0].score
        passed: list[Chain] = []
        for chain in chains[:keep]:
            if interrupt():
                return found
            if chain.score >= least:
                points = max(2, round(length / ground.step))
                stride = max(points // 2, every(chain.memory.stretches, settings.rollouts, ground.clock.division))
                gram = linearised(chain.memory.stretches, chain.latest[0].closure, ground.step, points, stride)
                passed += _chain(chain.memory, gram, chain.monomials, truth, settings)
        chains = passed
        found += [c for chain in chains for c in chain.latest]
    return found


def libraries(memory: Memory) -> Iterator[tuple[Exponents, ...]]:
    """Sets of monomials for P: all up to each degree, and the odd ones, for systems that a change of sign leaves."""
    exponents = library_of(memory).exponents
    for degree in range(1, memory.degree + 1):
        yield tuple(e for e in exponents if sum(e) <= degree)
        if degree % 2 and degree > 1:
            yield tuple(e for e in exponents if sum(e) <= degree and sum(e) % 2)


def _chain(
    memory: Memory, gram: Gram, monomials: tuple[Exponents, ...], truth: FloatArray, settings: MemorySettings
) -> list[Chain]:
    """The candidates of every ridge, none or one chain."""
    chosen = gram.chosen(frozenset(monomials))
    tried = [solved(memory, gram, chosen, ridge, truth, settings) for ridge in settings.ridges]
    sound = sorted((c for c in tried if c is not None), key=lambda c: -c.score)
    return [Chain(memory, monomials, tuple(sound))] if sound else []
