"""Choosing a model without correct labels: the area under the ROC curve, estimated from noisy labels.

Let rho_i = p(y_i = 1 | z_i) and r_i the rank of sample i's score. If scores and labels are independent given
the class, and the noise model is right, ranks regress on rho with slope N (AUC - 1/2):

    AUC = 1/2 + cov(rho, r) / (N var(rho)).

(The mean of rho differs between the classes by var(rho) / (pi (1 - pi)), which is how much uncertain labels
pull any contrast of the classes towards 0; dividing by it undoes that.) With certain labels this is the
Mann-Whitney statistic exactly. With uncertain labels the right-hand side is an unbiased estimate that may
leave [0, 1] in small samples; an area cannot, so `estimated_auc` is the nearest number in [0, 1], and
`unbiased_auc` the estimate as it is: the one to average, and to choose a model by where several are at 1.
For the area with its uncertainty use `jtruth.testing`.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jtruth.training._inputs import check_outputs, check_posterior
from jtruth.training.losses import Outputs
from jtruth.training.objectives import Mask, PerClass


def estimated_auc(outputs: Outputs, posterior: PerClass, *, where: Mask = None) -> Float[Array, ""]:
    """Area under the ROC curve of class 1 against class 0, from scores and class posteriors, in [0, 1].

    Args:
        outputs: scores (samples,), or logits (samples, 2), whose difference is taken. Ties count half.
        posterior: (samples, 2), p(y_i = c | z_i). NaN if it is the same for all samples: the labels then say
            nothing about the order.
        where: (samples,), False for padding.

    Example:
        >>> import jax.numpy as jnp
        >>> from jtruth.training import estimated_auc
        >>> rho = jnp.array([[.9, .1], [.2, .8], [.9, .1], [.2, .8]])
        >>> print(f"{estimated_auc(jnp.array([0., 3., 1., 2.]), rho):.3f}")
        1.000

    `unbiased_auc` of the same is 1.214.
    """
    return jnp.clip(unbiased_auc(outputs, posterior, where=where), 0.0, 1.0)


def unbiased_auc(outputs: Outputs, posterior: PerClass, *, where: Mask = None) -> Float[Array, ""]:
    """The formula of the module docstring, which may leave [0, 1]; arguments are those of `estimated_auc`."""
    check_posterior(posterior, where)
    if where is None:
        check_outputs(outputs)
    if np.shape(posterior) != (*np.shape(outputs)[:1], 2) or np.shape(outputs)[1:] not in ((), (2,)):
        raise ValueError(
            f"outputs have shape {np.shape(outputs)}, posterior {np.shape(posterior)}; the area is for two "
            "classes: outputs (samples,) or (samples, 2), posterior (samples, 2)"
        )
    outputs = jnp.asarray(outputs)
    scores = outputs if outputs.ndim == 1 else outputs[:, 1] - outputs[:, 0]
    rho = jnp.asarray(posterior, scores.dtype)[:, 1]
    used = jnp.ones(scores.shape, bool) if where is None else jnp.asarray(where)
    ordered = jnp.sort(jnp.where(used, scores, jnp.inf))
    below, upto = (jnp.searchsorted(ordered, scores, side=side) for side in ("left", "right"))
    count = used.sum().astype(scores.dtype)
    weight = used.astype(scores.dtype) / count
    rank = (below + upto).astype(scores.dtype) / 2
    apart = rho - (weight * rho).sum()
    slope = (weight * apart * rank).sum() / (weight * apart**2).sum()
    return 0.5 + slope / count


def negative_auc(outputs: Outputs, evidence: PerClass, *, where: Mask = None) -> Float[Array, ""]:
    """-`unbiased_auc`, as a `judge` of `fit`: lower is better."""
    return -unbiased_auc(outputs, evidence, where=where)
