"""`method="smyth"`: the most probable classes by EM are taken as the truth (Smyth et al. 1994).

To grade one scientist they ran Dawid and Skene's EM on the labels of all others and counted against its most
probable classes: `jtruth evaluate --rater NAME --method smyth`. A classifier is graded by all labelers in the
same way. It is a baseline: estimated classes are wrong in places, and a number without an interval does not
say so.
"""

from dataclasses import replace

import numpy as np

from jtruth._host import majority
from jtruth._validation import present
from jtruth.evaluation.answers import answer_of
from jtruth.evaluation.assumptions.learned import plug_in_model
from jtruth.evaluation.inputs import Inputs, Model
from jtruth.learning import check_consistency
from jtruth.posterior import class_posterior
from jtruth.testing.tested import Tested

SMYTH = "smyth"
_TAKEN = "the most probable classes by EM are taken as the truth (method='smyth'): there is no uncertainty"


def smyth_model(data: Inputs) -> Model:
    """Dawid and Skene's EM on the labels alone; whether its rates can be believed is in the warnings."""
    model = plug_in_model(data, unaided=True)
    if model.refusal is not None:
        return model
    labels, rates = data.own_labels(), present(model.rates, "the learned rates")
    found = check_consistency(
        model.prior,
        rates.matrices[0][:-1],
        labels.labels_per_labeler(),
        num_samples=labels.num_samples,
        workers=labels.workers,
    )
    return replace(model, warnings=(*model.warnings, *found.sentences))


def smyth_answer(data: Inputs, model: Model) -> Tested:
    """Counts of the predictions against the most probable classes; tied classes share a sample."""
    posterior = np.asarray(class_posterior(model.log_likelihood, model.prior), np.float64)
    return answer_of(data.table(majority(posterior))[None], data, SMYTH, (_TAKEN,))
