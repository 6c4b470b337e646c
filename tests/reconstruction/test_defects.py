"""One way to count, one way to stop, nothing lost on the way: what used to go wrong in silence."""

from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pytest

import jetode
from jetode.cli.common import EXIT_CODES
from jetode.cli.terminal import summary
from jetode.joint.fit import fit_joint
from jetode.joint.progress import Budget, WithModel
from jetode.joint.request import Request
from jetode.reconstruction.held_out import _refitted
from jetode.reconstruction.verdict import Baseline, Holds, Verdict
from jetode.reporting.forecast_reach import outlook, sentence
from jetode.reporting.report import report
from jetode.signal.decimate import LONG

SAVED = Path(__file__).parent / "saved"


@pytest.fixture(scope="module")
def van_der_pol():
    """A record so long and dense that it is decimated, and its continuation."""
    whole = jetode.systems["van_der_pol"].simulate(230.0, dt=0.01).observe("x")
    return whole.slice(0, LONG + 500), whole.values[LONG + 500 :]


def test_a_forecaster_predicts_at_the_records_own_step(van_der_pol):
    record, ahead = van_der_pol
    forecaster = jetode.JetForecaster(dt=0.01, order=2).fit(record.values)
    assert forecaster.model_.record.decimation > 1 and forecaster.lag_ > 0
    predicted = forecaster.predict(ahead[:1000])
    np.testing.assert_allclose(predicted, ahead[:1000], atol=0.01 * record.std)
    assert forecaster.score(ahead[:1000]) == pytest.approx(9.99)


def test_a_decimation_is_told_wherever_the_model_is_shown(van_der_pol):
    """Also where the record is refused: there the note used to be lost.  Simple forecasts are enough of a contest."""
    record, budget = van_der_pol[0], Budget()
    refused = record.with_values(record.values + 1e6 * record.std)
    model = jetode.reconstruct(
        refused, budget=budget, progress=lambda stage: budget.cancel() if "memory" in stage else None
    )
    assert model.verdict.grade != "exact" and model.record.decimation > 1
    note = f"decimated by {model.record.decimation} after a low-pass filter"
    ahead = model.forecast(1.0)
    assert note in " ".join(summary(model, ahead, []).split())
    page = report(model, ahead)
    assert note in page and "Time over that of the best simple method" in page  # what the verdict was graded by
    assert note in model.to_json()["record"]["notes"][0] and note in model._repr_html_()


def test_the_held_out_check_keeps_the_robust_loss():
    clean = jetode.systems["lorenz"].simulate(60.0).observe("x")
    values = jetode.add_noise(clean.values, 0.1, np.random.default_rng(2))
    noisy = clean.with_values(jetode.add_noise(values, 0.15, np.random.default_rng(1), "outliers"))
    joint = fit_joint(Request((noisy,), 3))
    assert joint.identified.robust
    earlier = _refitted(joint, (noisy,), [(0, 4500)], lambda: False)
    assert earlier.robust and earlier.loss == "student"
    assert not np.array_equal(earlier.terms.coefficients, joint.identified.terms.coefficients)


def test_whether_there_is_a_model_to_stop_with_is_a_flag():
    budget, said = Budget(), []
    say = budget.watching(said.append)
    say("scanning: eliminating nothing yet")
    assert not budget.has_model
    say(WithModel("anything at all"))
    assert budget.has_model and not budget.spent and said[-1] == "anything at all"
    budget.cancel()
    assert budget.spent and budget.cancelled


def test_the_seed_of_the_reconstruction_draws_the_bands():
    model = jetode.load(SAVED / "joint_lorenz.json")
    other = replace(model, settings={**model.settings, "seed": 5})
    np.testing.assert_array_equal(model.forecast(1.0).lower, model.forecast(1.0, seed=0).lower)
    np.testing.assert_array_equal(other.forecast(1.0).lower, model.forecast(1.0, seed=5).lower)
    assert not np.array_equal(other.forecast(1.0).lower, model.forecast(1.0).lower)


def test_oscillations_are_counted_one_way():
    """A spike train: tc is that of the spikes, and an oscillation goes from one spike to the next."""
    t = np.arange(6000)
    spikes = np.exp(-(((t % 200) - 100.0) ** 2) / 50.0)
    record = jetode.Series(spikes + 1e-3 * np.random.default_rng(0).standard_normal(6000), 0.5)
    found = jetode.diagnose(record)
    assert found.oscillations == pytest.approx(30, abs=1)
    assert found.samples_per_oscillation == pytest.approx(200, rel=0.05) and found.samples_per_tc < 15
    model = jetode.reconstruct(record, order=2, denominator_degree=0, numerator_degree=2)
    assert model.oscillation == pytest.approx(100.0, rel=0.05)
    assert model.evidence.oscillation == model.oscillation


def test_the_report_computes_nothing_again(monkeypatch):
    record = jetode.systems["lorenz"].simulate(30.0).observe("x")
    model = jetode.reconstruct(record, denominator_degree=1, numerator_degree=4)
    ahead = model.forecast(2.0)

    def forbidden(*_, **__):
        raise AssertionError("the report must only show what the model carries")

    for name in ("paper.identify.identify", "paper.identify.embed", "signal.delay.average_mutual_information",
                 "signal.delay.false_nearest_neighbours", "signal.spline.smooth"):  # fmt: skip
        monkeypatch.setattr(f"jetode.{name}", forbidden)
    page = report(model, ahead)
    for figure in ("record", "attractor", "residuals", "whiteness", "information", "neighbours", "spectrum"):
        assert f'data-figure="{figure}"' in page


GRADED = {
    "exact": ("can be trusted", 0),
    "approximate": ("describes this signal approximately", 4),
    "forecast": ("no readable equation", 4),
    "none": ("No equation was found, and no forecast", 3),
}


@pytest.mark.parametrize("grade", list(GRADED))
def test_every_grade_is_said_first_and_in_plain_words(grade):
    words, code = GRADED[grade]
    verdict = Verdict(grade, "Because.", "Do that.", Holds(2.0, 1.0, 3.0), Baseline("repetition", 0.5))
    model = replace(jetode.load(SAVED / "joint_lorenz.json"), verdict=verdict)
    ahead = model.forecast(1.0)
    said = sentence(model, outlook(model, ahead))
    assert words in said and said.endswith("Because.") and EXIT_CODES[grade] == code
    text, page = " ".join(click.unstyle(summary(model, ahead, [])).split()), report(model, ahead)
    assert f"verdict {grade}: {said}" in text and said in page
    if grade in ("approximate", "forecast"):
        assert "for about 2 time units" in said and "(repetition) manages 0.5 time units" in said
    readable = grade in ("exact", "approximate")
    assert ("w' =" in text) == readable
    outside = page[: page.index('<details id="tried">')] if not readable else page
    assert ("<math" in outside) == readable and "<math" in page
    assert (model._repr_latex_() is not None) == readable and ("<math" in model._repr_html_()) == readable
