"""Forecasts within a recording: what is scored, and that nothing after a start is looked at."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from jetode.cli.benchmark import benchmark, recording_text
from jetode.cli.main import cli
from jetode.experiments import recording
from jetode.experiments.peers import registry as peers
from jetode.records.series import Series
from jetode.signal.jets_against_delays import Sufficiency
from jetode.support.errors import InputError

PERIOD = 40
VALUES = np.sin(2 * np.pi * np.arange(2000) / PERIOD)


def test_oscillations_are_counted():
    assert recording.oscillation(VALUES) == pytest.approx(PERIOD, rel=0.03)


@pytest.mark.parametrize("name", ["local-linear", "NVAR", "AR", "paper", "persistence", "repetition"])
def test_peers_look_only_at_what_is_up_to_a_start(name):
    if peers.available()[name] is None:
        pytest.skip(f"{name} needs jetode[bench]")
    noisy = VALUES[:1500] + 0.5 * np.sin(np.arange(1500) / 11.3) + 0.01 * np.random.default_rng(0).normal(size=1500)
    rollout = peers.fit(name, noisy[:700], 0.1)
    later = noisy.copy()
    later[1001:] = 0.0
    ends = np.array([900, 1000])
    np.testing.assert_allclose(rollout(noisy, ends, 30), rollout(later, ends, 30), rtol=1e-12)


def test_a_recording_that_is_too_short_is_refused():
    with pytest.raises(InputError, match="must hold more than"):
        recording.measure_recording(Series(VALUES[:400], 0.1), [])


def test_the_recording_must_be_named_and_there(tmp_path):
    assert CliRunner().invoke(benchmark, ["nickel"]).exit_code == 2
    done = CliRunner().invoke(cli, ["benchmark", "nickel", str(tmp_path / "none.csv")])
    assert done.exit_code == 2 and "none.csv" in done.stderr and done.stderr.count("\n") == 1


def test_the_table_is_ordered_by_valid_prediction_time():
    scores = {"error": {"1": 0.5}, "blown": 0.0, "seconds": 1.0}
    text = recording_text(
        {
            "samples": 10,
            "samples_per_oscillation": 4.0,
            "starts": 2,
            "drift": 0.1,
            "trusted": False,
            "reason": "No.",
            "conclusion": "Best by kernel-ridge.",
            "results": {"AR": scores | {"vpt": 0.5}, "kernel-ridge": scores | {"vpt": 2.0, "error": {"1": None}}},
        }
    )
    assert text.index("kernel-ridge") < text.index("AR  ") and "Not trusted: No." in text
    assert text.endswith("Best by kernel-ridge.")


def test_the_conclusion_names_the_best_the_trivial_and_the_drift():
    times = {
        "jetode": {"vpt": 0.7},
        "kernel-ridge": {"vpt": 2.1},
        "repetition": {"vpt": 0.2},
        "persistence": {"vpt": 0.1},
    }
    blind = Sufficiency((1.0,), {2: (0.8,), 3: (0.8,), 4: (0.8,)}, {1.4: (0.4,)})
    text = recording.conclusion(times, False, 0.26, 5.0, blind)
    assert "2.1 oscillations, best by kernel-ridge" in text and "not trusted) reaches 0.7" in text
    assert "repetition 0.2" in text and "drifts by 0.26" in text and "hidden from the jets" in text
    alone = recording.conclusion({"jetode": {"vpt": 0.0}}, False, 0.1, 1.0, None)
    assert "no peer was measured" in alone and "Predictable" not in alone
    ours = recording.conclusion({"jetode": {"vpt": 3.0}, "AR": {"vpt": 1.0}}, True, 0.1, 1.0, None)
    assert "best by jetode (the equation, trusted)" in ours and "does not clearly drift" in ours
