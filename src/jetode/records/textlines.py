"""Lines of a text file: their encoding, fields and comments, and whether they hold nothing but numbers."""

from __future__ import annotations

import codecs
import re

from jetode.records.dates import is_date
from jetode.support.errors import InputError

Line = tuple[int, str]  # 1-based number, content
MISSING = frozenset({"", "nan", "na", "n/a", "null", "none", "-", "?"})
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([ed][+-]?\d+)?|[+-]?inf(inity)?|[+-]?∞", re.IGNORECASE)
THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d+")  # 1.013,25 as Germans write it
NO_QUOTES = str.maketrans("", "", "\"'")
SERIAL_MONITOR = re.compile(r"^([\d:.]+) -> ")  # the time of day that Arduino's serial monitor puts before a line
DATE_WORD = re.compile(r"\d+([-/.:T]\d+|-[A-Za-z]{3}-\d+)+(Z|[+-]\d\d:?\d\d)?|[AP]M|UTC|days?", re.IGNORECASE)
FORTRAN = str.maketrans("dD", "eE")
COMMENT = re.compile(r"(^|\s)#(\s|$).*|^#.*")


def find_encoding(source: str, head: bytes) -> str:
    """UTF-16 by its mark, UTF-8 where the bytes are that, else Latin-1."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in head:
        seen = " ".join(f"{byte:02x}" for byte in head[:8])
        raise InputError(
            f"{source} is not a text file (its first bytes are {seen}); give CSV or TSV, or give the file the ending "
            "of its format."
        )
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8-sig"


def split(text: str, delimiter: str | None) -> list[str]:
    """The fields of a line without quotes and white space."""
    return [field.strip().strip("\"'").strip() for field in text.split(delimiter)]


def decimal_point(cell: str, decimal_comma: bool) -> str:
    """A cell with a point as its decimal sign and without points that group digits."""
    if not decimal_comma:
        return cell
    return (cell.replace(".", "") if THOUSANDS.fullmatch(cell) else cell).replace(",", ".")


def number_of(cell: str) -> float:
    """A cell that matches NUMBER; Fortran writes 1.5D-03."""
    return float(cell.replace("∞", "inf").translate(FORTRAN))


def content_of(text: str) -> str:
    """A line without its comment; tabs at its ends are empty cells, other white space is nothing."""
    if "#" in text:
        before = text.split("#", 1)[0]
        text = before if looks_numeric(before) else COMMENT.sub("", text)
    if "->" in text:
        text = SERIAL_MONITOR.sub(lambda match: match[1] + ("," if "," in text else "\t"), text)
    content = text.strip(" \r\n\ufeff")
    return content if content.strip() else ""


def looks_numeric(text: str) -> bool:
    """Whether a line holds nothing but numbers, dates and missing values, whatever its delimiter."""
    words = [word for word in re.split(r"[\s,;|]+", text.translate(NO_QUOTES)) if word]
    return bool(words) and all(
        NUMBER.fullmatch(w) or w.lower() in MISSING or DATE_WORD.fullmatch(w) or is_date(w) for w in words
    )


def shown(text: str) -> str:
    """A cell or line as errors quote it."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def count(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"
