"""Mains hum as a modelled line: found in the spectrum, fitted, subtracted (docs/odd-records.md).

A line at 50 or 60 Hz that stands far above the spectrum beside it, of records whose time has a unit.  Its frequency f
maximises the power |Σ w_k x_k e^{−2πi f k}|² near the mains (w Hann's window, so that the motion at other frequencies
does not leak into it); its two amplitudes are the least squares under the same weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jetode.records.series import Series
from jetode.records.units import SECONDS
from jetode.signal.scales import filled
from jetode.support.arrays import FloatArray


@dataclass(frozen=True)
class HumSettings:
    """From when on a line is hum, dimensionless but for the frequencies."""

    mains: tuple[float, ...] = (50.0, 60.0)  # Hz
    line: float = 40.0  # times the median power beside it: a line of noise alone exceeds it once in e^40
    beside: int = 25  # bins of the spectrum on either side that it is compared with
    wander: float = 1.5  # bins: how far from the peak of the spectrum the frequency is looked for
    most: float = 0.5  # std: a larger line is the signal itself, which nothing is taken from
    harmonics: int = 20  # of a periodic motion, which are no hum where they meet the mains
    left: float = 0.1  # of its power, after it was subtracted: a line that leaves more is none of one frequency


DEFAULT = HumSettings()


@dataclass(frozen=True)
class Hum:
    """Amplitude in std of the record and frequency in Hz; zeros where there is none."""

    amplitude: float = 0.0
    mains: float = 0.0


def find_hum(record: Series, values: FloatArray, settings: HumSettings = DEFAULT) -> Hum:
    """The mains line in ``values``, which are the record's without gaps."""
    found = _line(record, values, settings)
    return Hum() if found is None else found[0]


def without_hum(
    records: Sequence[Series], settings: HumSettings = DEFAULT
) -> tuple[tuple[Series, ...], tuple[str, ...]]:
    """The records without their mains line, and what was done in words."""
    out, notes = [], []
    for i, record in enumerate(records):
        found = _subtracted(record, settings)
        out.append(record if found is None else found[0])
        if found is not None:
            which = f" of record {i + 1}" if len(records) > 1 else ""
            hum = found[1]
            notes.append(f"mains hum{which} of {hum.amplitude:.2g} std at {hum.mains:g} Hz was subtracted as a line")
    return tuple(out), tuple(notes)


def _subtracted(record: Series, settings: HumSettings) -> tuple[Series, Hum] | None:
    """The record without its line and what that was; None where there is none, or none that can be taken out."""
    if not np.isfinite(record.values).any():
        return None
    values = filled(record.values)
    found = _line(record, values, settings)
    if found is None or found[0].amplitude > settings.most:
        return None
    hum, at = found
    present = np.isfinite(record.values)
    frequency = _frequency(values, at / values.size, settings.wander / values.size)
    angle = 2.0 * np.pi * frequency * np.arange(values.size)
    columns = np.column_stack([np.ones(values.size), np.cos(angle), np.sin(angle)])
    weight = np.sqrt(np.hanning(values.size))[present, None]
    fitted = np.linalg.lstsq(weight * columns[present], weight[:, 0] * values[present], rcond=None)[0]
    cleaned = record.with_values(record.values - columns[:, 1:] @ fitted[1:])
    bins = slice(at - 2, at + 3)
    before, after = (float(_power(v)[bins].sum()) for v in (values, filled(cleaned.values)))
    return (cleaned, hum) if after < settings.left * before else None


def _line(record: Series, values: FloatArray, settings: HumSettings) -> tuple[Hum, int] | None:
    """The line and its bin in the spectrum."""
    unit = SECONDS.get(record.time_unit)
    if unit is None or values.size < 8 * settings.beside or not np.ptp(values) > 0:
        return None
    power = _power(values)
    resolution = 1.0 / (record.dt * unit * values.size)
    for mains in settings.mains:
        at = round(mains / resolution)
        if not settings.beside + 4 < at < power.size - settings.beside - 4:
            continue
        peak = float(power[at - 2 : at + 3].max())
        near = np.concatenate([power[at - settings.beside : at - 4], power[at + 5 : at + settings.beside]])
        stands_out = peak > settings.line * float(np.median(near)) and peak > settings.line / 4 * float(near.max())
        if stands_out and not _is_harmonic(power, at, settings):
            size = 2.0 * np.sqrt(float(power[at - 2 : at + 3].sum()) / 1.5) / float(np.hanning(values.size).sum())
            return Hum(float(size / values.std()), mains), at - 2 + int(np.argmax(power[at - 2 : at + 3]))
    return None


def _is_harmonic(power: FloatArray, at: int, settings: HumSettings) -> bool:
    """Whether the line is a whole multiple of the strongest line below it: then it belongs to the motion."""
    low = settings.beside // 4
    if at - settings.beside <= low:  # so short a record has no room for a line below
        return False
    strongest = low + int(np.argmax(power[low : at - settings.beside]))
    line, own = _centre(power, strongest), _centre(power, at - 2 + int(np.argmax(power[at - 2 : at + 3])))
    times = round(own / line)
    beside = power[strongest + 5 : strongest + settings.beside]
    sharp = power[strongest] > settings.line * float(np.median(beside))
    return sharp and 2 <= times <= settings.harmonics and abs(times * line - own) < 0.5 + 0.05 * times


def _centre(power: FloatArray, at: int) -> float:
    """A line's place between the bins: the vertex of the parabola through the logarithms around its peak, which Hann's
    window makes good to a twentieth of a bin."""
    left, top, right = np.log(power[at - 1 : at + 2] + np.finfo(float).tiny)
    return at + 0.5 * float(left - right) / min(float(left - 2.0 * top + right), -1e-9)


def _power(values: FloatArray) -> FloatArray:
    """The spectrum under Hann's window."""
    return np.asarray(np.abs(np.fft.rfft(np.hanning(values.size) * (values - values.mean()))) ** 2)


def _frequency(values: FloatArray, near: float, reach: float) -> float:
    """Where the spectrum has its maximum, in cycles per sample."""
    from scipy.optimize import minimize_scalar

    tapered = np.hanning(values.size) * (values - values.mean())
    k = np.arange(values.size)

    def missed(frequency: float) -> float:
        return -float(np.abs(tapered @ np.exp(-2j * np.pi * frequency * k)))

    found = minimize_scalar(
        missed, bounds=(near - reach, near + reach), method="bounded", options={"xatol": 1e-4 * reach}
    )
    return float(found.x)
