"""The latent flow of a record: found on a stretch, grown over the rest, held-out forecasts
by what was grown no farther than the beginning of their fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from jetode.joint.problem import Piece, Prepared, prepare
from jetode.joint.shooting.annealing import Schedule
from jetode.joint.shooting.gaussnewton import path_states
from jetode.records.series import Series
from jetode.signal.scales import Unsuitable
from jetode.signal.trials import Trials
from jetode.support.arrays import FloatArray
from latent_flow.descent import Interrupt, problem
from latent_flow.flow import LatentFlow
from latent_flow.search import candidates, grown, satisfying
from latent_flow.settings import SETTINGS


@dataclass(frozen=True, eq=False)
class LatentFit:
    """The flow of all records, and held-out forecasts (count, steps + 1) in the order of the trials."""

    flow: LatentFlow
    held_out: FloatArray


def fit_latent(
    records: Sequence[Series], trials: Trials, seed: int = 0, interrupt: Interrupt = lambda: False
) -> LatentFit | None:
    """The flow that follows the records to within the noise; None where none is found."""
    mean = float(np.nanmean(np.concatenate([r.values for r in records])))
    centred = [r.with_values(r.values - mean) for r in records]
    try:
        prepared = prepare(centred, SETTINGS.dimension, loss="auto")
    except Unsuitable:
        return None
    if prepared.duration < SETTINGS.shortest:
        return None
    for fit, data in candidates(prepared, seed, interrupt):
        flow = LatentFlow(
            fit.terms,
            mean,
            prepared.amplitude,
            prepared.time,
            prepared.sigma,
            path_states(fit, data),
            data.layout.spacing,
        )
        found = _held_out(flow, centred, records, trials, interrupt)
        if found is not None:
            return found
    return None


def _held_out(
    flow: LatentFlow, centred: Sequence[Series], records: Sequence[Series], trials: Trials, interrupt: Interrupt
) -> LatentFit | None:
    """The flow grown from fold to fold, with its forecasts into each; None where it does not follow."""
    rows, so_far = [np.empty((0, trials.steps + 1))], Grown(flow, (), ())
    for fold in trials.folds:
        farther = so_far.over(trials.without(centred, fold), SETTINGS.grow, interrupt)
        if farther is None or interrupt():
            return None
        so_far, ends = farther, np.array(fold.ends, dtype=np.int64)
        rows.append(so_far.flow.forecasts(records[fold.record].values, ends, trials.steps, records[0].dt))
    whole = so_far.over(centred, SETTINGS.finish, interrupt)
    return None if whole is None else LatentFit(whole.flow, np.concatenate(rows))


@dataclass(frozen=True, eq=False)
class Grown:
    """A flow with its ``paths`` along the beginnings of some ``pieces``."""

    flow: LatentFlow
    pieces: tuple[Piece, ...]
    paths: tuple[FloatArray, ...]

    def over(self, records: Sequence[Series], last: Schedule, interrupt: Interrupt) -> Grown | None:
        """Fitted to all of some records, over a stretch that grows; None where the flow does not follow them."""
        flow = self.flow
        units = flow.amplitude, flow.time
        try:
            prepared = prepare(records, flow.dimension, flow.sigma * flow.amplitude, units, loss="auto")
        except Unsuitable:
            return None
        total, upto = prepared.y.size, round(SETTINGS.stretch / prepared.jets.spacing)
        paths = self._known(prepared)
        upto = max(upto, sum(map(len, paths)))
        so_far = self
        while True:
            upto = min(total, round(SETTINGS.growth * upto))
            found = so_far._step(prepared, paths, upto, last if upto == total else SETTINGS.grow, interrupt)
            if found is None or upto == total:
                return found
            so_far, paths = found, found.paths

    def _known(self, prepared: Prepared) -> tuple[FloatArray, ...]:
        """The paths that are those of the prepared pieces' beginnings, too."""
        out = []
        for mine, path, other in zip(self.pieces, self.paths, prepared.pieces, strict=False):
            if (mine.record, mine.start) != (other.record, other.start):
                break
            out.append(path[: other.stop - other.start])
            if len(path) < other.stop - other.start:
                break
        return tuple(out)

    def _step(
        self, prepared: Prepared, paths: tuple[FloatArray, ...], upto: int, schedule: Schedule, interrupt: Interrupt
    ) -> Grown | None:
        """Fitted to the first ``upto`` samples, the path traced there from what is known of it."""
        flow, lengths = self.flow, prepared.jets.head(upto).lengths
        edges = np.cumsum((0, *lengths))
        spacing, traced = prepared.jets.spacing, []
        for i, (first, stop) in enumerate(pairwise(edges.tolist())):
            y, present = prepared.y[first:stop], prepared.present[first:stop]
            known = paths[i][: stop - first] if i < len(paths) else flow.begun(y, present, spacing)[0]
            traced.append(flow.trace(y, present, spacing, known))
        sigma = max(flow.sigma, SETTINGS.sigma)
        data = problem(prepared.y[:upto], prepared.present[:upto], lengths, spacing, sigma)
        fit = grown(data, flow.terms, np.concatenate(traced)[data.layout.first], schedule, interrupt)
        if fit is None or not satisfying(fit, data.n_samples):
            return None
        along = tuple(np.split(path_states(fit, data), edges[1:-1]))
        flow = replace(flow, terms=fit.terms, atlas=_atlas(along), spacing=spacing)
        return Grown(flow, prepared.pieces[: len(along)], along)


def _atlas(paths: Sequence[FloatArray]) -> FloatArray:
    """Paths one after the other, NaN between them, as many states from the end as are kept."""
    nothing = np.full((1, paths[0].shape[1]), np.nan)
    parts = [part for path in paths for part in (path, nothing)]
    return np.concatenate(parts[:-1])[-SETTINGS.atlas :]
