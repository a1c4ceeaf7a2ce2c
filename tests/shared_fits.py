"""Fixtures: each model is fitted once to the same labels; the conftest of a folder imports them."""

import inspect
import pickle
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import jax
import pytest

MOST = 200  # fits that are kept
FOUND: OrderedDict[bytes, Any] = OrderedDict()


@pytest.fixture(scope="session", autouse=True)
def fits_are_shared() -> Iterator[None]:
    """What `fit_joint` has found for the same arrays, key and effort is not looked for again.

    Functions that have no name (progress, a share that is fixed) are nobody's key: such fits are made again.
    """
    from jtruth._random import as_key
    from jtruth.evaluation import score_tables
    from jtruth.evaluation.assumptions import registry
    from jtruth.latent.infer import temper
    from jtruth.learning.joint.posterior import fit_joint

    def once(labels: Any, *, key: Any = None, **how: Any) -> Any:
        usual = inspect.unwrap(fit_joint).__kwdefaults__["effort"]  # fixtures exchange it, and these
        seen = [getattr(labels, field.name) for field in fields(labels)]
        words = jax.random.key_data(as_key(key)).tolist()
        try:
            name = pickle.dumps((seen, words, {"effort": usual, **how}, temper._SIZES, temper._RUNS))
        except (pickle.PicklingError, AttributeError, TypeError):
            return fit_joint(labels, key=key, **how)
        if name not in FOUND:
            FOUND[name] = fit_joint(labels, key=key, **how)
        FOUND.move_to_end(name)
        while len(FOUND) > MOST:
            FOUND.popitem(last=False)
        return FOUND[name]

    with pytest.MonkeyPatch.context() as patch:
        for room in (registry, score_tables):
            patch.setattr(room, "fit_joint", once)
        yield
