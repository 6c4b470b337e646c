import numpy as np
import pytest

from jetode.catalogue.systems import systems
from jetode.paper.degree_selection import select, skill
from jetode.paper.identify import PaperSettings, embed, identify
from jetode.records.series import Series


def test_selection_finds_the_degrees_of_the_paper(lorenz):
    """(d_D, d_N) = (1, 4) for Lorenz and (1, 3) for Rössler, from forecasts alone."""
    found = select(embed(lorenz, 3), lorenz.values, PaperSettings())
    assert (found.settings.denominator_degree, found.settings.numerator_degree) == (1, 4)
    rossler = systems["rossler"].simulate(100.0).observe("x")
    found = select(embed(rossler, 3), rossler.values, PaperSettings())
    assert (found.settings.denominator_degree, found.settings.numerator_degree) == (1, 3)


def test_given_parameters_stay(lorenz):
    given = {"numerator_degree": 2, "half_width": 15, "exponent": 5}
    chosen = select(embed(lorenz, 3), lorenz.values, PaperSettings(), **given).settings
    assert (chosen.numerator_degree, chosen.half_width, chosen.exponent) == (2, 15, 5)


def test_skill_is_measured_against_the_record(lorenz):
    embedding = embed(lorenz, 3)
    found = identify(embedding, PaperSettings())
    good = skill(found, embedding, lorenz.values)
    assert good.vpt.shape == (8,) and good.mean > 5
    assert np.all(good.vpt <= good.horizon + 1e-9)
    shuffled = np.random.default_rng(0).permutation(lorenz.values)
    assert skill(found, embedding, shuffled).mean < good.mean / 3
    assert skill(found, embedding, lorenz.values, horizon=2.0).horizon == pytest.approx(2.0)


def test_skill_does_not_depend_on_units(lorenz):
    a = embed(lorenz, 3)
    b = embed(Series(lorenz.values * 1e6, lorenz.dt * 1e-3), 3)
    vpt = [skill(identify(e, PaperSettings()), e, e.jets[:, 0]).vpt / e.dt for e in (a, b)]
    # forecasts part by rounding after many e-foldings, so compare only how long they are good
    assert np.median(vpt[0]) == pytest.approx(np.median(vpt[1]), rel=0.3)
