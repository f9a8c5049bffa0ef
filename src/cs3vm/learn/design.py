"""What unequal survey weights cost: the effective size and the design effect of Kish (1965)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from ..exceptions import Note


class Design(NamedTuple):
    """How much rows of unequal weights tell, compared with rows of equal ones."""

    n_rows: int
    weight: float  #: of all of them
    effective: float  #: (Σe)² / Σe²: so many rows of equal weight would tell as much

    @property
    def effect(self) -> float:
        """The design effect: by how much variances are larger than with equal weights."""
        return self.n_rows / self.effective if self.effective else 1.0

    @property
    def sentence(self) -> Note:
        """The same in words."""
        return Note(
            f"{self.n_rows} rows stand for {self.weight:.6g}; weights so unequal tell as much as "
            f"{self.effective:.4g} equal ones would (Kish's effective size; design effect {self.effect:.3g})"
        )


def kish(weights: FloatArray) -> Design | None:
    """The design of rows with these weights; None where all are equal, so that nothing is lost."""
    weights = weights[weights > 0]
    if len(weights) == 0 or np.all(weights == weights[0]):
        return None
    return Design(len(weights), float(weights.sum()), float(weights.sum() ** 2 / np.sum(weights**2)))
