"""The elements of a MATLAB file of versions 5 to 7, walked before scipy reads them.

scipy looks the type of an element up in a table without a check, so that a damaged type ends the whole process; the
walk reads only tags (type, size) and refuses what the format does not know.
"""

from __future__ import annotations

import struct
import zlib

HEADER = 128
MATRIX, COMPRESSED = 14, 15
NUMBERS = frozenset({1, 2, 3, 4, 5, 6, 7, 9, 12, 13})  # int8 … uint64, single, double
TEXTS = frozenset({16, 17, 18})  # UTF-8, 16, 32
DEEPEST = 50  # structs in structs


def check_elements(raw: bytes, most: int) -> None:
    """ValueError where an element is of no known type or larger than what holds it; ``most`` bytes are unpacked."""
    order = "<" if raw[126:128] == b"IM" else ">"
    at = HEADER
    while at + 8 <= len(raw):
        kind, size = struct.unpack_from(f"{order}II", raw, at)
        body = memoryview(raw)[at + 8 : at + 8 + size]
        if len(body) != size or kind not in (MATRIX, COMPRESSED):
            raise ValueError("no variable, or one that is cut")
        if kind == COMPRESSED:
            unpacked = zlib.decompressobj().decompress(body, most)
            _check(memoryview(unpacked), order, 0)
        else:
            _check_inside(body, order, 0)
        at += 8 + size


def _check(element: memoryview, order: str, depth: int) -> int:
    """Check one element with its tag; its length with the padding to 8 bytes."""
    if len(element) < 8:
        raise ValueError("an element without its tag")
    kind, size = struct.unpack_from(f"{order}II", element)
    small = kind >> 16  # size and type in one word, up to 4 bytes of data in the next
    if small:
        if small > 4 or kind & 0xFFFF not in NUMBERS | TEXTS:
            raise ValueError("unknown type")
        return 8
    if size > len(element) - 8 or kind not in NUMBERS | TEXTS | {MATRIX}:
        raise ValueError("unknown type, or cut")
    if kind == MATRIX:
        _check_inside(element[8 : 8 + size], order, depth + 1)
    return 8 + size + -size % 8


def _check_inside(body: memoryview, order: str, depth: int) -> None:
    if depth > DEEPEST:
        raise ValueError("structs too deep")
    at = 0
    while at < len(body):
        at += _check(body[at:], order, depth)
