"""What column names say: which one is the time, and in which unit a column is.

Instruments write units in brackets (``current [mA]``), after a slash (``time/s``), after "in" (``CH1 in V``), or as
words in a row of their own (``second``, ``Volt``).
"""

from __future__ import annotations

import re
from types import MappingProxyType

TIME_NAME = re.compile(
    r"(t|time)([_ ]?(s|sec|ms|us|µs|μs|ns|min|h|hours?|d|days?|seconds?))?"
    r"|(\w+[ _])?time[ _]?stamp|date[ _/]?time|(elapsed|relative)[ _]?time|x-axis|x_value|__index_level_0__"
    r"|zeit|zeitstempel|uhrzeit|temps|tiempo|tempo|tijd",
    re.IGNORECASE,
)
COUNTER_NAME = re.compile(
    r"#|n[or]\.?|index|idx|(sample|point|row)([ _]?(index|number|no\.?|#))?|pt|unnamed: 0|", re.IGNORECASE
)
DATE_NAME = re.compile(r"date|datum|day|fecha", re.IGNORECASE)
SYMBOL = re.compile(
    r"[pnuµμmkMG]?(s|V|A|W|Hz|Ω|Pa|bar|g|m|N|K|T|C|F|H|J|l|L|dB|dBm)(/\w+)?|%|°C|°F|min|h|deg|rad|mmHg|1"
)
UNIT = re.compile(
    r"(?P<name>.*?)\s*(?:\[(?P<square>[^\]]*)\]|\((?P<round>[^)]*)\)|/\s*(?P<slash>\S+)|(?:^|\s)in\s+(?P<word>\S+)"
    rf"|,\s+(?P<comma>{SYMBOL.pattern}))\s*"
)
UNIT_PLACES = ("square", "round", "slash", "word", "comma")
ADDED = re.compile(r"\s+(Run #?\d+|\(LGR S/N.*\))$", re.IGNORECASE)  # what PASCO and HOBO write after the unit
# one unit of time in seconds; the spelling is that of file headers
SECONDS = MappingProxyType(
    {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0}
    | {"min": 60.0, "h": 3600.0, "hour": 3600.0, "hours": 3600.0, "d": 86400.0, "day": 86400.0, "days": 86400.0}
    | {"second": 1.0, "seconds": 1.0, "minutes": 60.0, "milliseconds": 1e-3, "microseconds": 1e-6}
)
# words that instruments write for the symbols of units
SYMBOLS = MappingProxyType(
    {"second": "s", "seconds": "s", "sec": "s", "sekunden": "s", "minutes": "min", "minuten": "min"}
    | {"milliseconds": "ms", "millis": "ms", "msec": "ms", "microseconds": "µs", "micros": "µs", "usec": "µs"}
    | {"volt": "V", "volts": "V", "ampere": "A", "amperes": "A", "amps": "A"}
    | {
        "amp": "A",
        "watt": "W",
        "watts": "W",
        "hertz": "Hz",
        "ohm": "Ω",
        "ohms": "Ω",
        "celsius": "°C",
        "unknown": "",
        "sequence": "",
    }
)


def split_unit(name: str) -> tuple[str, str]:
    """``current (mA)`` → ``current``, ``mA``; the time column of Rohde & Schwarz is called ``in s``."""
    match = UNIT.fullmatch(ADDED.sub("", name))
    if match is None or not (match["name"] or match["word"] in SECONDS):
        return name, ""
    unit = next((match[kind] for kind in UNIT_PLACES if match[kind]), "").strip()
    return match["name"] or "time", SYMBOLS.get(unit.lower(), unit)


def is_time_name(name: str) -> bool:
    """t or time in any case, with or without a unit: ``Time [s]``, ``t_ms``, ``time/s``."""
    return TIME_NAME.fullmatch(split_unit(name)[0]) is not None


def is_counter_name(name: str) -> bool:
    """A column that numbers the rows: ``#``, ``Index``, ``sample #``, or the nameless first one that pandas writes."""
    return COUNTER_NAME.fullmatch(name) is not None


def is_date_name(name: str) -> bool:
    """A column of days, which may go with one of times."""
    return DATE_NAME.fullmatch(split_unit(name)[0]) is not None


def time_unit_of(name: str) -> str:
    """The unit that the name of a time column states."""
    base, unit = split_unit(name)
    match = TIME_NAME.fullmatch(base)
    named = unit or (match[3] if match and match[3] else base)
    symbol = SYMBOLS.get(named.lower(), named)
    return symbol if unit or symbol in SECONDS else ""


def unit_symbol(cell: str) -> str | None:
    """The unit that a cell of a units row states, or None where it states none: ``(ms)``, ``Volt``, ``mV``, ``[]``."""
    bracketed = re.fullmatch(r"[\[(](.*)[\])]", cell)
    text = (bracketed[1] if bracketed else cell).strip()
    if re.fullmatch(r"h?h:mm(:ss([.,]\w+)?)?", text, re.IGNORECASE):
        return ""
    if text.lower() in SYMBOLS:
        return SYMBOLS[text.lower()]
    return text if bracketed or SYMBOL.fullmatch(text) else None
