"""Objectives of one minibatch: what enters an ordinary training loop when the labels are noisy.

A *batch objective* is a function of the model's outputs, of the rows of the evidence, and of a mask, that
returns one number: `objective(outputs, evidence, where=mask)`. For the two of Su (2023) the evidence is

    class_posterior(log_likelihood, prior)     with mmse("cross_entropy"), or any loss of `LOSSES`
    log_likelihood                             with ml()

`fit` takes them, and so does a loop of one's own. Calling a maker twice gives the same function object, so
that compiled programs are found again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from jaxtyping import Array

from jtruth._validation import choose
from jtruth.training._inputs import check_per_class, check_posterior
from jtruth.training.losses import LOSSES, log_probabilities
from jtruth.training.objectives import discriminative_ml, mmse_risk

BatchObjective = Callable[..., Array]  # (outputs, evidence, *, where) -> scalar


@dataclass(frozen=True)
class Checked:
    """A batch objective with what `fit` asks of all its evidence once, before anything is compiled."""

    objective: BatchObjective
    check: Callable[[Any], None]

    def __call__(self, outputs: Any, evidence: Any, *, where: Any = None) -> Array:
        """The cost of a batch."""
        return self.objective(outputs, evidence, where=where)


@cache
def mmse(loss: str = "cross_entropy") -> BatchObjective:
    """(40) of a loss in `LOSSES`; the evidence is the class posterior."""
    choose("loss", loss, tuple(LOSSES))

    def objective(outputs, evidence, *, where=None):
        return mmse_risk(LOSSES[loss](outputs), evidence, where=where)

    return Checked(objective, check_posterior)


@cache
def ml() -> BatchObjective:
    """(32) of scores or logits; the evidence is the `log_likelihood` of the labels."""

    def objective(outputs, evidence, *, where=None):
        return discriminative_ml(log_probabilities(outputs), evidence, where=where)

    return Checked(objective, lambda evidence: check_per_class({"evidence": evidence}))
