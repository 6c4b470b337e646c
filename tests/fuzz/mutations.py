"""Seeded damage: of bytes and numbers inside them, of members of archives, of cells and lines of text, of JSON."""

from __future__ import annotations

import io
import json
import zipfile
from copy import deepcopy
from random import Random
from typing import Any

TOKENS = (
    *("", "nan", "NaN", "inf", "-inf", "1e999", "1e-999", "1e308", "0", "-0", "-1", "1e60", "0x10", "1_000", "1,5"),
    *("abc", "∞", "−1", "1.2.3", "--1", "+", "e", ".", "1e", "٣", "TRUE", "#N/A", "#", "'", '"', '"""', "\0", "\ufeff"),
    *("2024-01-01", "2024-13-45", "31/02/2024", "12:60:61", "25:00", "01/02/03", "0000-00-00", "9" * 400, "1" * 30),
    *("t", "time", "x" * 300, "sep=,", "Sample Interval,0", "Sample Interval,-1", "t0 = 1e999", ";", ",", "\t", " "),
)
NUMBERS = (0, 1, 2, 7, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 10**6, 10**9)
TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".dat", ".lvm")
ARCHIVES = (".npz", ".xlsx")
# values for JSON, and literals that only a file can hold
RAW = {"@1e999": "1e999", "@long": "1" * 5000, "@deep": "[" * 200 + "]" * 200, "@surrogate": '"\\ud800"'}
VALUES: tuple[Any, ...] = (
    *(float("nan"), float("inf"), float("-inf"), 1e308, -1e308, 1e99, 1e60, 1e-300, 5e-324, 0, 0.0, -1, 1, 2, 3, 7, 9),
    *(10**6, 10**9, 10**18, 10**400, -(10**400), 0.5, True, False, None, "", "x", "abc" * 400, "exact", "regular"),
    *([], {}, [[]], [1.0], [[1.0]], [None], ["a"], {"a": 1}, [[1.0, 2.0], [3.0]], *RAW),
)


def damaged(random: Random, name: str, data: bytes) -> bytes:
    """``data`` with one to four damages; at times none."""
    for _ in range(random.choice((0, 1, 1, 1, 2, 2, 4))):
        text = name.endswith(TEXT_ENDINGS) and random.random() < 0.7
        inside = name.endswith(ARCHIVES) and random.random() < 0.5
        data = _in_text(random, data) if text else _in_member(random, data) if inside else in_bytes(random, data)
    return data


def in_bytes(random: Random, data: bytes) -> bytes:
    """Damage that knows nothing of the format; early bytes, where headers are, are hit more often."""
    raw = bytearray(data)
    reach = len(raw) if random.random() < 0.5 else min(len(raw), 600)
    at = random.randrange(reach) if reach else 0
    length = random.choice((1, 2, 4, 8, 64, 512))
    kind = random.randrange(8)
    if kind == 0 and raw:
        raw[at] ^= 1 << random.randrange(8)
    elif kind == 1:
        raw[at : at + length] = random.randbytes(length)
    elif kind == 2:
        del raw[at : at + length]
    elif kind == 3:
        raw[at:at] = random.randbytes(length)
    elif kind == 4:
        raw[at:at] = raw[at : at + length]
    elif kind == 5:
        del raw[at:]
    elif kind == 6:
        size = random.choice((1, 2, 4, 8))
        number = random.choice(NUMBERS) & (256**size - 1)
        raw[at : at + size] = number.to_bytes(size, random.choice(("little", "big")))
    else:
        raw[at : at + length] = bytes([random.choice((0, 0x20, 0x30, 0xFF))]) * length
    return bytes(raw)


def _in_text(random: Random, data: bytes) -> bytes:
    """Damage of lines and cells."""
    text = data.decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    row = random.choice((0, 1, random.randrange(len(lines)), len(lines) - 1)) % len(lines)
    kind = random.randrange(8)
    if kind <= 2:
        delimiter = next((d for d in ("\t", ";", ",", " ") if d in lines[row]), ",")
        cells = lines[row].split(delimiter)
        cells[random.randrange(len(cells))] = random.choice(TOKENS)
        lines[row] = delimiter.join(cells)
    elif kind == 3:
        del lines[row : row + random.choice((1, 1, 5, 1000))]
    elif kind == 4:
        lines[row:row] = [random.choice(TOKENS)] * random.choice((1, 2, 300))
    elif kind == 5:
        lines.insert(row, lines[random.randrange(len(lines))])
    elif kind == 6:
        lines[row] += random.choice((",", ";", "\t", " ", ",1", "#")) + random.choice(("", "7", "x"))
    else:
        old, new = random.sample((",", ";", "\t", ".", " ", "1", "\n", "\r\n"), 2)
        lines = "\n".join(lines).replace(old, new, random.choice((1, 5, -1))).split("\n")
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def _in_member(random: Random, data: bytes) -> bytes:
    """Damage of one member of an archive, which is packed again so that it can be opened."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # damaged before
        return in_bytes(random, data)
    if not members:
        return in_bytes(random, data)
    name = random.choice(sorted(members))
    xml = name.endswith(".xml")
    members[name] = (
        _in_text(random, members[name]) if xml and random.random() < 0.3 else in_bytes(random, members[name])
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return out.getvalue()


def in_values(random: Random, data: bytes) -> bytes:
    """Damage of one to three values inside the JSON, with literals that only a file can hold."""
    model = json.loads(data)
    for _ in range(random.choice((0, 1, 1, 1, 1, 2, 3))):
        in_tree(random, model)
    text = json.dumps(model, indent=1)
    for name, literal in RAW.items():
        text = text.replace(f'"{name}"', literal)
    return text.encode()


def in_tree(random: Random, model: dict[str, Any]) -> None:
    """Of a place anywhere in the tree: another value, none, twice, in another order."""
    node: Any = model
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = random.choice(keys)
        if isinstance(node[key], dict | list) and node[key] and random.random() < 0.85:
            node = node[key]
            continue
        break
    kind = random.randrange(8)
    if kind == 0:
        del node[key]
    elif kind == 1 and isinstance(node, list):
        node.insert(key, deepcopy(node[key]))
    elif kind == 2 and isinstance(node, list):
        random.shuffle(node)
    elif kind == 3 and isinstance(node[key], int | float) and not isinstance(node[key], bool):
        factor = random.choice((-1, 0, 1e3, 1e-3, 1e12, 1e30, 1e-30, 1.5))
        node[key] = node[key] * factor if abs(node[key]) < 1e300 else -node[key]
    else:
        node[key] = deepcopy(random.choice(VALUES))  # else the next damage would be to the list of values itself
