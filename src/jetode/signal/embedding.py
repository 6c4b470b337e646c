"""The paper's embedding diagnostics of one smoothed signal: average mutual information and false nearest neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import pi
from typing import Any

from jetode.signal.delay import average_mutual_information, delay_and_information, false_nearest_neighbours
from jetode.support.arrays import FloatArray

MOST_SAMPLES = 20_000  # of the signal: more change neither curve
SHORTEST_REACH = 20  # lags shown
DEEPEST = 6  # delay coordinates
REFERENCES = 1000  # points whose neighbours are judged: a share of 1 % is known to 0.3 %, in a fifth of the time


@dataclass(frozen=True)
class EmbeddingDiagnostics:
    """``information``: mutual information [nats] at lags 0, 1, … samples; ``delay``: its first minimum (None: there is
    none); ``false_neighbours``: share in 1, 2, … delay coordinates; ``dimension``: from which it is below 1 %."""

    delay: int | None
    information: tuple[float, ...]
    false_neighbours: tuple[float, ...]
    dimension: int | None

    def to_json(self) -> dict[str, Any]:
        """Plain data; inverse of :meth:`from_json`."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EmbeddingDiagnostics:
        """Inverse of :meth:`to_json`."""
        return cls(data["delay"], tuple(data["information"]), tuple(data["false_neighbours"]), data["dimension"])


def embedding_diagnostics(values: FloatArray, tc: float) -> EmbeddingDiagnostics:
    """Of a signal without gaps; ``tc`` in samples is the scale where the information has no minimum."""
    signal = values[:MOST_SAMPLES]
    delay, known = delay_and_information(signal)
    lag = delay or max(1, round(pi / 2 * tc))
    reach = min(max(3 * lag, SHORTEST_REACH), signal.size // 4)
    information = known[: reach + 1] if reach < known.size else average_mutual_information(signal, reach)
    deepest = max(1, min(DEEPEST, (signal.size - 2 * lag - 3) // lag))
    neighbours = false_nearest_neighbours(signal, lag, deepest, references=REFERENCES)
    return EmbeddingDiagnostics(
        delay, tuple(information.tolist()), tuple(neighbours.fractions.tolist()), neighbours.dimension
    )
