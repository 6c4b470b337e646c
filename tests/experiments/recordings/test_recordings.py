"""Recordings of a folder: grouping, the rule that shortens them, what a method may see, scores, resuming, the page."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from jetode.cli.main import cli
from jetode.experiments.core import store as stores
from jetode.experiments.core.fingerprint import PACKAGE, reached
from jetode.experiments.recordings import cases, methods, scores
from jetode.experiments.recordings.page import picture
from jetode.integration.dop853 import Stop
from jetode.integration.forecast import Forecast
from jetode.records.series import Series
from jetode.support.errors import InputError

PERIOD = 40


def sine(n, period=PERIOD, phase=0.0):
    return np.sin(2 * np.pi * np.arange(n) / period + phase)


def save(path, values, *comments):
    path.write_text("".join(f"# {c}\n" for c in comments) + "value\n" + "".join(f"{v:.9g}\n" for v in values))


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "data"
    path.mkdir()
    save(path / "swing_1.csv", sine(1200), "dt=0.02")
    save(path / "swing_2.csv", sine(800, phase=1.0), "dt=0.02")
    save(path / "alone.csv", sine(900, 30), "sampling_rate_hz=50")
    save(path / "short.csv", sine(100))
    return path


def case(folder, name="swing", starts=20):
    return cases.build(next(s for s in cases.sources(folder) if s.name == name), starts)


# -- cases -----------------------------------------------------------------------------------------------------------


def test_numbered_files_are_records_of_one_system(folder):
    save(folder / "other_10.csv", sine(900))
    found = {s.name: [p.name for p in s.paths] for s in cases.sources(folder)}
    assert found == {
        "swing": ["swing_1.csv", "swing_2.csv"],
        "alone": ["alone.csv"],
        "short": ["short.csv"],
        "other_10": ["other_10.csv"],
    }


def test_records_are_in_the_order_of_their_numbers(folder):
    for k in (10, 3):
        save(folder / f"swing_{k}.csv", sine(900), "dt=0.02")
    assert [p.stem for p in cases.sources(folder)[-1].paths] == ["swing_1", "swing_2", "swing_3", "swing_10"]


def test_a_case_knows_three_quarters_and_starts_in_the_rest(folder):
    found = case(folder)
    assert found.period == pytest.approx(PERIOD, rel=0.1) and found.dt == 0.02
    assert [part.n for part in found.known] == [900, 600]
    assert sum(ends.size for ends in found.starts) >= 20
    for record, part, ends in zip(found.records, found.known, found.starts, strict=True):
        assert ends[0] == part.n - 1 and ends[-1] + found.steps == record.n - 1 and np.all(np.diff(ends) > 0)
    assert found.steps == 100  # half of the unseen part of the shorter record


def test_the_interval_is_that_of_the_comments_else_unknown(folder):
    assert case(folder, "alone").dt == pytest.approx(0.02)
    save(folder / "bare.csv", sine(900))
    found = case(folder, "bare")
    assert found.dt == 1.0 and "does not tell its sampling interval" in found.notes[0]
    source = next(s for s in cases.sources(folder) if s.name == "bare")
    assert cases.build(source, 20, 0.5).dt == 0.5


def test_a_long_dense_record_is_averaged_and_cut_by_the_stated_rule(tmp_path):
    save(tmp_path / "long.csv", sine(60_000, 150))
    found = case(tmp_path, "long")
    assert found.records[0].n == cases.MOST and found.dt == 3.0  # 150 → 50 per oscillation
    assert found.period == pytest.approx(50, rel=0.02)
    assert "averaged over 3" in " ".join(found.notes) and "the first 10000 samples" in found.notes[-1]
    assert found.records[0].values[0] == pytest.approx(np.mean(sine(3, 150)), abs=1e-8)


def test_a_long_sparse_record_is_only_cut(tmp_path):
    save(tmp_path / "long.csv", sine(12_000, 25))
    found = case(tmp_path, "long")
    assert found.dt == 1.0 and found.records[0].n == cases.MOST and found.notes[-1] == "the first 10000 samples"


def test_a_gap_leaves_the_longest_stretch(tmp_path):
    lines = [f"{v:.6g}" for v in sine(1000)]
    lines[100] = "nan"
    (tmp_path / "gap.csv").write_text("value\n" + "\n".join(lines) + "\n")
    found = case(tmp_path, "gap")
    assert found.records[0].n == 899 and "longest stretch" in " ".join(found.notes)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"a.csv": sine(150)}, "150 samples"),
        ({"a.csv": np.ones(900)}, "constant"),
        ({"a.csv": sine(900, 400)}, "oscillations"),
    ],
)
def test_what_cannot_be_measured_says_why(tmp_path, files, says):
    for name, values in files.items():
        save(tmp_path / name, values)
    with pytest.raises(InputError, match=says):
        case(tmp_path, "a")


def test_records_of_one_system_have_one_interval(folder):
    save(folder / "swing_3.csv", sine(900), "dt=0.04")
    with pytest.raises(InputError, match="one sampling interval"):
        case(folder)


def test_a_folder_without_recordings_is_refused(tmp_path):
    for place in (tmp_path, tmp_path / "none"):
        with pytest.raises(InputError):
            cases.sources(place)


# -- methods and scores ------------------------------------------------------------------------------------------------


class Continued:
    """A model that knows the sine, without noise: its forecast goes on from the last two samples of its past."""

    noise_sigma, bands = 0.0, None

    class verdict:
        trusted, grade, reason, advice = True, "exact", "It is a sine.", ""

    def __init__(self, past=None, seen=None):
        self.past, self.seen = past, [] if seen is None else seen
        self.record = past

    def with_record(self, past):
        self.seen.append(past)
        return Continued(past, self.seen)

    def forecast(self, horizon):
        steps = round(horizon / self.past.dt)
        values = list(self.past.values[-2:])
        for _ in range(steps):
            values.append(2 * np.cos(2 * np.pi / PERIOD) * values[-1] - values[-2])
        values, t = np.array(values[1:]), self.past.dt * np.arange(steps + 1)
        return Forecast(
            t, values, values[:, None], self.past.dt, Stop.COMPLETED, t[-1], lower=values - 0.1, upper=values + 0.1
        )

    def equation(self, digits):
        return "x'' = -x"

    def coefficients(self):
        return (1,)


@pytest.fixture
def ours(monkeypatch):
    model, known = Continued(), []

    def reconstruct(records):
        known.extend(records)
        return model

    monkeypatch.setattr("jetode.reconstruction.reconstruct.reconstruct", reconstruct)
    return model, known


def test_ours_sees_the_known_parts_and_each_past_and_nothing_else(folder, ours):
    found = case(folder)
    result = scores.measured(found, methods.measure(found, methods.OURS))
    model, known = ours
    assert [part.n for part in known] == [900, 600]
    ends = [(r, int(e)) for r, starts in zip(found.records, found.starts, strict=True) for e in starts]
    for past, (record, end) in zip(model.seen, ends, strict=True):
        assert past.values[-1] == record.values[end] and past.times[-1] == pytest.approx(record.times[end])
        assert past.n <= round(methods.PAST * found.period)
    assert result["vpt"] == pytest.approx(found.steps / found.period)  # the whole horizon
    assert result["coverage"] == 1.0 and result["blown"] == 0.0
    assert result["about"]["grade"] == "exact" and result["about"]["coefficients"] == 1


def test_bands_of_an_exact_model_are_widened_by_the_noise():
    values = np.zeros((1, 5))
    none = methods.with_noise(np.stack([values, values - 0.3, values + 0.4]), 0.0)
    np.testing.assert_allclose(none, np.stack([values, values - 0.3, values + 0.4]))
    certain = methods.with_noise(np.stack([values, values, values]), 2.0)
    inside = np.abs(2.0 * np.random.default_rng(0).standard_normal(100_000)) <= certain[2, 0, 0]
    assert np.mean(inside) == pytest.approx(0.9, abs=0.004)


def test_a_verdict_without_grades_has_two():
    class Verdict:
        trusted = False

    assert methods.grade(Verdict()) == "none" and methods.grade(Continued.verdict) == "exact"


def test_a_past_without_a_state_is_a_forecast_of_no_length():
    class Refuses(Continued):
        def with_record(self, past):
            raise InputError("too short")

    out = methods.ahead(Refuses(), Series(sine(200), 0.02), 10)
    assert out[0, 0] == sine(200)[-1] and np.isnan(out[:, 1:]).all()


def test_a_model_with_another_step_is_read_on_the_recordings_grid():
    class Coarse(Continued):
        def with_record(self, past):
            return Coarse(past)

        def forecast(self, horizon):
            t = np.arange(0.0, horizon + 0.05, 0.05)
            return Forecast(t, np.sin(t), np.sin(t)[:, None], 0.05, Stop.COMPLETED, t[-1])

    out = methods.ahead(Coarse(), Series(sine(200), 0.02), 100)
    np.testing.assert_allclose(out[0], np.sin(0.02 * np.arange(101)), atol=1e-5)
    assert np.isnan(out[1]).all()


def test_a_model_that_ends_before_the_last_sample_runs_over_it():
    class Late(Continued):
        def with_record(self, past):
            out = Continued(past)
            out.past = out.record = past.slice(0, past.n - 3)
            return out

    out = methods.ahead(Late(), Series(sine(200), 0.02), 50)
    np.testing.assert_allclose(out[0], sine(250)[199:], atol=1e-6)


@pytest.mark.parametrize("name", ["persistence", "repetition"])
def test_peers_are_scored_on_the_same_starts(folder, name):
    found = case(folder)
    result = scores.measured(found, methods.measure(found, name))
    assert len(result["times"]) == sum(ends.size for ends in found.starts)
    assert result["coverage"] is None and result["about"] == {}
    assert (result["vpt"] > 2.0) == (name == "repetition")


def test_nothing_after_a_start_is_seen_by_a_peer(folder, monkeypatch):
    seen = []

    def fit(name, values, dt, seed):
        assert values.size == 1500  # the known parts, joined

        def rollout(past, ends, steps):
            seen.append((past.size, int(ends[0])))
            return np.zeros((1, steps + 1))

        return rollout

    monkeypatch.setattr(methods.peers, "fit", fit)
    methods.measure(case(folder), "kernel-ridge")
    assert seen and all(size == end + 1 for size, end in seen)


# -- the command ---------------------------------------------------------------------------------------------------


def command(folder, out, *options):
    done = CliRunner().invoke(cli, ["benchmark", "recordings", str(folder), "--out", str(out), *options])
    assert done.exit_code == 0, done.output
    return done


def test_the_command_measures_resumes_and_writes(folder, tmp_path, ours, monkeypatch):
    out, chosen = tmp_path / "out", ("--methods", "jetode,persistence,repetition")
    first = command(folder, out, *chosen)
    assert "short: not measured" in first.stdout and "swing" in first.stdout and "exact" in first.stdout
    monkeypatch.setattr(methods, "measure", lambda *_: pytest.fail("measured twice"))
    assert command(folder, out, *chosen).stdout == first.stdout
    data = json.loads((out / "results.json").read_text())
    assert [r["name"] for r in data["recordings"]] == ["alone", "short", "swing"] and len(data["about"]["code"]) == 64
    assert "jetode benchmark recordings" in data["about"]["command"]
    rows = list(csv.DictReader((out / "results.csv").read_text().splitlines()))
    assert [(r["recording"], r["method"]) for r in rows][3:] == [
        ("swing", "jetode"), ("swing", "persistence"), ("swing", "repetition"),
    ]  # fmt: skip
    text = (out / "index.html").read_text()
    assert text.count("<svg") == 2 * scores.DRAWN and "x&#39;&#39; = -x" in text and "100 samples" in text


def test_another_state_of_the_code_or_other_data_are_measured_again(folder, tmp_path, ours, monkeypatch):
    chosen = ("--methods", "persistence", "--only", "alone")
    out = tmp_path / "out"
    command(folder, out, *chosen)
    real, calls = methods.measure, []
    monkeypatch.setattr(methods, "measure", lambda case, name, seed: calls.append(name) or real(case, name, seed))
    save(folder / "alone.csv", sine(1000, 30), "dt=0.02")
    assert "computed again" in command(folder, out, *chosen).stderr and calls == ["persistence"]
    monkeypatch.setattr(stores, "code_fingerprint", lambda module: "another")
    assert "another state of the code" in command(folder, out, *chosen).stderr and len(calls) == 2


@pytest.mark.parametrize("options", [("--methods", "magic"), ("--only", "nothing"), ("--dt", "-1")])
def test_bad_options_are_one_sentence(folder, tmp_path, options):
    done = CliRunner().invoke(cli, ["benchmark", "recordings", str(folder), "--out", str(tmp_path / "o"), *options])
    assert done.exit_code == 2 and done.stderr.count("\n") == 1


def test_a_curve_that_leaves_the_picture_ends_there():
    times = [0.0, 0.5, 1.0]
    truth = {"times": times, "truth": [0.0, 1.0, 0.0], "ahead": times, "sample": 7}
    svg = picture(truth, {"jetode": {"values": [0.0, 50.0, 0.0]}}, 1.0)
    ours = svg.split('class="ours" points="')[1].split('"')[0]
    assert ours.count(",") == 1


def test_a_fingerprint_of_a_peer_does_not_hold_our_code(folder):
    source = cases.sources(folder)[0]
    every = methods.available()
    ours = scores.task(source, "jetode", every["jetode"], 20, None)
    peer = scores.task(source, "persistence", every["persistence"], 20, None)
    assert methods.RECONSTRUCT in ours.uses and methods.RECONSTRUCT not in peer.uses
    shared = {path.relative_to(PACKAGE).parts[0] for path in reached(scores.__name__)}
    assert not shared & {"reconstruction", "joint", "paper", "cli"}
