"""Checks as data: the verdict and the report walk one list, so that neither cites what the other does not show."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import jetode
from jetode.reconstruction.check import Check, first_failure, walk
from jetode.reconstruction.checks import CHECKS, JOINT, on_closed_curve
from jetode.reconstruction.evidence import Evidence, PaperEvidence, evidence_of
from jetode.reconstruction.verdict import judge, judge_paper
from jetode.reporting.report import evidence as shown

SAVED = Path(__file__).parent / "saved"
GOOD = Evidence(
    chi2=1.0, noise_ratio=1.0, block_ratio=1.0, colour=0.0, held_out=1.0, skill=2.0, bounded=True, distance=0.1,
    spread_ratio=1.0, residual=0.15, margin=9.0, rival=50.0, oscillations=40.0, drift=0.0, lyapunov=0.9,
    lyapunov_error=0.1, terms=6, complete=True, score=0.5, held=(1.0, 2.0, 3.0, 4.0),
)  # fmt: skip
CLEAN = replace(GOOD, clean=True, residual=1e-9, noise_ratio=40.0, held_out=1e5, block_ratio=9.0, terms=14, score=7.0)
CHANGES = [
    {"complete": False}, {"oscillations": 3.0}, {"noise_ratio": 1.5}, {"bounded": False}, {"block_ratio": 3.0},
    {"held_out": np.nan}, {"held_out": 2.0}, {"spread_ratio": 0.3}, {"distance": 1.0}, {"skill": 0.1},
    {"skill": np.nan}, {"terms": 14}, {"score": 5.0},
    {"dimension": 1.0, "exponents": (0.0, -1.0, -2.0)},
    {"clean": True, "residual": 0.05}, {"bounded": False, "held_out": np.nan, "skill": np.nan},
]  # fmt: skip


def table(found):
    model = jetode.load(SAVED / "joint_lorenz.json")
    return shown(replace(model, diagnostics={"evidence": found.to_json(), "clean": found.clean})).rows


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_what_decides_is_the_first_failure_that_the_report_shows(change):
    found = replace(GOOD, **change)
    failed = [row for row in table(found) if row[3] == "✗ fail"]
    decided = first_failure(JOINT, found)
    assert decided is not None and failed[0][0] == decided.name
    assert judge(found).reason == decided.sentence(found) and judge(found).grade == "none"


@pytest.mark.parametrize("found", [GOOD, CLEAN], ids=["noisy", "clean"])
def test_a_good_model_fails_nothing(found):
    verdict = judge(found)
    assert verdict.grade == "exact" and verdict.trusted
    assert not any(row[3] == "✗ fail" for row in table(found)) and len(table(found)) >= 8


def test_what_is_exempt_is_not_judged():
    names = {o.check.name for o in walk(JOINT, CLEAN)}
    assert "Residual over estimated noise" not in names and "Residual of a record without noise [std]" in names


def test_a_missing_measure_is_no_second_failure():
    found = replace(GOOD, bounded=False, held_out=np.nan, skill=np.nan)
    assert [o.passed for o in walk(JOINT, found)].count(False) == 1
    assert [row[1] for row in table(found)].count("not measured") >= 2


def test_evidence_keeps_its_types():
    assert Evidence.from_json(GOOD.to_json()) == GOOD
    paper = PaperEvidence((1.0, 2.0, 0.1), 5.0, 1.5, 2)
    assert PaperEvidence.from_json(paper.to_json()) == paper and evidence_of({"evidence": paper.to_json()}) == paper
    assert evidence_of({}) is None


def test_the_papers_verdict():
    good = PaperEvidence((2.0, 2.0, 0.1), 5.0, 1.5, 2)
    assert judge_paper(good).trusted and good.follow == 2
    assert "Only 1 of 3 forecasts" in judge_paper(replace(good, times=(2.0, 0.1, 0.1))).reason
    assert "Only 1 of 3 rollouts" in judge_paper(replace(good, bounded=1)).reason


def test_how_long_forecasts_hold_is_part_of_the_verdict():
    holds = judge(GOOD).holds
    assert (holds.lower, holds.median, holds.upper) == (1.75, 2.5, 3.25)
    assert judge(replace(GOOD, held=())).holds is None


def test_a_new_check_is_one_entry(monkeypatch):
    """It decides and is shown, and nothing else knows of it."""
    toy = Check("Chaos", lambda e: e.lyapunov, lambda e: "It is chaotic.", lambda e: "Calm down.", at_most=0.5)
    assert judge(GOOD, (*JOINT, toy)).reason == "It is chaotic."
    monkeypatch.setitem(CHECKS, "joint", (*JOINT, toy))
    assert ("Chaos", "0.9", "≤\u00a00.5", "✗ fail") in table(GOOD)


@pytest.mark.parametrize("change", [{"rival": 3.0}, {"margin": 0.5}, {"exchange": 0.5}], ids=str)
def test_an_equation_that_leaves_only_noise_but_is_not_the_only_one_is_approximate(change):
    verdict = judge(replace(GOOD, **change))
    assert verdict.grade == "approximate" and "cannot decide" in verdict.reason and verdict.holds is not None
    assert judge(replace(GOOD, **change, held_out=2.0)).grade == "none"  # nothing else may be wrong with it


def test_where_coefficients_are_uncertain_the_evidence_for_their_terms_has_to_be_strong():
    """Off by up to 5 % at 15 % noise, where an exact equation may be off by 3.2 %; on a closed curve (6.5) is asked."""
    uncertain = replace(GOOD, uncertainty=0.05, margin=5.0)
    verdict = judge(uncertain)
    assert verdict.grade == "approximate" and "off by 5 % on the motion" in verdict.reason
    for enough in ({"margin": 7.0}, {"uncertainty": 0.03}, {"uncertainty": np.nan}, {"told": 40.0}):
        assert judge(replace(uncertain, **enough)).trusted
    assert judge(replace(uncertain, residual=0.3)).trusted  # of more noise as much is little
    assert Evidence.from_json(uncertain.to_json()) == uncertain


CYCLE = replace(GOOD, dimension=1.0, exponents=(0.0, -1.0, -2.0))


def test_of_three_coordinates_a_closed_curve_under_noise_tells_too_little():
    """Only the curve is seen: a flow of three coordinates is free beside it, one of the plane is pinned by its sparse
    law, a torus or a strange attractor shows more than a curve, a decay the way there; a function was compared
    with all its like."""
    assert not judge(CYCLE).trusted and "closed curve" in judge(CYCLE).reason and on_closed_curve(CYCLE)
    plane = replace(CYCLE, exponents=(0.0, -1.0))
    for told in (
        plane,
        replace(CYCLE, dimension=2.0),
        replace(CYCLE, transient=True),
        replace(CYCLE, dimension=np.nan),
    ):
        assert judge(told).trusted and not on_closed_curve(replace(told, transient=False, dimension=2.0))


def test_a_record_that_repeats_itself_tells_every_coefficient_twice():
    """Once to fix it and once to check it, whether the equation settles at rest or not, since the record does not; no
    imitation leaves as little as rounding."""
    enough = replace(CYCLE, exponents=(0.0, -1.0), terms=3, told=6.0)
    assert judge(enough).trusted
    few = replace(enough, told=4.0)
    assert not judge(few).trusted and "tells no more than 4 numbers: 3 coefficients" in judge(few).reason
    assert not judge(replace(few, transient=True)).trusted and judge(replace(few, told=np.inf)).trusted
    assert on_closed_curve(replace(few, exponents=(0.1, 0.0, -1.0), dimension=2.1))
    clean = replace(few, clean=True, residual=3e-5)
    assert not judge(clean).trusted and judge(replace(clean, residual=1e-9)).trusted
    assert Evidence.from_json(few.to_json()) == few and Evidence.from_json(GOOD.to_json()).told == np.inf


def test_residuals_that_repeat_with_the_record_are_no_noise():
    """On a curve, that is: the same chance says nothing of a motion that does not repeat itself, such as a decay."""
    missed = replace(CYCLE, exponents=(0.0, -1.0), terms=3, told=12.0, repeated=1e-9)
    assert not judge(missed).trusted and "repeats with it" in judge(missed).reason
    for other in ({"repeated": 0.01}, {"told": np.inf}):
        assert judge(replace(missed, **other)).trusted
    assert on_closed_curve(replace(missed, exponents=(0.1, 0.0, -1.0), dimension=2.1))
    assert Evidence.from_json(missed.to_json()) == missed and Evidence.from_json(GOOD.to_json()).repeated == 1.0


def test_the_plane_is_tried_where_nothing_but_the_curve_stands_against_an_equation():
    clean = replace(CLEAN, dimension=1.0, exponents=(0.0, -1.0, -2.0))
    assert judge(clean).trusted and on_closed_curve(clean)
    assert not on_closed_curve(replace(CYCLE, bounded=False)) and not on_closed_curve(None)
