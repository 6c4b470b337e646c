"""Embedding diagnostics and singular values that are shown beside a model, as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np

from jetode.paper.identify import PaperSettings, embed, spectrum
from jetode.records.series import Series
from jetode.signal.embedding import embedding_diagnostics
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

SPECTRUM_SAMPLES = 20_000  # of the record, for the singular values


def spectrum_shown(record: Series, order: int) -> dict[str, Any]:
    """Singular values of the paper's default system on the longest stretch, beside the joint fit; none if too short."""
    try:
        values, gap = spectrum(embed(record.longest_stretch().slice(0, SPECTRUM_SAMPLES), order), PaperSettings())
    except InputError:
        return {}
    return {"singular_values": values.tolist(), "gap": gap}


def embedding_shown(signal: FloatArray, tc: float) -> dict[str, Any]:
    """The paper's embedding diagnostics of the smoothed record's longest stretch; none if too short."""
    present = ~np.isnan(signal)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], present, [0])))).reshape(-1, 2)
    start, stop = max(edges.tolist(), key=lambda e: e[1] - e[0])
    try:
        return {"embedding": embedding_diagnostics(signal[start:stop], tc).to_json()}
    except InputError:
        return {}
