"""Predators whose meals saturate: the polynomial chain that Blasius' z obeys (docs/elements.md)."""

import sympy

from jetode.experiments.panel.channels import select


def test_a_share_makes_the_ratio_polynomial():
    """With G = α1 x / (1 + k1 x) of the prey x, z, y and G are a chain of polynomials of nine coefficients."""
    (channel,) = select(["Blasius z"], "panel_ratios.csv")
    x, y, z, g = sympy.symbols("x y z G", positive=True)
    rates = {v: sympy.nsimplify(rate, rational=True) for v, rate in channel.equations}
    rate_of = {v: rates[str(v)].subs(dict(zip(sympy.symbols("x y z"), (x, y, z), strict=True))) for v in (x, y, z)}
    share = sympy.Rational(1, 5) * x / (1 + x / 20)
    prey = sympy.solve(sympy.Eq(share, g), x)[0]
    chain = [sympy.simplify(e.subs(x, prey)) for e in (rate_of[z], rate_of[y], sympy.diff(share, x) * rate_of[x])]
    kappa = sympy.Rational(1, 4)
    assert [sympy.expand(e) for e in chain] == [
        sympy.expand(sympy.Rational(6, 100) - 10 * z + y * z),
        sympy.expand(-y - y * z + y * g),
        sympy.expand(g * (1 - kappa * g) * (1 - y * (1 - kappa * g) / 5)),
    ]
