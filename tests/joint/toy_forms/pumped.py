"""A form in one file, as it would lie in ``jetode/joint/forms``: order 2 with a force up to the fifth power."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jetode.equations.equation import Equation
from jetode.equations.polynomials import Library
from jetode.equations.rows import Coupled
from jetode.joint.forms.base import Candidate, Family, Searched, Start, Step, hidden_library
from jetode.joint.forms.starts import hidden_states, regress_increments

SLOPE = (0,)


@dataclass(frozen=True)
class Pumped(Searched):
    """Order 2, u0' = f + d w with constants f and d, w' = P up to the fifth power of u0: rows and monomials that are
    no shipped form's."""

    def start(self, jets, guess):
        shape = Equation((Coupled({}, dict(guess)), {}))
        w = hidden_states(jets, shape)[:, 1]
        states = np.column_stack([jets.u[:, 0], w / np.std(w)])
        library = Library(self["P"], 2)
        big_p = library.polynomial(regress_increments(jets, states, library))
        factor = {e: c * float(np.std(w)) for e, c in guess.items()}
        return Start(self.terms(Equation((Coupled({}, factor), big_p))), states)


PUMPED = Pumped(2, (("a", (SLOPE,)), ("D", (SLOPE,)), ("P", (*hidden_library(2, 3), (4, 0), (5, 0)))))
FAMILY = Family(lambda order: (Step(1.5, "pumped", lambda jets: [Candidate(PUMPED, {SLOPE: 1.0})], scanned=False),)
                if order == 2 else ())  # fmt: skip
