"""Objectives of one minibatch: what enters an ordinary training loop when the labels are noisy.

A *batch objective* is a function of the model's outputs, of the rows of the evidence, and of a mask, that
returns one number: `objective(outputs, evidence, where=mask)`. For the two of Su (2023) the evidence is

    class_posterior(log_likelihood, prior)     with mmse("cross_entropy"), or any loss of `LOSSES`
    log_likelihood                             with ml()

`fit` takes them, and so does a loop of one's own. Calling a maker twice gives the same function object, so
that compiled programs are found again.
"""

from collections.abc import Callable
from functools import cache

from jaxtyping import Array

from jtruth._validation import choose
from jtruth.training.losses import LOSSES, log_probabilities
from jtruth.training.objectives import discriminative_ml, mmse_risk

BatchObjective = Callable[..., Array]  # (outputs, evidence, *, where) -> scalar


@cache
def mmse(loss: str = "cross_entropy") -> BatchObjective:
    """(40) of a loss in `LOSSES`; the evidence is the class posterior."""
    choose("loss", loss, tuple(LOSSES))

    def objective(outputs, evidence, *, where=None):
        return mmse_risk(LOSSES[loss](outputs), evidence, where=where)

    return objective


@cache
def ml() -> BatchObjective:
    """(32) of scores or logits; the evidence is the `log_likelihood` of the labels."""

    def objective(outputs, evidence, *, where=None):
        return discriminative_ml(log_probabilities(outputs), evidence, where=where)

    return objective
