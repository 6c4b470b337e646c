"""Plain data against a schema: as the library jsonschema says, and arrays against each other."""

import json
from importlib.resources import files
from pathlib import Path
from random import Random

import jsonschema
import pytest

from fuzz.mutations import in_tree
from jetode.support.schema import Mismatch, check

SCHEMA = json.loads((files("jetode.reconstruction") / "schemas" / "model.schema.json").read_text("utf-8"))
SAVED = Path(__file__).parents[1] / "reconstruction" / "saved"
LIBRARY = jsonschema.Draft202012Validator(SCHEMA)


def problem(data, schema):
    try:
        check(data, schema)
    except Mismatch as found:
        return str(found)
    return ""


@pytest.mark.parametrize("name", ["joint_lorenz", "chain_rossler_z", "paper_lorenz"])
def test_it_refuses_what_the_library_refuses(name):
    """Whatever breaks the schema is found; only this check sees sizes, and numbers and texts that no JSON has."""
    random, text = Random(name), (SAVED / f"{name}.json").read_text()
    refused = 0
    for _ in range(150):
        data = json.loads(text)
        in_tree(random, data)
        found, valid = problem(data, SCHEMA), LIBRARY.is_valid(data)
        refused += not valid
        assert found or valid
        if found and valid:
            assert any(words in found for words in ("of the size", "finite", "at most", "Unicode", "nested")), found
    assert refused > 20


KEYWORDS = [
    ({"type": "integer"}, [1, 2.0], [1.5, True, "1", None]),
    ({"type": "number"}, [1, 2.5], [True, "1"]),
    ({"type": "boolean"}, [True], [0, 1]),
    ({"type": ["number", "null"]}, [1, None], ["1", False]),
    ({"enum": [2, "a"]}, [2, "a"], [3, True, None]),
    ({"const": 1}, [1], [True, 2]),
    ({"minimum": 2, "maximum": 3}, [2, 3, "x"], [1, 4]),
    ({"exclusiveMinimum": 0}, [0.1], [0]),
    ({"minItems": 1, "maxItems": 2}, [[1], [1, 2], "abc"], [[], [1, 2, 3]]),
    ({"maxLength": 2}, ["ab", 5], ["abc"]),
    ({"required": ["a"]}, [{"a": 1}, 3], [{}]),
    ({"properties": {"a": {"type": "null"}}, "additionalProperties": False}, [{}, {"a": None}], [{"a": 1}, {"b": 1}]),
    ({"dependentRequired": {"a": ["b"]}}, [{}, {"b": 1}, {"a": 1, "b": 1}], [{"a": 1}]),
    ({"items": {"type": "string"}}, [[], ["a"]], [[1], ["a", None]]),
    ({"oneOf": [{"type": "null"}, {"type": "string"}]}, [None, "a"], [1]),
    ({"anyOf": [{"minimum": 5}, {"maximum": 1}]}, [0, 6], [3]),
    ({"allOf": [{"minimum": 1}, {"maximum": 5}]}, [3], [0, 6]),
    ({"not": {"type": "null"}}, [1], [None]),
    ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, [{}, {"a": 1, "b": 1}], [{"a": 1}]),
    ({"$ref": "#/$defs/x", "$defs": {"x": {"type": "null"}}}, [None], [1]),
]


@pytest.mark.parametrize(
    ("schema", "right", "wrong"), KEYWORDS, ids=lambda v: next(iter(v)) if isinstance(v, dict) else ""
)
def test_keywords_mean_what_they_mean_to_the_library(schema, right, wrong):
    for value in right:
        assert not problem(value, schema) and jsonschema.Draft202012Validator(schema).is_valid(value), value
    for value in wrong:
        assert problem(value, schema) and not jsonschema.Draft202012Validator(schema).is_valid(value), value


def test_arrays_that_belong_together_have_one_size():
    matrix = {"properties": {"order": {"dimension": "n"}, "mean": {"shape": ["n"]}, "mixed": {"shape": ["n", "f"]}}}
    assert not problem({"order": 2, "mean": [1.0, 2.0], "mixed": [[1.0], [2.0]]}, matrix)
    assert problem({"order": 3, "mean": [1.0, 2.0]}, matrix) == "mean must be of the size 3, and is 2"
    assert problem({"mean": [1.0], "mixed": [[1.0], [2.0]]}, matrix) == "mixed must be of the size 1, and is 2"
    assert problem({"mixed": [[1.0], [2.0, 3.0]]}, matrix) == "mixed/1 must be of the size 1, and is 2"


def test_an_object_may_have_sizes_of_its_own():
    lengths = {"a": {"shape": ["n"]}, "b": {"shape": ["n"]}}
    schema = {"properties": {**lengths, "inner": {"scope": True, "properties": lengths}}}
    assert not problem({"a": [1], "inner": {"a": [1, 2], "b": [3, 4]}, "b": [2]}, schema)
    assert problem({"a": [1], "inner": {"a": [1, 2], "b": [3]}}, schema) == "inner/b must be of the size 2, and is 1"
    assert problem({"a": [1], "inner": {"a": [1, 2]}, "b": [1, 2]}, schema) == "b must be of the size 1, and is 2"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (float("nan"), "finite"),
        (float("inf"), "finite"),
        (1e101, "at most 1e+100"),
        (10**400, "at most 9007199254740992"),
        ("\ud800", "Unicode"),
    ],
)
def test_numbers_and_texts_anywhere(value, words):
    assert words in problem({"a": [{"b": value}]}, {})
    deep = []
    for _ in range(40):
        deep = [deep]
    assert "nested too deeply" in problem(deep, {})
