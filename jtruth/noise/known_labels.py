"""Known labels: a sample whose correct class is known needs no noise model.

Its row of the log-likelihood is 0 at the known class and -inf elsewhere (Su 2.2.2: "these expressions
readily accommodate some correctly-labeled samples"), and nothing behind that array has to know about it.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jtruth._arrays import as_array, is_concrete
from jtruth._validation import quoted, some
from jtruth._validation.in_range import check_codes


def with_known_labels(
    log_likelihood: Float[Array | np.ndarray, "samples classes"],
    known: Int[Array | np.ndarray, " samples"],
) -> Float[Array, "samples classes"]:
    """The log-likelihood with the rows of known samples replaced by 0 at the class and -inf elsewhere.

    Args:
        log_likelihood: (samples, classes), from a noise model.
        known: (samples,) the correct class, or -1 where it is not known.

    Raises:
        ValueError: see `check_known_labels`, called when both arrays are concrete (not inside jit or vmap).

    Example:
        >>> import numpy as np
        >>> from jtruth.noise import with_known_labels
        >>> print(with_known_labels(np.array([[-1., -2.], [-1., -2.]]), np.array([-1, 1])))
        [[ -1.  -2.]
         [-inf   0.]]
    """
    if is_concrete(log_likelihood) and is_concrete(known):
        check_known_labels(log_likelihood, known)
    log_likelihood, known = as_array(log_likelihood), jnp.asarray(known, jnp.int32)
    classes = jnp.arange(log_likelihood.shape[1], dtype=jnp.int32)
    row = jnp.where(known[:, None] == classes[None, :], 0.0, -jnp.inf).astype(log_likelihood.dtype)
    return jnp.where(known[:, None] >= 0, row, log_likelihood)


def check_known_labels(
    log_likelihood: Float[Array | np.ndarray, "samples classes"],
    known: Int[Array | np.ndarray, " samples"],
    tasks: Sequence | None = None,
) -> None:
    """Refuse known labels that the noise model calls impossible.

    That happens when a labeler is certain (an entry of its matrix is 0, or delta = phi = 0) and gave another
    label than the known one. Then either the known label or the certainty is wrong, and only the user knows
    which.

    Args:
        log_likelihood: (samples, classes), concrete.
        known: (samples,), -1 where not known.
        tasks: names of the samples for the message; their numbers if None.

    Raises:
        ValueError: lengths differ, a known label outside -1..C-1, or a known class of likelihood 0; the
            first five samples are named.
    """
    log_likelihood, known = np.asarray(jax.device_get(log_likelihood)), np.asarray(jax.device_get(known))
    check_codes(known, log_likelihood.shape[1], "known", size=len(log_likelihood), missing=True)
    rows = np.flatnonzero(known >= 0)
    bad = rows[np.isneginf(log_likelihood[rows, known[rows]])]
    if bad.size:
        names = quoted(tasks[i] for i in bad) if tasks is not None else some(bad)
        raise ValueError(
            f"the known classes of {bad.size} sample(s) have likelihood 0, because a labeler that cannot err "
            f"gave another label: {names}. Correct these, or give the labelers a small error probability"
        )
