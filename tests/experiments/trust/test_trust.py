"""Calibration: drawn flows are what they are said to be, truths are exact, and outcomes add up."""

import numpy as np
import pytest

from jetode.equations.polynomials import add, evaluate, multiply
from jetode.experiments.trust import bench, outcome, records, summary, table
from jetode.experiments.trust.page import page
from jetode.experiments.trust.records import RANDOM, Drawn, _random
from jetode.experiments.trust.systems import SETTINGS, Flow, _triad, draw
from jetode.records.series import Series
from jetode.support.errors import InputError

SPROTT: Flow = Flow(  # u''' = −2.017 u'' + u'² − u, Sprott's simplest chaotic flow
    ({(0, 1, 0): 1.0}, {(0, 0, 1): 1.0}, {(0, 0, 1): -2.017, (0, 2, 0): 1.0, (1, 0, 0): -1.0}),
    (-0.54106056, 0.59383201, 0.45127217),
    0.055,
    True,
    "jerk",
)


def seen(flow, n=400, dt=0.1, coordinate=0):
    states = flow.run(np.array(flow.state), n + 100, dt).states
    values = states[:, coordinate]
    about = {"kind": flow.kind, "level": 0.0, "noise": "none"}
    ahead = values[n - 1 :]
    return Drawn(Series(values[:n], dt), about, flow, coordinate, 1.0, ahead, ahead, states[n - 1 :])


def test_the_products_of_a_triad_keep_energy():
    rng = np.random.default_rng(3)
    for _ in range(20):
        rows = _triad(rng, SETTINGS)
        products = [{e: c for e, c in row.items() if sum(e) == 2} for row in rows]
        power = add(*(multiply({tuple(int(i == k) for i in range(3)): 1.0}, p) for k, p in enumerate(products)))
        assert max(map(abs, power.values()), default=0.0) < 1e-12


def test_jets_of_a_flow_are_derivatives_along_it():
    states = SPROTT.run(np.array(SPROTT.state), 2001, 0.01).states
    jets = SPROTT.jet_values(1, 3, states)
    for k in range(3):
        slope = (jets[2:, k] - jets[:-2, k]) / 0.02
        assert slope == pytest.approx(jets[1:-1, k + 1], abs=2e-3)


def test_the_true_equation_has_no_error_and_another_one_has():
    drawn = seen(SPROTT)

    class Told:
        """A model that states a closure."""

        def __init__(self, law):
            from jetode.equations.regular import RegularClosure

            self.closure = RegularClosure({}, {(0, 0): 1.0}, law, 3).rational()
            self.dynamics = self

    assert outcome.field_error(Told(dict(SPROTT.rows[2])), drawn) < 1e-12
    off = {e: 1.01 * c for e, c in SPROTT.rows[2].items()}
    assert outcome.field_error(Told(off), drawn) == pytest.approx(0.01, rel=1e-6)


def test_a_jerk_flow_seen_through_its_first_coordinate_has_its_own_equation_as_truth():
    drawn = seen(SPROTT)
    assert drawn.truth is not None
    jets = drawn.flow.jet_values(0, 3, drawn.states)
    assert evaluate(drawn.truth.P, jets[:, :3]) == pytest.approx(jets[:, 3], abs=1e-12)
    assert seen(SPROTT, coordinate=1).truth is None


SHEARED = Flow(  # of seed 1560; behind its velocity x is hidden beside a pole at u0 = −1.7/0.74
    (
        {(0, 1, 0): 1.0},
        {(0, 0, 1): 1.0},
        {
            (0, 0, 1): -1.76,
            (1, 0, 0): -1.7,
            (0, 1, 0): -0.81,
            (0, 0, 0): -2.05,
            (0, 2, 0): 0.89,
            (1, 1, 0): -0.74,
        },
    ),
    (0.1, 0.1, 0.1),
    0.03,
    True,
    "jerk",
)


def test_the_regular_closure_of_a_flow_holds_on_its_jets_and_has_no_terms_of_rounding():
    truth = SHEARED.regular(1)
    assert set(truth.a) == {(0, 0), (0, 1)} and set(truth.P) == {(1, 0, 0), (0, 1, 0)}
    assert pytest.approx({(1, 0): 1.0, (0, 0): 1.7 / 0.74}) == truth.D
    states = np.random.default_rng(0).uniform(-1.0, 1.0, (50, 3))
    jets, closure = SHEARED.jet_values(1, 3, states), truth.rational()
    left = evaluate(closure.denominator, jets[:, :3]) * jets[:, 3]
    assert evaluate(closure.numerator, jets[:, :3]) == pytest.approx(left, abs=1e-9)
    assert pytest.approx(dict(SPROTT.rows[2])) == SPROTT.regular(0).P


def test_an_equation_that_is_far_off_is_right_only_with_the_true_terms(monkeypatch):
    """Under coloured noise right coefficients are farther off than white noise would leave them."""
    drawn = seen(SHEARED, coordinate=1)
    assert outcome.is_far(0.03, 0.05) and not outcome.is_far(0.01, 0.05) and not outcome.is_far(None, 0.05)
    assert outcome.is_far(float("nan"), 0.05)
    asked, asked_right = [], None
    monkeypatch.setattr(outcome, "compare", lambda model, truth, tc: asked.append(truth) or asked_right)
    for right in (True, False):
        asked_right = type("Comparison", (), {"right": right})
        assert outcome.is_the_truth(None, drawn) is right
    assert [truth.P for truth in asked] == [SHEARED.regular(1).P] * 2
    monkeypatch.setattr("jetode.catalogue.exact_closure.MAX_COLUMNS", 100)
    square = Flow((*SPROTT.rows[:2], {(0, 0, 1): -0.5, (0, 1, 0): -1.0, (2, 0, 0): 1.0, (0, 0, 0): -1.0}), *[None] * 4)
    assert square.regular(1) is None  # the velocity leaves x two values
    assert not outcome.is_the_truth(None, Drawn(drawn.series, {}, square, 1))


def test_a_seed_draws_the_same_flow_and_it_neither_leaves_nor_rests():
    flow = draw(9)
    assert flow is not None
    assert flow == draw(9)
    run = flow.run(np.array(flow.state), 4000, 0.05).states
    assert np.abs(run).max() < SETTINGS.bound
    assert np.std(run[2000:], axis=0).min() > SETTINGS.moves


@pytest.mark.parametrize("kind", RANDOM)
def test_noise_without_dynamics_is_finite_and_as_long_as_asked(kind):
    values = _random(kind, 700, 10.0, 9, np.random.default_rng(0))
    assert values.shape == (700,)
    assert np.isfinite(values).all() and np.std(values) > 0


def test_a_record_of_a_seed_is_what_it_says(monkeypatch):
    monkeypatch.setattr(records, "draw", lambda seed: SPROTT)
    asked = records.RecordSettings(random=0.0, clean=0.0, samples=(500, 600))
    one, again = records.record(4, asked), records.record(4, asked)
    assert np.array_equal(one.series.values, again.series.values)
    assert one.series.n == one.about["samples"]
    noise = one.measured[1:] - one.ahead[1:]
    assert np.std(noise) == pytest.approx(one.about["level"] * np.std(one.ahead), rel=0.5)


@pytest.mark.slow
def test_a_clean_jerk_flow_is_exact_and_right():
    drawn = seen(SPROTT, n=3000)
    found = outcome.measure(drawn, 0)
    assert found["grade"] == "exact" and not found["wrong"]
    assert found["error"] < 1e-6
    assert found["intervals"][1] == 3


def outcomes():
    flow = {"kind": "jerk", "samples": 900, "noise": "gaussian", "level": 0.1, "cpu_seconds": 2.0, "order": 3}
    exact = flow | {"grade": "exact"}
    return [
        exact | {"seed": 0, "wrong": False, "vpt": 2.0, "band_50": 0.5, "band_90": 1.0, "intervals": [3, 4]},
        exact | {"seed": 1, "wrong": True, "vpt": 1.0, "band_50": 0.3, "band_90": 0.8, "intervals": None},
        flow | {"seed": 2, "grade": "none", "kind": "random", "noise": "white", "level": 1.0, "wrong": False},
        {"seed": 3, "grade": None},
    ]  # fmt: skip


def test_outcomes_add_up():
    found = {p.name: p for p in summary.points(outcomes())}
    assert found["90 % band, exact"].held == pytest.approx(0.9)
    assert found["95 % intervals of coefficients"].held == pytest.approx(0.75)
    assert summary.wrong_and_exact(outcomes()) == 1
    far = [o | {"error": 0.05} for o in outcomes() if o["grade"] == "exact"]
    assert summary.right_but_far(far) == 1 and "(and 1 far off with the true terms)" in summary.text(far)
    assert sum(row["count"] for row in summary.grade_rows(outcomes())) == 3
    assert "odd seeds (reported): 1 records, 1 exact, 1 of them wrong" in summary.text(outcomes())


def test_files_of_several_sittings_add_up(tmp_path):
    """What is written is read back as it was; a seed that two files have counts once, by the last."""
    first = [o | {"commit": "aaa", "code": "1"} for o in outcomes()]
    second = [outcomes()[1] | {"commit": "bbb", "code": "2", "wrong": False}, outcomes()[0] | {"seed": 7}]
    for name, part in (("first", first), ("second", second)):
        table.write_rows(part, tmp_path / f"{name}.csv")
    parts = [table.read_rows(tmp_path / f"{name}.csv") for name in ("first", "second")]
    assert all(read[key] == value for read, given in zip(parts[0], first, strict=True) for key, value in given.items())
    every = table.merged(parts)
    assert [o["seed"] for o in every] == [0, 1, 2, 3, 7]
    assert summary.wrong_and_exact(every) == 0
    assert summary.sources(every) == [("aaa", "1", 2), ("bbb", "2", 1), ("unknown", "unknown", 1)]
    assert "1 of commit bbb" in page(every, "x") and "1 records of commit bbb (code 2)" in summary.text(every)


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "other.csv").write_text("time,value\n0,1\n")
    with pytest.raises(InputError, match="columns of 'jetode benchmark trust'"):
        table.read_rows(tmp_path / "other.csv")


def test_the_page_and_the_table_hold_every_outcome(tmp_path):
    bench.write(outcomes(), tmp_path, "jetode benchmark trust")
    assert "Reliability diagram" in (tmp_path / "index.html").read_text()
    assert len((tmp_path / "outcomes.csv").read_text().splitlines()) == 5
    assert "no flow was drawn" in bench.line(outcomes()[3])
    assert "nan" not in page(outcomes(), "x").split("<table>")[0].replace("±", "")
