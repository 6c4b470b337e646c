"""Damaged files, models and chunks and odd options keep the contract in 500 cases; ``make fuzz`` tries 20,000."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from fuzz import chunks, input_files, models, options
from fuzz.contract import Case, problem_of
from fuzz.run import Cases, run
from fuzz.samples import write_samples

WARNS = """
import warnings
from jetode.support.errors import InputError
warnings.warn("w")
raise InputError("A sentence.")
"""
SEVERAL = {"columns.tsv": ["--column", "a"], "keysight.csv": ["--column", "1"], "float.wav": ["--column", "1"]}


def test_the_samples_are_sound(tmp_path):
    for kind in (input_files, models, chunks, options):
        (tmp_path / kind.__name__).mkdir()
    for path in write_samples(tmp_path / input_files.__name__):
        words = SEVERAL.get(path.name, []) + (["--dt", "1"] if path.name in ("one.dat", "vector.npy") else [])
        assert problem_of(Case(("diagnose", str(path), *words), path)) == (0, ""), path.name
    for path in models.prepare(tmp_path / models.__name__):
        assert problem_of(Case(("forecast", str(path), "--horizon", "0.2"), path)) == (0, ""), path.name
        without_equation = any(name in path.name for name in ("kernel", "analogue"))
        assert problem_of(Case(("export", str(path)), path)) == (2 if without_equation else 0, ""), path.name
    undamaged = SimpleNamespace(random=lambda: 0.0, choice=lambda values: 0 if 0 in values else values[0])
    (chunk,) = chunks.prepare(tmp_path / chunks.__name__)
    (tmp_path / "case").mkdir()
    assert problem_of(chunks.make(undamaged, [chunk], tmp_path / "case")) == (0, "")


@pytest.mark.parametrize("seed", range(5))
def test_the_contract_is_kept(seed):
    codes, problems = run(seed, 0, 100)
    assert not problems, "\n".join(problems)
    assert sum(codes.values()) == 100 and codes[2] > 20


def test_the_contract_can_be_broken(tmp_path, monkeypatch):
    """The check sees an exception, a warning, a file that nobody asked for and a hang."""
    case = Cases(tmp_path, "files").make(0, 0)
    bad = {
        "raise KeyError(1)": "KeyError",
        WARNS: "warnings: ['w']",
        f"open({str(case.path.parent / 'new')!r}, 'w').close()": "left ['new'] behind",
        "import time; time.sleep(30)": "took more than 2 s",
    }
    for broken, seen in bad.items():
        with monkeypatch.context() as patch:
            patch.setattr("fuzz.contract.SECONDS", 2 if "sleep" in broken else 60)
            patch.setattr("jetode.cli.diagnose.read_with", lambda *_, code=broken: exec(code) or SimpleNamespace(n=1))
            assert seen in problem_of(case)[1]


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
            code, problem = problem_of(Case(("diagnose", str(path), "--dt", dt), path), diagnosed=True)
            assert not problem, (name, problem)
            assert code == (2 if "300" in dt else 0)
