"""The panel: true regular forms against the flows themselves, records, comparison with the truth, the benchmark."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from jetode.cli.benchmark import benchmark
from jetode.equations.regular import RegularClosure
from jetode.experiments.core import store as stores
from jetode.experiments.panel import bench, beside, runs
from jetode.experiments.panel import channels as panel
from jetode.experiments.panel.comparison import compare
from jetode.experiments.panel.page import by_channel, duel, page, sparkline, summarise
from jetode.reconstruction.dynamics.rational import RationalDynamics
from jetode.reconstruction.model import Model
from jetode.reconstruction.reconstruct import reconstruct
from jetode.reconstruction.record_info import RecordInfo, SplineInfo
from jetode.reconstruction.verdict import Verdict
from jetode.records.series import Series
from jetode.support.errors import InputError

SHARED = Path(__file__).parents[4] / "shared" / "panel.csv"
EXACT = [c for c in panel.channels() if c.regular is not None]


def model_of(regular: RegularClosure, std: float = 1.0) -> Model:
    spline = SplineInfo(5, "gcv", 0.0, 1.0, 0.0)
    canonical = regular.canonical()
    dynamics = RationalDynamics(regular.rational(), np.ones(3), np.zeros(3), spline, 0.01, 0.0, canonical)
    return Model("paper", 0.0, RecordInfo(6001, 0.01, std), Verdict("exact", ""), dynamics, spline)


def derivatives(channel: panel.Channel, x: np.ndarray) -> list[np.ndarray]:
    """u0, u1, u2 of the observable at states (n, d), from the flow."""
    rates = channel.field(x)
    slopes = channel.field.jacobian(x)[:, channel.index]
    return [x[:, channel.index], rates[:, channel.index], np.sum(slopes * rates, axis=1)]


@pytest.mark.parametrize("channel", [*EXACT, *panel.channels("panel_more.csv")], ids=lambda c: c.name)
def test_the_true_form_is_that_of_the_flow(channel):
    x = channel.states(np.array(channel.initial), 60, channel.tc)
    jets = np.stack(derivatives(channel, x), axis=1)
    rates = channel.field(x)
    step = 1e-5 * channel.tc
    u3 = (derivatives(channel, x + step * rates)[2] - derivatives(channel, x - step * rates)[2]) / (2 * step)
    closure = channel.regular.rational()
    canonical = channel.regular.canonical().rational()
    away = np.abs(np.asarray(panel_denominator(closure, jets))) > 1e-3 * np.abs(panel_denominator(closure, jets)).max()
    for form in (closure, canonical):
        np.testing.assert_allclose(form.rate(jets)[away], u3[away], rtol=1e-4, atol=1e-5 * np.abs(u3).max())


def panel_denominator(closure, jets):
    from jetode.equations.polynomials import evaluate

    return evaluate(closure.denominator, jets)


def test_the_classes_are_those_of_the_denominators():
    assert len(panel.channels()) == 35 and len(EXACT) == 29
    for channel in EXACT:
        big_d = channel.regular.D
        assert channel.regular.is_chain == (channel.kind == "chain")
        if channel.regular.is_chain:
            continue
        affine = all(e[1] == 0 and e[0] <= 1 for e in big_d)
        assert channel.kind == ("R0" if set(big_d) == {(0, 0)} else "R1" if affine else "R2")


@pytest.mark.skipif(not SHARED.exists(), reason="the shared panel is not there")
def test_the_shipped_table_agrees_with_the_shared_panel():
    with SHARED.open() as file:
        shared = {f"{row['system']} {row['observable']}": row for row in csv.DictReader(file)}
    assert {c.name for c in panel.channels()} == set(shared)
    for channel in panel.channels():
        row = shared[channel.name]
        assert float(row["tc"]) == pytest.approx(channel.tc, rel=0.05)
        assert channel.order == int(row["dim"])
        if channel.system not in ("NoseHoover",):  # a conservative flow: its exponent depends on where one is
            assert float(row["lyapunov"]) == pytest.approx(channel.lyapunov, rel=0.25)
        assert bool(row["D"]) == (channel.kind in panel.REGULAR)
        if channel.kind not in panel.REGULAR:
            continue
        assert row["class"].startswith(channel.kind)
        theirs = panel.true_form(row["a"], row["D"], row["P"])
        same = compare(model_of(theirs), channel.regular, channel.tc)
        assert same.error < 1e-4


def test_records_are_seeded_noisy_and_go_on_beyond_their_end():
    channel = panel.select(["SprottJerk x"])[0]
    task, again, other = (channel.record(k, 0.05) for k in (0, 0, 1))
    clean = channel.record(0, 0.0)
    assert task.series.n == panel.SAMPLES and task.series.dt == channel.dt
    np.testing.assert_array_equal(task.series.values, again.series.values)
    assert np.std(task.series.values - other.series.values) > 0.1 * task.series.std
    assert np.std(task.series.values - clean.series.values) == pytest.approx(0.05 * clean.series.std, rel=0.05)
    assert task.ahead[0] == clean.series.values[-1]
    assert (task.ahead.size - 1) * channel.dt == pytest.approx(100 * channel.tc, rel=1e-2)
    assert task.vpt(task.ahead) == pytest.approx((task.ahead.size - 1) * channel.dt * channel.lyapunov)


def test_a_flow_that_is_not_polynomial_is_simulated_too():
    channel = panel.select(["Chua z"])[0]
    assert channel.field is None
    states = channel.states(np.array(channel.initial), 50, channel.dt)
    assert states.shape == (50, 3) and np.isfinite(states).all()


@pytest.mark.parametrize("name", ["Rossler x", "Rossler y", "Rossler z", "Finance z", "SprottO z", "Bouali x"])
def test_comparison_does_not_see_the_gauge(name):
    channel = panel.select([name])[0]
    moved = channel.regular.with_hidden_scaled(-3.0).with_hidden_shifted({(1, 0): 0.7, (0, 0): 2.0})
    if moved.is_chain:
        moved = moved.changed(1, 2.0, {(1,): -0.3, (0,): 1.5})
    same = compare(model_of(moved.canonical(1e-9)), channel.regular, channel.tc)
    assert same.right and same.error < 1e-9


def test_comparison_tells_what_is_wrong():
    channel = panel.select(["Lorenz x"])[0]
    true = channel.regular.canonical()
    lacking = replace(true, P={e: c for e, c in true.P.items() if e != (1, 1, 0)})
    verdict = compare(model_of(lacking), channel.regular, channel.tc)
    assert (verdict.form, verdict.terms, verdict.missing, verdict.extra) == (True, False, ("P u0*u1",), ())
    more = compare(model_of(replace(true, a={**true.a, (0, 2): 0.1})), channel.regular, channel.tc)
    assert more.extra == ("a u1^2",) and not more.right
    off = compare(model_of(replace(true, a={e: 1.2 * c for e, c in true.a.items()})), channel.regular, channel.tc)
    assert off.terms and not off.right
    pole = compare(model_of(replace(true, D={**true.D, (0, 0): 0.5}), std=8.0), channel.regular, channel.tc)
    assert pole.right
    pole = compare(model_of(replace(true, D={**true.D, (0, 0): 2.0}), std=8.0), channel.regular, channel.tc)
    assert pole.terms and not pole.right


def test_what_can_only_forecast_is_compared_too():
    channel = panel.select(["Lorenz x"])[0]
    noise = Series(np.random.default_rng(0).standard_normal(400), 0.01)
    model = reconstruct(noise)
    assert model.named is None and not compare(model, channel.regular, channel.tc).right


def test_comparison_of_chains():
    channel = panel.select(["Rossler z"])[0]
    true = channel.regular.canonical()
    assert (true.f0, true.c, true.a, len(true.P)) == ({(0,): 0.2}, {(1,): 1.0}, {}, 5)
    for part, changed in (
        (replace(true, f0={}), (True, False, ("f0 1",), ())),
        (replace(true, P={**true.P, (0, 1, 1): 1.0}), (True, False, (), ("P v*w",))),
        (replace(true, f0={}, c={(0,): 1.0}), (False, False, ("f0 1",), ())),
    ):
        verdict = compare(model_of(part), channel.regular, channel.tc)
        assert (verdict.form, verdict.terms, verdict.missing, verdict.extra) == changed
    for p, right in ((0.2, True), (0.4, False)):
        moved = compare(model_of(replace(true, c={**true.c, (0,): p}), std=2.9), channel.regular, channel.tc)
        assert moved.terms and moved.right == right


def test_channels_are_selected_by_name_system_and_class():
    assert [c.name for c in panel.select(["Lorenz.x", "Lorenz x"])] == ["Lorenz x"]
    assert len(panel.select(["Rossler"])) == 3
    assert panel.select(["R0-R2"]) == tuple(c for c in EXACT if c.kind != "chain")
    assert len(panel.select(["R0-R2", "controls"])) == len(panel.select(["all"])) == 35
    with pytest.raises(InputError, match="must name channels"):
        panel.select(["Lorentz"])


def result(channel="Lorenz x", noise=0.05, trajectory=0, **changes):
    base = {
        "channel": channel, "class": "R1", "noise": noise, "trajectory": trajectory, "seconds": 3.0, "trusted": True,
        "reason": "fine", "equation": "u0' = u1", "order": 3, "chi2": 1.0, "evidence": {}, "vpt": 4.0, "horizon": 10.0,
        "peers": {"AR": 1.0}, "sparkline": {"truth": [0.0, 1.0, 0.5], "forecast": [0.0, 0.9]}, "form": True,
        "terms": True, "right": True, "missing": [], "extra": [], "error": 1e-3, "oracle": 5.0,
    }  # fmt: skip
    return base | changes


def test_summary_counts_channels_by_their_median_trajectory():
    runs = [result(trajectory=t, right=t > 0) for t in range(3)]
    runs += [result("Chen x", trajectory=t, right=False, trusted=t == 0, vpt=0.5) for t in range(3)]
    numbers = summarise(runs)[0.05]
    assert numbers["channels"] == 2 and numbers["runs"] == 6
    assert numbers["right"] == 0.5
    assert numbers["wrong_trusted"] == pytest.approx(2 / 6)
    assert numbers["beats_peers"] == 0.5
    assert numbers["oracle_ratio"] == pytest.approx((0.8 + 0.1) / 2)


def test_a_tie_at_the_horizon_is_a_tie():
    numbers = summarise([result(vpt=10.0, oracle=10.0, peers={"AR": 10.0})])[0.05]
    assert numbers["beats_peers"] == 1.0 and numbers["oracle_ratio"] == 1.0


def test_the_page_has_one_row_per_channel():
    results = [result(), result(noise=0.0), result("Chua z", **{"class": "control <x>"})]
    text = page(results, ["jetode benchmark panel --more", "jetode benchmark panel"])
    assert text.count('<polyline class="ours"') == 3 and "control &lt;x&gt;" in text
    assert "<code>jetode benchmark panel --more</code>, <code>jetode benchmark panel</code>." in text
    assert text.count("<circle") == 3 and text.count("<details>") == 2


def test_peers_are_compared_on_the_records_that_they_saw():
    """A long forecast of a record without peers does not count against them."""
    runs = [
        result(trajectory=0, vpt=0.5),
        result(trajectory=1, vpt=9.0, peers={}),
        result(trajectory=2, vpt=9.0, peers={}),
    ]
    assert summarise(runs)[0.05]["beats_peers"] == 0.0
    assert summarise(runs)[0.05]["oracle_beats_peers"] == 1.0
    assert summarise([*runs, result("Chen x", peers={})])[0.05]["beats_peers"] == 0.0  # nothing to compare there


@pytest.mark.parametrize(("vpt", "peer", "x", "y"), [(10.0, 5.0, "150.0", "40.0"), (0.0, 10.0, "260.0", "260.0")])
def test_the_duel_is_drawn_to_scale(vpt, peer, x, y):
    svg = duel(by_channel([result(vpt=vpt, peers={"AR": peer, "ESN": 0.0})]))
    assert f'class="right" cx="{x}" cy="{y}"' in svg


def test_a_sparkline_breaks_off_where_the_forecast_does():
    svg = sparkline([0.0, 1.0, 0.0, 1.0], [0.0, 1.0, None, None])
    truth, ours = svg.split('points="')[1:]
    assert truth.split('"')[0].count(",") == 4 and ours.split('"')[0].count(",") == 2


def cli(tmp_path, *arguments):
    done = CliRunner().invoke(benchmark, ["panel", *arguments, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture
def quick(monkeypatch):
    """Runs that take no time, and how often they were asked for."""
    calls = []

    def measure(trial):
        calls.append(trial.channel.name)
        return result(trial.channel.name, trial.noise, trial.trajectory)

    def measure_peer(trial, name, seed=0):
        calls.append(name)
        return 9.0

    monkeypatch.setattr(runs, "measure", measure)
    monkeypatch.setattr(beside, "measure", measure_peer)
    monkeypatch.setattr(beside.peers, "available", lambda: {"AR": True, "ESN": None})
    return calls


def test_runs_whose_chunks_are_there_are_not_repeated(tmp_path, quick):
    arguments = ["--channels", "SprottS z,SprottR.y", "--noise", "0.05", "--trajectories", "1", "--no-peers"]
    for _ in range(2):
        assert cli(tmp_path, *arguments).stdout.count("RIGHT") == 2
    assert sorted(quick) == ["SprottR y", "SprottS z"]
    assert (tmp_path / "panel_SprottS_z-n0.05_00000-00001.chunk").exists()
    assert "SprottS z" in (tmp_path / "panel.html").read_text()


def test_runs_of_another_state_of_the_code_are_redone_and_not_shown(tmp_path, quick, monkeypatch):
    for channel in ("SprottS z", "SprottR y"):
        cli(tmp_path, "--channels", channel, "--noise", "0.05", "--trajectories", "1", "--no-peers")
    monkeypatch.setattr(stores, "code_fingerprint", lambda module: "another")
    done = cli(tmp_path, "--channels", "SprottS z", "--noise", "0.05", "--trajectories", "1", "--no-peers")
    assert quick == ["SprottS z", "SprottR y", "SprottS z"]
    assert "1 chunks" in done.stderr and "computed again" in done.stderr
    assert "1 results" in done.stderr and "left out" in done.stderr
    text = (tmp_path / "panel.html").read_text()
    assert "<td>SprottS z</td>" in text and "<td>SprottR y</td>" not in text


def test_peers_are_kept_apart_and_joined(tmp_path, quick):
    arguments = ["--channels", "SprottS.z", "--noise", "0.05", "--trajectories", "1"]
    apart = ["--peers-out", str(tmp_path / "peers")]
    assert "vpt 9.00" in cli(tmp_path / "ours", *arguments, *apart, "--only-peers").stdout
    assert not (tmp_path / "ours").exists() and quick == ["AR"]
    cli(tmp_path / "ours", *arguments, *apart)
    assert quick == ["AR", "SprottS z"]
    longer = [*arguments[:-1], "2", "--peer-trajectories", "1"]
    done = cli(tmp_path / "ours", *longer, *apart)
    assert done.stdout.count("RIGHT") == 2 and done.stdout.count("peer  AR") == 1 and quick.count("AR") == 1
    found = bench.Places(tmp_path / "ours", tmp_path / "peers").results("panel.csv", pytest.fail)
    assert [r["peers"] for r in found] == [{"AR": 9.0}, {}] and summarise(found)[0.05]["channels"] == 1


def test_the_page_shows_all_that_is_in_the_directory(tmp_path, quick):
    for channel, noise, more in (
        ("SprottS z", "0.05", ["--no-peers"]),
        ("Chen x", "0", []),
        ("Arneodo x", "0", ["--more"]),
    ):
        cli(tmp_path, "--channels", channel, "--noise", noise, "--trajectories", "2", *more)
        text = (tmp_path / "panel.html").read_text()
        assert ("<td>SprottS z</td>" in text) == ("--more" not in more)
        assert ("<td>Chen x</td>" in text) == (channel == "Chen x")
        assert "--channels 'SprottS z' --noise 0.05 --trajectories 2 --no-peers" in text.replace("&#39;", "'")
