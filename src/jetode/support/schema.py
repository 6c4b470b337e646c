"""Plain data against a JSON schema, before anything is done with them: the first thing that is wrong, in words.

The keywords of JSON Schema that jetode's own schemas use (a test compares with the library jsonschema), and two more
for arrays that belong together: ``"dimension": "n"`` gives a number a name, ``"shape": ["n", "f"]`` says how long an
array and the arrays in it are; a name stands for one number throughout the data, or inside an object whose schema says
``"scope": true``.  Numbers have to be finite and below ``LARGEST``, texts must be Unicode, whether the schema mentions
them or not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

LARGEST = 1e100  # powers of a larger number overflow before anything sensible is computed from them
WHOLE = 2**53  # integers up to here are exact as floating-point numbers
DEEPEST = 30  # levels of nesting
TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


class Mismatch(Exception):
    """What is wrong, and where."""


def check(data: Any, schema: Mapping[str, Any]) -> None:
    """Raises :class:`Mismatch` with a phrase such as "record/dt must be > 0"."""
    _plain(data, "", 0)
    _Checker(schema).check(data, schema, "")


def _plain(value: Any, place: str, depth: int) -> None:
    """Every number and text of the data, whatever the schema says."""
    if depth > DEEPEST:
        raise Mismatch(f"{_named(place)} is nested too deeply")
    if isinstance(value, dict):
        for key, item in value.items():
            _plain(key, place, depth)
            _plain(item, f"{place}/{key}", depth + 1)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            _plain(item, f"{place}/{i}", depth + 1)
    elif isinstance(value, str):
        if any("\ud800" <= c <= "\udfff" for c in value):
            raise Mismatch(f"{_named(place)} is no Unicode text")
    elif isinstance(value, float) and not abs(value) <= LARGEST:
        raise Mismatch(f"{_named(place)} must be a finite number, at most {LARGEST:g}")
    elif isinstance(value, int) and abs(value) > WHOLE:
        raise Mismatch(f"{_named(place)} must be at most {WHOLE}")


def _named(place: str) -> str:
    shown = place.strip("/").encode("ascii", "replace").decode()
    return (shown if len(shown) < 60 else shown[:57] + "…") or "the file"


class _Checker:
    """One pass over the data: what the names of dimensions stand for is found on the way."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.dimensions: dict[str, int] = {}

    def check(self, value: Any, schema: Mapping[str, Any], place: str) -> None:
        if schema.get("scope"):
            outside, self.dimensions = self.dimensions, {}
            try:
                self.check(value, {keyword: rule for keyword, rule in schema.items() if keyword != "scope"}, place)
            finally:
                self.dimensions = outside
            return
        if "$ref" in schema:
            self.check(value, self._referred(schema["$ref"]), place)
        for keyword, rule in schema.items():
            if keyword in KEYWORDS:
                KEYWORDS[keyword](self, value, rule, place)
        if isinstance(value, dict):
            self._members(value, schema, place)
        if isinstance(value, list) and "items" in schema:
            for i, item in enumerate(value):
                self.check(item, schema["items"], f"{place}/{i}")
        if "if" in schema and self.fits(value, schema["if"]):
            self.check(value, schema.get("then", {}), place)

    def fits(self, value: Any, schema: Mapping[str, Any]) -> bool:
        """Whether a value obeys a schema; what its dimensions would stand for is forgotten again."""
        before = dict(self.dimensions)
        try:
            self.check(value, schema, "")
        except Mismatch:
            return False
        finally:
            self.dimensions = before
        return True

    def _referred(self, reference: str) -> Mapping[str, Any]:
        found: Any = self.root
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]
        return dict(found)

    def _members(self, value: dict[str, Any], schema: Mapping[str, Any], place: str) -> None:
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is False:
            for name in sorted(value.keys() - properties.keys()):
                raise Mismatch(f"{_named(place)} must not have {_named(name)!r}")
        for name, rule in properties.items():
            if name in value:
                self.check(value[name], rule, f"{place}/{name}")

    # -- keywords ------------------------------------------------------------------------------------------

    def type(self, value: Any, rule: str | list[str], place: str) -> None:
        names = [rule] if isinstance(rule, str) else rule
        if not any(_is(value, name) for name in names):
            raise Mismatch(f"{_named(place)} must be of the type {' or '.join(names)}")

    def required(self, value: Any, rule: list[str], place: str) -> None:
        for name in rule if isinstance(value, dict) else ():
            if name not in value:
                raise Mismatch(f"{_named(place)} must have {name!r}")

    def dependent_required(self, value: Any, rule: Mapping[str, list[str]], place: str) -> None:
        for name, others in rule.items():
            if isinstance(value, dict) and name in value:
                self.required(value, others, place)

    def one_of(self, value: Any, rule: list[Mapping[str, Any]], place: str) -> None:
        """Alternatives here exclude each other; of what fits none, the last one's complaint says most."""
        fitting = [schema for schema in rule if self.fits(value, schema)]
        self.check(value, fitting[0] if fitting else rule[-1], place)

    def all_of(self, value: Any, rule: list[Mapping[str, Any]], place: str) -> None:
        for schema in rule:
            self.check(value, schema, place)

    def not_(self, value: Any, rule: Mapping[str, Any], place: str) -> None:
        if self.fits(value, rule):
            raise Mismatch(f"{_named(place)} is what it must not be")

    def dimension(self, value: Any, name: str, place: str) -> None:
        if not isinstance(value, bool) and isinstance(value, int | float):
            self._bind(name, int(value), place)

    def shape(self, value: Any, names: list[str], place: str) -> None:
        if not isinstance(value, list):
            return
        self._bind(names[0], len(value), place)
        for i, item in enumerate(value if names[1:] else ()):
            self.shape(item, names[1:], f"{place}/{i}")

    def _bind(self, name: str, size: int, place: str) -> None:
        known = self.dimensions.setdefault(name, size)
        if known != size:
            raise Mismatch(f"{_named(place)} must be of the size {known}, and is {size}")


def _is(value: Any, name: str) -> bool:
    """Whether a value is of a type; truth values are no numbers, and 2.0 is an integer."""
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name]) or (name == "integer" and isinstance(value, float) and value.is_integer())


def _compared(right: Callable[[Any, Any], bool], words: str) -> Callable[[_Checker, Any, Any, str], None]:
    """A keyword that compares: of numbers with ``right``, of other values not at all."""

    def rule_of(checker: _Checker, value: Any, rule: Any, place: str) -> None:
        if isinstance(value, int | float) and not isinstance(value, bool) and not right(value, rule):
            raise Mismatch(f"{_named(place)} must be {words} {rule}")

    return rule_of


def _counted(
    kind: type[list[Any]] | type[str], right: Callable[[int, int], bool], words: str
) -> Callable[[_Checker, Any, Any, str], None]:
    """A keyword that counts what an array or a text holds."""

    def rule_of(checker: _Checker, value: Any, rule: Any, place: str) -> None:
        if isinstance(value, kind) and not right(len(value), rule):
            raise Mismatch(f"{_named(place)} must hold {words} {rule} items")

    return rule_of


def _same(value: Any, wanted: Any) -> bool:
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def _among(checker: _Checker, value: Any, rule: Any, place: str) -> None:
    if not any(_same(value, wanted) for wanted in rule):
        raise Mismatch(f"{_named(place)} must be one of {', '.join(map(str, rule))}")


KEYWORDS: Mapping[str, Callable[[_Checker, Any, Any, str], None]] = {
    "type": _Checker.type,
    "required": _Checker.required,
    "dependentRequired": _Checker.dependent_required,
    "oneOf": _Checker.one_of,
    "anyOf": _Checker.one_of,
    "allOf": _Checker.all_of,
    "not": _Checker.not_,
    "dimension": _Checker.dimension,
    "shape": _Checker.shape,
    "enum": _among,
    "const": lambda checker, value, rule, place: _among(checker, value, [rule], place),
    "minimum": _compared(lambda value, rule: value >= rule, "≥"),
    "maximum": _compared(lambda value, rule: value <= rule, "≤"),
    "exclusiveMinimum": _compared(lambda value, rule: value > rule, ">"),
    "minItems": _counted(list, lambda size, rule: size >= rule, "at least"),
    "maxItems": _counted(list, lambda size, rule: size <= rule, "at most"),
    "maxLength": _counted(str, lambda size, rule: size <= rule, "at most"),
}
