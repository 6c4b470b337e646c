"""What the way of recording left in a record: clipping, dropouts to zero, mains hum, a gain that drifts.

All by the samples alone.  *Clipped*: many samples are exactly the largest (or smallest) one, many more than share any
other value, so that a coarse converter does not count.  *Dropouts*: runs of exact zeros that the signal jumps to and
from, in steps it makes nowhere else.  *Hum*: a line of the mains (:mod:`.hum`).  *Gain*: the trend of the spread over
parts of the record, in standard errors that its oscillations leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from jetode.records.series import Series
from jetode.signal.hum import DEFAULT as HUM
from jetode.signal.hum import Hum, find_hum
from jetode.signal.oscillations import count_oscillations
from jetode.signal.scales import filled
from jetode.support.arrays import BoolArray, FloatArray


@dataclass(frozen=True)
class ArtefactSettings:
    """From when on something is one, dimensionless."""

    fewest_clipped: int = 6  # samples at a limit: noise repeats a value of many digits less often
    share_clipped: float = 2e-3  # of all samples: fewer change nothing that a fit would notice
    crowded: float = 4.0  # times the samples at the limit over those at the most common value between the limits
    jump: float = 8.0  # times the median step, at both ends of a run of zeros: no signal sampled well makes it
    fewest_dropped: int = 2  # samples in all
    parts: int = 8  # of the record, for the trend of its gain
    gain: float = 0.25  # of the spread, over the record: less is no reason to doubt an equation,
    gain_significance: float = 4.0  # if it is not this many standard errors


DEFAULT = ArtefactSettings()
Rails = tuple[float, float]  # the limits of the range, samples at which say only "here or beyond"
UNLIMITED: Rails = (-np.inf, np.inf)


@dataclass(frozen=True)
class Artefacts:
    """Shares of clipped and dropped samples, amplitude of hum at ``mains`` Hz in std, relative change of the gain."""

    clipped: float = 0.0
    dropped: float = 0.0
    hum: float = 0.0
    mains: float = 0.0
    gain: float = 0.0

    def sentences(self) -> tuple[str, ...]:
        """What was found, each with what would help."""
        found = []
        if self.clipped:
            share = f"{100 * self.clipped:.2g} % of the samples"
            found.append(f"{share} are clipped at the limits of the range: record with less gain.")
        if self.dropped:
            found.append(f"{100 * self.dropped:.2g} % of the samples are dropouts to zero; they count as missing.")
        if self.hum:
            handled = ", which a fit tries to subtract" if self.hum <= HUM.most else ""
            found.append(f"Mains hum of {self.hum:.2g} std at {self.mains:g} Hz{handled}: shield the channel.")
        if self.gain:
            size = f"The signal changes its size by {100 * self.gain:+.0f} % over the record"
            found.append(f"{size}: a gain that drifts, unless it grows or decays by itself.")
        return tuple(found)


NONE = Artefacts()


def find_artefacts(record: Series, settings: ArtefactSettings = DEFAULT) -> Artefacts:
    """Of one record."""
    values, n = record.values, max(record.n, 1)
    clipped, dropped = clipped_samples(values, settings), dropped_samples(values, settings)
    clean = np.where(dropped, np.nan, values)
    hum = find_hum(record, filled(clean)) if np.isfinite(clean).any() else Hum()
    shares = float(clipped.sum()) / n, float(dropped.sum()) / n
    return Artefacts(*shares, hum.amplitude, hum.mains, _gain(filled(clean), settings))


def rails(values: FloatArray, settings: ArtefactSettings = DEFAULT) -> Rails:
    """The limits of the range that are far more crowded than any value between them; −∞, ∞ where they are not."""
    levels, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    if levels.size < 4:
        return UNLIMITED
    least = max(
        settings.fewest_clipped, settings.share_clipped * values.size, settings.crowded * float(counts[1:-1].max())
    )
    low, high = (float(levels[i]) if counts[i] >= least else None for i in (0, -1))
    return UNLIMITED[0] if low is None else low, UNLIMITED[1] if high is None else high


def clipped_samples(values: FloatArray, settings: ArtefactSettings = DEFAULT) -> BoolArray:
    """Samples at a limit of the range that is far more crowded than any value between the limits."""
    low, high = rails(values, settings)
    return (values <= low) | (values >= high)


def dropped_samples(values: FloatArray, settings: ArtefactSettings = DEFAULT) -> BoolArray:
    """Runs of exact zeros between jumps that the signal does not make elsewhere; all of them, where zero lies within
    the range and is far more crowded than any other value."""
    out = np.zeros(values.shape, np.bool_)
    zero = values == 0.0
    kept = values[~zero & np.isfinite(values)]
    if kept.size < 3 or not zero.any():
        return out
    far = settings.jump * float(np.median(np.abs(np.diff(kept))))
    others = int(np.unique(kept, return_counts=True)[1].max())
    least = max(settings.fewest_clipped, settings.crowded * others)
    crowded = kept.min() < 0.0 < kept.max() and int(zero.sum()) >= least
    edges = np.flatnonzero(np.diff(np.concatenate(([0], zero, [0])))).reshape(-1, 2)
    for start, stop in edges.tolist():
        beside = [abs(values[i]) for i in (start - 1, stop) if 0 <= i < values.size and np.isfinite(values[i])]
        if (crowded and stop - start > 1) or (beside and min(beside) > far > 0):
            out[start:stop] = True
    return out if out.sum() >= settings.fewest_dropped else np.zeros_like(out)


def without_clipped(records: Sequence[Series]) -> tuple[Series, ...]:
    """The records with clipped samples as gaps: what is filtered or corrected has no limits any more."""
    low, high = rails(np.concatenate([record.values for record in records]))
    if (low, high) == UNLIMITED:
        return tuple(records)
    clipped = [(record.values <= low) | (record.values >= high) for record in records]
    return tuple(r.with_values(np.where(c, np.nan, r.values)) for r, c in zip(records, clipped, strict=True))


def clipped_note(records: Sequence[Series]) -> tuple[str, ...]:
    """What is done with clipped samples, in words; nothing where there are none."""
    low, high = rails(np.concatenate([record.values for record in records]))
    count = sum(int(np.sum((record.values <= low) | (record.values >= high))) for record in records)
    return (f"{count} samples at the limits of the range say only that the signal is there or beyond",) if count else ()


def without_dropouts(records: Sequence[Series]) -> tuple[tuple[Series, ...], tuple[str, ...]]:
    """The records with dropouts as gaps, and what was done in words."""
    out, notes = [], []
    for i, record in enumerate(records):
        dropped = dropped_samples(record.values)
        count = int(dropped.sum())
        out.append(record.with_values(np.where(dropped, np.nan, record.values)) if count else record)
        if count:
            which = f" of record {i + 1}" if len(records) > 1 else ""
            notes.append(f"{count} samples{which} that drop to zero count as missing")
    return tuple(out), tuple(notes)


def _gain(values: FloatArray, settings: ArtefactSettings) -> float:
    """Relative change of the spread over the record where it is significant, else 0."""
    cycles = count_oscillations(values) / settings.parts
    spreads = np.array([float(np.std(part)) for part in np.array_split(values, settings.parts)])
    if cycles < 2 or not np.all(spreads > 0):
        return 0.0
    place = np.linspace(-0.5, 0.5, settings.parts)
    logs = np.log(spreads)
    slope = float(place @ (logs - logs.mean()) / (place @ place))
    left = logs - logs.mean() - slope * place
    scatter = max(float(np.sqrt(left @ left / (settings.parts - 2))), 1.0 / np.sqrt(8.0 * cycles))
    error = scatter / float(np.sqrt(place @ place))
    change = float(np.expm1(slope))
    return change if abs(slope) > settings.gain_significance * error and abs(change) > settings.gain else 0.0


def note(artefacts: Artefacts) -> str:
    """What stands in a verdict that is not exact: all that was found but the dropouts, which are gaps."""
    return " ".join(replace(artefacts, dropped=0.0).sentences())
