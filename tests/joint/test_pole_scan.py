"""Poles from data alone: known ones are found, none where the closure has none, and the curve is the exact one."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import jetode
from jetode.catalogue.systems import systems
from jetode.cli.main import cli
from jetode.joint.pole_scan import SETTINGS, pole_scan
from jetode.records.series import Series
from jetode.support.errors import InputError


def record_of(name, observable="x", noise=0.05, seed=11):
    series = systems[name].simulate(60.0).observe(observable)
    return series.with_values(jetode.add_noise(series.values, noise, np.random.default_rng(seed)))


@pytest.fixture(scope="module")
def lorenz():
    return pole_scan(record_of("lorenz"))


@pytest.fixture(scope="module")
def rossler():
    return pole_scan(record_of("rossler"))


def grid_step(scan):
    return (scan.poles[-1] - scan.poles[0]) / (SETTINGS.grid - 1)


def test_poles_of_lorenz_and_rossler_are_found(lorenz, rossler):
    assert lorenz.pole == pytest.approx(0.0, abs=0.5 * grid_step(lorenz))
    assert rossler.pole == pytest.approx(5.9, abs=0.5 * grid_step(rossler))


def test_the_minimum_is_sharp(lorenz):
    away = np.abs(lorenz.poles - lorenz.best) > 3.0 * grid_step(lorenz)
    assert lorenz.best_cost < 1.1 < 2.0 < lorenz.cost[away].min()


def test_the_curve_is_the_collapse_curve(lorenz, rossler):
    """mathematics.md §3: a = −11 u1 for Lorenz, −6.1 + 0.2 u1 for Rössler, over the slopes of the crossings."""
    for scan, exact in ((lorenz, lambda u1: -11.0 * u1), (rossler, lambda u1: -6.1 + 0.2 * u1)):
        slope = scan.section[:, 0]
        assert np.abs(scan.curve(slope) - exact(slope)).max() < 0.1 * np.abs(exact(slope)).max()


def test_the_section_lies_on_the_curve(lorenz):
    left = lorenz.section[:, 1] - lorenz.curve(lorenz.section[:, 0])
    assert lorenz.section.shape[0] > 20 and np.sqrt(np.mean(left**2)) < 0.3 * np.std(lorenz.section[:, 1])


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_closure_without_a_pole_has_none(noise):
    scan = pole_scan(record_of("rossler", "y", noise))
    assert scan.pole is None and scan.reason.startswith("none")


def test_what_the_forms_cannot_carry_is_undecided():
    scan = pole_scan(record_of("lorenz", "y"))
    assert scan.pole is None and scan.reason.startswith("undecided") and min(scan.best_cost, scan.plain_cost) > 1.5


def test_units_change_nothing(rossler):
    record = record_of("rossler")
    other = pole_scan(Series(1e-6 * record.values, 1e3 * record.dt))
    assert other.cost == pytest.approx(rossler.cost, rel=1e-3)
    assert other.pole == pytest.approx(1e-6 * rossler.pole, rel=1e-6)


def test_a_short_record_is_refused():
    with pytest.raises(InputError, match="pole scan"):
        pole_scan(Series(np.sin(np.arange(100.0)), 0.1))


def test_figure_shows_cost_and_section(rossler):
    from matplotlib.figure import Figure

    left, right = rossler.plot(Figure().subplots(1, 2))
    assert left.lines[0].get_ydata() == pytest.approx(rossler.cost)
    assert left.lines[2].get_xdata()[0] == rossler.best
    assert right.lines[0].get_xydata() == pytest.approx(rossler.section)


def test_command_line(tmp_path):
    record = record_of("rossler")
    np.savetxt(tmp_path / "r.csv", record.values)
    figure = tmp_path / "pole.png"
    arguments = ["diagnose", str(tmp_path / "r.csv"), "--dt", "0.01", "--pole", "--json", "--figure", str(figure)]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)["pole"]
    assert abs(found["pole"] - 5.9) < 0.5 and len(found["poles"]) == len(found["cost"]) >= SETTINGS.grid
    assert figure.read_bytes().startswith(b"\x89PNG")
    for wrong in (["--figure", str(figure)], ["--pole", "--figure", "pole.xyz"]):
        assert CliRunner().invoke(cli, [*arguments[:4], *wrong]).exit_code == 2
