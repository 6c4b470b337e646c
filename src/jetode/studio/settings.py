"""The studio's limits, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What one person on one machine may reasonably ask for."""

    upload: int = 512 << 20  # bytes of a record: a day of one channel at 1 kHz as text is 1.5 GB, an hour 60 MB
    body: int = 1 << 20  # bytes of any other request: settings are a few hundred
    name: int = 200  # characters of a record's or a result's name
    records: int = 16  # records of one system in a fit
    queued: int = 200  # jobs that wait: more are a program gone wild
    look_seconds: float = 120.0  # for reading and diagnosing: 200 MB of text take about half a minute
    attempts: int = 3  # times a job is started again after the server itself was killed
    streams: int = 16  # pages that listen at the same time
    keep_alive: float = 15.0  # seconds between comments on a quiet stream, so that a dead one is noticed


@dataclass(frozen=True)
class Drawing:
    """How much of a record is sent to the page."""

    points: int = 2400  # of a curve: two per pixel of a wide screen
    thumbnail: int = 160  # of a column's preview
    thumbnails: int = 24  # columns with a preview
    thumbnail_bytes: int = 24 << 20  # of a file whose every column is read for previews: a second of parsing
    marks: int = 400  # outliers and gaps that are marked
    examined: int = 200_000  # samples of a longer stretch that are diagnosed and searched for outliers: a second or two


@dataclass(frozen=True)
class Horizon:
    """How far a result's forecast is drawn; the slider shows a part of it."""

    oscillations: float = 20.0  # no forecast of a chaotic signal is likely to hold longer
    samples: int = 20_000  # of the forecast, however short the record's steps are
    interim: float = 4.0  # oscillations while the fit goes on


LIMITS = Limits()
DRAWING = Drawing()
HORIZON = Horizon()
PORT = 8642  # where it is free: an address that can be kept as a bookmark

# the files of a result; an export has the name of its format after the point
PAGE, MODEL, FORECAST, REPORT, EXPORT = "page.json", "model.json", "forecast.csv", "report.html.gz", "export."
