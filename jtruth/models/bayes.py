"""Su's testing model as a NumPyro function: predictions and labels together."""

from typing import Any

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro import handlers

from jtruth._arrays import is_concrete, safe_log
from jtruth._validation.in_range import check_codes
from jtruth.learning.annotation.functions import data_of, dawid_skene, observe
from jtruth.posterior import validate_prior
from jtruth.testing.bayes import testing_model


def testing(
    labels: Any = None,
    y_pred: Any = None,
    *,
    noise: Any = None,
    prior: Any = None,
    num_classes: int | None = None,
    shape: Any = None,
    concentration: Any = 1.0,
    **priors: Any,
) -> None:
    """Predictions and noisy labels, the true classes summed out (Su 2.6, 2.7).

    Sites: "classifier" (true_class, predicted), rows Dirichlet; and those of `dawid_skene` for labels without
    a noise model, or "prior" where error rates are known and the class shares are not.

    Args:
        labels: `Labels` or whole numbers (samples, labelers), -1 for no label; or log p(labels | class) as
            floating numbers (samples, classes).
        y_pred: (samples,) predicted classes; None: they are drawn.
        noise: a model of `jtruth.noise` with known parameters; None: they are learned.
        prior: (classes,) class shares, where error rates are known; None: they are learned.
        num_classes, shape: as for `dawid_skene`.
        concentration: of the classifier's rows, one number or (classes, classes).
        priors: those of `dawid_skene`, where error rates are learned.
    """
    data = data_of(labels if noise is None else noise.log_likelihood(labels), num_classes, shape)
    classes = data.num_classes
    if y_pred is not None and is_concrete(y_pred):
        check_codes(y_pred, classes, "y_pred", size=len(data.labeler))
    with handlers.trace() as sites:
        if data.num_labelers:
            dawid_skene(data, **priors)
        else:
            shares = dist.Dirichlet(jnp.ones(classes))
            known = validate_prior(prior, classes) if prior is not None and is_concrete(prior) else prior
            observe(data, numpyro.sample("prior", shares) if known is None else known)
    distribution, value = (sites["labels"][name] for name in ("fn", "value"))
    some, labeler, row = distribution.rows(value)
    rho = distribution.class_posterior(some, labeler)
    log_rho = safe_log(rho if row is None else rho[row])
    alpha = jnp.broadcast_to(jnp.asarray(concentration, log_rho.dtype), (classes, classes))
    testing_model(log_rho, y_pred, jnp.ones(len(log_rho), log_rho.dtype), alpha)
