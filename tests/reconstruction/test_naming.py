"""Equations as people read them: in the record's words, with every number to its error, and nothing unexplained."""

from dataclasses import replace
from pathlib import Path

import pytest

import jetode

SAVED = Path(__file__).parent / "saved"


def load(file, **words):
    model = jetode.load(SAVED / f"{file}.json")
    return replace(model, record=replace(model.record, **words))


def test_lorenz_in_millivolts_per_second():
    model = load("joint_lorenz", name="V", unit="mV", time_unit="s")
    assert model.equation().splitlines() == [
        "V' = V1", "V1' = -10.96 V1 + V w", "w' = 713.9 - 2.637 w - 9.894 V² - 0.9950 V V1",
    ]  # fmt: skip
    shown = [str(term) for term in model.named.terms()]
    assert shown[:2] == ["V1': -10.96 ± 0.10 s⁻¹ × V1", "w': 713.9 ± 6.2 s⁻³ × 1"]
    meanings = dict(model.named.meanings())
    assert meanings["V"] == "the recorded channel [mV] without its noise"
    assert meanings["w [s⁻²]"].endswith("w = (V1' + 10.96 V1) / V")
    assert r"\dot{V_{1}}" in model.equation("latex")
    assert str(model.equation("sympy")["V"]) == "V1"


def test_digits_are_those_asked_for():
    assert "713.8541" in load("joint_lorenz").equation(digits=7)


def test_a_chain_and_the_papers_form_are_explained_too():
    chain = load("chain_rossler_z")
    assert chain.equation().startswith("z' = 0.20024 + z v\n")
    assert dict(chain.named.meanings())["v"].endswith("v = (z' - 0.20024) / z")
    paper = load("paper_refused")
    assert len(paper.named.meanings()) == paper.order and paper.named.lines()[-1].pieces


@pytest.mark.parametrize("name", ["joint_lorenz", "chain_rossler_z", "paper_lorenz", "paper_refused"])
def test_html_breaks_between_terms(name):
    model = load(name)
    for line, html in zip(model.named.lines(), model.named.html(), strict=True):
        assert html.count("<math") == 1 + len(line.pieces)
