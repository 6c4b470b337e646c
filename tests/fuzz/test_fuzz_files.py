"""300 damaged files of every format keep the contract; ``make fuzz`` tries 20,000."""

from __future__ import annotations

import pytest

from fuzz.fuzz_files import make, problem_of, run
from fuzz.samples import write_samples

WARNS = """
import warnings
from jetode.support.errors import InputError
warnings.warn("w")
raise InputError("A sentence.")
"""


def test_the_samples_are_read(tmp_path):
    samples = write_samples(tmp_path)
    for path in samples:
        several = {"columns.tsv": ["--column", "a"], "keysight.csv": ["--column", "1"], "float.wav": ["--column", "1"]}
        options = several.get(path.name, []) + (["--dt", "1"] if path.name in ("one.dat", "vector.npy") else [])
        assert problem_of(path, options) == (0, ""), path.name


@pytest.mark.parametrize("seed", range(6))
def test_damaged_files_keep_the_contract(seed):
    codes, problems = run(seed, 0, 50)
    assert not problems, "\n".join(problems)
    assert sum(codes.values()) == 50 and codes[2] > 5


def test_the_contract_can_be_broken(tmp_path, monkeypatch):
    """The check sees an exception, a warning and a second line."""
    (tmp_path / "samples").mkdir()
    path, options = make(0, 0, write_samples(tmp_path / "samples"), tmp_path)
    for broken, seen in (("raise KeyError(1)", "KeyError"), (WARNS, "warnings: ['w']")):
        with monkeypatch.context() as patch:
            patch.setattr("jetode.cli.diagnose.read_with", lambda *_, code=broken: exec(code))
            assert seen in problem_of(path, options)[1]


def test_diagnoses_of_short_damaged_records(tmp_path):
    """A few whole diagnoses, of records that are nearly constant, huge, tiny or mostly one value."""
    from numpy.random import default_rng

    rng = default_rng(0)
    wave = [0.0] * 230
    records = {
        "one spike": [*wave[:100], 1.0, *wave[101:]],
        "two levels": [float(i % 2) for i in range(230)],
        "a step": [0.0] * 115 + [1.0] * 115,
        "last sample": [*wave[:-1], 1.0],
        "first sample": [1.0, *wave[1:]],
        "ramp": [float(i) for i in range(230)],
        "huge": (1e50 * rng.standard_normal(230)).tolist(),
        "tiny": (1e-50 * rng.standard_normal(230)).tolist(),
        "far from zero": (1e12 + rng.standard_normal(230)).tolist(),
    }
    for name, values in records.items():
        path = tmp_path / f"{name}.csv"
        path.write_text("x\n" + "".join(f"{v!r}\n" for v in values))
        for dt in ("1", "1e-25", "1e-300", "1e300") if name == "ramp" else ("1",):
            code, problem = problem_of(path, ["--dt", dt], diagnosed=True)
            assert not problem, (name, problem)
            assert code == (2 if "300" in dt else 0)
