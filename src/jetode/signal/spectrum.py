"""Power spectrum by Welch's method (1967): Hann windows, half overlapping, each without its mean, averaged.

NumPy alone: SciPy's own takes a second to import, which is a fifth of a whole reconstruction.
"""

from __future__ import annotations

import numpy as np

from jetode.support.arrays import FloatArray


def welch(values: FloatArray, spacing: float, segment: int) -> tuple[FloatArray, FloatArray]:
    """(frequencies, one-sided power density) of a signal sampled ``spacing`` apart, in segments of so many samples."""
    segment = min(segment, values.size)
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(segment) / segment)
    starts = np.arange(0, values.size - segment + 1, segment - segment // 2)
    pieces = values[starts[:, None] + np.arange(segment)]
    spectra = np.abs(np.fft.rfft(window * (pieces - pieces.mean(axis=1, keepdims=True)), axis=1)) ** 2
    power = spectra.mean(axis=0) * spacing / np.sum(window**2)
    power[1 : None if segment % 2 else -1] *= 2.0  # the negative frequencies, of which 0 and Nyquist have none
    return np.asarray(np.fft.rfftfreq(segment, spacing), dtype=np.float64), power
