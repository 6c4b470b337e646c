"""The benchmark of elements: its plan, its scores, its table."""

from dataclasses import replace

import numpy as np
import pytest

from jetode.experiments.core import sweep
from jetode.experiments.elements import bench
from jetode.experiments.elements.cases import CASES, TrueElement
from jetode.reconstruction.reconstruct import reconstruct
from jetode.records.series import Series
from jetode.support.errors import InputError


def result(case="pendulum", noise=0.05, seed=0, grade="exact", named=True, within=True, related=None):
    names = [e.name for e in CASES[case].elements] if named else ["tanh"]
    return {
        "case": case, "noise": noise, "seed": seed, "grade": grade, "names": names,
        "variables": ["x"] * len(names), "named": named, "within": within, "seconds": 2.0,
        "related": named if related is None else related,
    }  # fmt: skip


def test_every_system_of_a_seed_comes_before_the_next_seed():
    tasks = bench.Plan((), (0.05,), 2).tasks()
    assert [t.options["case"] for t in tasks] == [*CASES, *CASES]
    assert [t.first for t in tasks] == [0] * len(CASES) + [1] * len(CASES)
    assert len({t.key for t in tasks}) == len(tasks)


def test_unknown_systems_are_refused():
    with pytest.raises(InputError, match="pendulum"):
        bench.Plan(("penduluum",), (0.05,), 1)


def test_the_table_counts_wrong_names_that_are_exact():
    rows = [result(), result(seed=1, named=False, within=False), result(seed=2, grade="approximate", within=False)]
    assert bench.table(rows).splitlines()[-1] == "| pendulum | sin | 5 % | 3 | 2 | 2 | 1 | 2 | 1 | 2 |"
    assert "tanh" in bench.line(rows[1]) and "right" in bench.line(rows[0])


def test_a_name_of_the_same_family_is_counted_apart_and_still_wrong():
    assert [e.family for e in CASES["YuWang2 x"].elements] == [("exp",)]
    rows = [result("YuWang2 x"), result("YuWang2 x", seed=1, named=False, related=True)]
    assert bench.table(rows).splitlines()[-1] == "| YuWang2 x | cosh | 5 % | 2 | 1 | 2 | 2 | 2 | 1 | 2 |"
    assert "family" in bench.line(rows[1])


@pytest.mark.parametrize(("got", "error", "far"), [(1.1, 0.1, 1.0), (1.0, 0.0, 0.0), (2.0, float("nan"), float("inf"))])
def test_distances_in_standard_errors(got, error, far):
    assert bench._distance(got, error, 1.0) == pytest.approx(far)


def test_finished_records_are_not_repeated(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "scored", lambda case, noise, seed: result(case.name, noise, seed))
    plan, said = bench.Plan(("pendulum",), (0.05,), 1), []
    with sweep.here() as execute:
        first = list(bench.measure(plan, tmp_path, execute, said.append))
    assert first == [result()]
    monkeypatch.setattr(bench, "scored", lambda *_: pytest.fail("done before"))
    with sweep.here() as execute:
        assert list(bench.measure(plan, tmp_path, execute, said.append)) == first


@pytest.fixture(scope="module")
def swing():
    """A pendulum with its known sine, and its case."""
    case = CASES["pendulum"]
    record = case.record(0.02, 1)[0]
    short = Series(record.values[:1200], record.dt, name="x")
    return reconstruct(short, order=2, functions={"sin": {"frequency": 1.0, "phase": 0.0}}), case


def test_a_right_name_of_the_right_argument_is_found(swing):
    model, case = swing
    ((true, found),) = bench.matched(model, case)
    assert (true.name, found.name, found.variable) == ("sin", "sin", "x")
    assert bench.argument_error(model, found, true) < 0.02
    assert bench.parameter_errors([(true, found)]) == {"sin.frequency": 0.0, "sin.phase": 0.0}


def test_a_right_name_of_a_wrong_argument_does_not_count(swing):
    model, case = swing
    of_velocity = replace(case, elements=(TrueElement("sin", "u1", {}),))
    assert not bench.matched(model, of_velocity)
    assert bench.argument_error(model, model.elements[0], of_velocity.elements[0]) > 1.0


def test_chuas_argument_is_a_combination_of_derivatives():
    """x of Chua's circuit from z and its derivatives by differences of an integrated run."""
    case = CASES["Chua z"]
    whole = replace(case, dt=0.001, samples=2000, transient=10.0)
    z, x = (replace(whole, channel=c).signal(0) for c in (2, 0))
    slope = np.gradient(z, whole.dt)
    jets = np.column_stack([z, slope, np.gradient(slope, whole.dt)])[5:-5]
    np.testing.assert_allclose(case.elements[0].argument(jets), -100.0 / 7.0 * x[5:-5], atol=0.02)
