"""What a joint fit is asked for, and the records smoothed and scaled for equations of one order after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from jetode.joint.constraints import Constraints
from jetode.joint.elements.naming import CATALOGUE, Functions
from jetode.joint.noise import Noise
from jetode.joint.problem import Loss, Prepared, prepare
from jetode.joint.search import FREE
from jetode.records.series import Series
from jetode.support.threads import Beside


@dataclass(frozen=True)
class Request:
    """What to fit: records of one system, its order (None: found), the noise's std (None: estimated), what is known.

    Prepared records are kept, also by a request that is replaced by one with another order, constraints or functions:
    ``begun`` belongs to the records, the noise and the loss."""

    records: Sequence[Series]
    order: int | None = None
    sigma: float | None = None
    loss: Loss = "auto"
    constraints: Constraints = FREE
    seed: int = 0  # of the resampling that tells how stable each term is
    maybe_linear: bool = True  # whether linear equations are worth a try
    functions: Functions = CATALOGUE  # that are tried where polynomials do not satisfy
    noise: Noise | None = None  # what is known of it beside its level (None: found)
    begun: dict[int, Beside[Prepared]] = field(default_factory=dict, repr=False, compare=False)

    def begin(self, order: int) -> None:
        """Prepare the records for one order, in a thread that waits, before that is asked for."""
        if order not in self.begun:
            self.begun[order] = Beside(
                lambda: prepare(self.records, order, self.sigma, loss=self.loss, noise=self.noise)
            )

    def prepared(self, order: int) -> Prepared:
        """The dimensionless problem of one order."""
        self.begin(order)
        return self.begun[order].result()
