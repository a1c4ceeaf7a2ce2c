"""Error rates known by draws: one exact answer for each draw, mixed.

    p(table | predictions, labels) = sum_r w_r p(table | predictions, labels, psi_r),
    w_r  proportional to  p(predictions | labels, psi_r)

where psi_r are draws of error rates and class prior. With draws that were learned from these very labels this
is the posterior with the error rates integrated out: the labels have had their say, and the weights are what
the predictions add (two classes; for more the predictions move nothing, and the weights are equal). Draws
that come from other labels are not moved by these: what the new labels know of their labelers is left out,
which makes the answer wider, not wrong.
"""

from collections.abc import Callable
from dataclasses import replace

import jax
import numpy as np
from scipy.special import softmax

from jtruth._random import stream
from jtruth.evaluation.answers import names_of
from jtruth.evaluation.inputs import Inputs, Model
from jtruth.noise import NoiseModel
from jtruth.sampling import Effort
from jtruth.tables.binary import BinaryTable
from jtruth.tables.posterior import TableDraws, thinned
from jtruth.testing.binary.unknown import Mixture
from jtruth.testing.methods import converged_or_not
from jtruth.testing.multiclass.count_draws import count_posterior
from jtruth.testing.tested import Tested

_TWO_CLASSES, _MORE = 64, 24  # draws for which an answer is worked out: an exact one, one by sampling
_FEW = 10.0
_EACH = Effort(chains=4, burn_in=50, min_sweeps=240, max_rhat=1.05, min_ess=60.0)  # one of many draws


def drawn_answer(
    data: Inputs, noise: NoiseModel, key: jax.Array, known: Callable[[Inputs, Model, jax.Array], Tested]
) -> Tested:
    """Posterior of the table, with error rates and class prior integrated out over their draws.

    Args:
        data: as read; a class prior that was given holds for every draw.
        noise: a model with draws (`NoiseModel.models`).
        key: JAX random key.
        known: the answer where error rates are known.
    """
    two, data = len(data.classes) == 2 or data.one_against_rest, replace(data, drawn=None)
    keys = jax.random.split(stream(key, "drawn error rates"), _TWO_CLASSES)
    given = enumerate(noise.models(_TWO_CLASSES if two else _MORE))
    answer_of = known if two else _by_sampling
    answers = [answer_of(data, data.known_model(model, prior), keys[r]) for r, (model, prior) in given]
    first, number = answers[0], len(answers)
    notes = [note for answer in answers for note in answer.warnings]
    said = f"error rates are known by {number} draws, over which every number is averaged"
    if isinstance(first.table, BinaryTable):
        evidence = np.array([answer.log_evidence for answer in answers])
        weight, tables = softmax(evidence), [answer.table for answer in answers]
        table = Mixture(np.arange(number, dtype=np.float64), weight, tables, float("nan"))
        count = 1.0 / (weight**2).sum()
        if count < _FEW:
            notes.append(
                f"the predictions agree with few of the {number} draws of error rates ({count:.1f} count): "
                "learn them again with the predictions, by leaving noise out"
            )
    else:
        table = thinned([answer.table for answer in answers if isinstance(answer.table, TableDraws)])
    return first._replace(
        table=table, fit=None, log_evidence=float("nan"), warnings=tuple(dict.fromkeys((*notes, said)))
    )


def _by_sampling(data: Inputs, model: Model, key: jax.Array) -> Tested:
    """More than two classes, error rates known: few draws, as there are many answers."""
    found = count_posterior(model.log_likelihood, model.prior, data.y_pred, key=key, effort=_EACH)
    classes, positive = names_of(data)
    return Tested("bayes", found, None, float("nan"), converged_or_not(found), classes, positive)
