"""What may be said when nobody vouches for independence: one answer per assumption, and their hull.

Labels alone do not tell a good classifier whose labelers err independently from a poorer one that shares its
mistakes with them: both worlds give the same labels. So every assumption that somebody could hold gives its
own answer, all of them are shown, and the printed range is the hull of their intervals:

- "majority_vote": most labelers are right on every sample (binomial uncertainty only);
- "independent": given the class everybody errs independently. Shown, and inside the next one's interval;
- "labeler_strata": some samples are hard for the labelers, not for the classifier;
- "shared_strata": some samples are hard for everybody;
- "random_effect": difficulty is gradual and everybody feels it (two classes).

Shared difficulty pulls the estimate of the classifier down, independence and strata of the labelers pull it
up, so the hull needs members of both kinds. The point is the mean over majority vote, shared strata and
random effect. Coverage and width on real label sets are measured in `benchmarks/sensitivity_range.py`. What
no member describes are labelers who are wrong together on their own: only gold labels show that.

A member leaves, and a warning names it, if its classes have exchanged names, if the data are too large for
it, or if its chains disagree (R-hat of 1.1 or more, or worth fewer than 50 draws): its interval would be
luck. One that only missed the stricter standard of `EFFORT` stays in hull and point, with a warning: its
error is small beside its width, and a narrower hull would be worse. If no other model is left, chains that
disagree stay too.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jtruth._host import majority
from jtruth._random import host_rng, stream
from jtruth.evaluation.answers import names_of, tables_of
from jtruth.evaluation.inputs import Inputs
from jtruth.evaluation.result import Assumption, Loo
from jtruth.learning.joint.posterior import JointPosterior, fit_joint
from jtruth.learning.joint.random_effect import fit_random_effect
from jtruth.sampling import Effort, TooLarge
from jtruth.sampling.pointwise import RowLikelihood
from jtruth.stats.loo import psis_loo, sum_and_error
from jtruth.stats.regions import check_level
from jtruth.tables.metrics import expected_table
from jtruth.tables.posterior import TableDraws, estimates, thinned
from jtruth.tables.several import SeveralTables
from jtruth.testing.tested import Tested

SENTENCES = {
    "majority_vote": "if most labelers are right on every sample",
    "independent": "if errors are independent given the class",
    "labeler_strata": "if some samples are hard, but for the labelers only",
    "shared_strata": "if hard samples fool labelers and classifier alike",
    "random_effect": "if difficulty is gradual and fools labelers and classifier alike",
}
SHARED = (
    "given the true class, samples differ in how hard they are, and hard ones fool labelers and classifier "
    "alike"
)
POINT = ("majority_vote", "shared_strata", "random_effect")
HULL = ("majority_vote", "labeler_strata", "shared_strata", "random_effect")
FAST = ("majority_vote", "independent", "random_effect")  # two classes; for more: HULL

# A range is wide, and its ends need not be known to a hundredth of it. Some 15 s a member, at most.
EFFORT = Effort(max_rhat=1.02, min_ess=300, max_work=3e9, nuisance=False)
_WORST_RHAT, _FEWEST_DRAWS = 1.1, 50.0
_VOTE_DRAWS = 4000

ONLY_GOLD = (
    "labels alone cannot show whether labelers and classifier are wrong together, and no range covers "
    "labelers who are wrong together by themselves: only gold can tell. Find out the truth of 30 samples "
    "chosen at random (gold=..., --gold FILE), or say assume='independent' if you can vouch for it"
)


class Member(NamedTuple):
    """One assumption and its answer."""

    name: str
    posterior: TableDraws
    fit: JointPosterior | None  # None for the majority vote


def members(
    names: tuple[str, ...],
    data: Inputs,
    key: Any,
    level: float,
    progress: Callable[[int, int], None] | None = None,
    known: dict[str, JointPosterior] | None = None,
    *,
    pointwise: bool = False,
) -> tuple[list[Member], list[str]]:
    """The named answers, and a warning for each that cannot be given.

    `known`: fits that exist already; `pointwise`: whether new ones can be compared by `loo_of`.
    """
    check_level(level)
    found, doubts, done = [], [], 0
    for name in names:
        if name == "majority_vote":
            found.append(Member(name, tables_of(vote_draws(data, key), data), None))
            continue
        if name == "random_effect" and len(data.classes) > 2:
            continue
        fit = (known or {}).get(name)
        if fit is None:
            try:
                fit = _fit(name, data, stream(key, name), _from(progress, done), pointwise)
            except TooLarge as error:
                doubts.append(f"the model {name!r} is left out of the range: {error}")
                continue
            done += fit.convergence.num_sweeps
        if not fit.usable or fit.counts is None:
            doubts.append(f"the model {name!r} is left out of the range: {fit.warnings[0]}")
            continue
        found.append(Member(name, tables_of(fit.counts, data), fit))
    return _without_luck(found, doubts)


def _without_luck(found: list[Member], doubts: list[str]) -> tuple[list[Member], list[str]]:
    """Leave members out whose chains disagree, unless no other model is left; name all that is doubtful."""
    lucky = [m for m in found if m.fit is not None and _disagree(m.fit)]
    if len(lucky) == sum(m.fit is not None for m in found):
        lucky = []
    for member in found:
        for text in () if member.fit is None else member.fit.warnings:
            left = f"the model {member.name!r} is left out of the range: {text}"
            doubts.append(left if any(member is one for one in lucky) else f"model {member.name!r}: {text}")
    return [m for m in found if not any(m is one for one in lucky)], doubts


def _disagree(fit: JointPosterior) -> bool:
    """Whether the chains are too far from convergence for an interval; NaN: nothing moved."""
    rhat, ess = (list(values.values()) for values in (fit.convergence.rhat, fit.convergence.ess))
    worst = np.nan_to_num(rhat, nan=1.0).max(initial=1.0) >= _WORST_RHAT
    return bool(worst or np.nan_to_num(ess, nan=np.inf).min(initial=np.inf) < _FEWEST_DRAWS)


def _fit(
    name: str, data: Inputs, key: Any, progress: Callable[[int, int], None] | None, pointwise: bool
) -> JointPosterior:
    labels = data.own_labels()
    gold = data.gold if (data.gold >= 0).any() else None
    known: dict[str, Any] = {"y_pred": data.y_pred, "gold": gold, "prior": data.prior, "key": key}
    # The model of independent errors is never left out: there must be an answer.
    known |= {
        "effort": EFFORT._replace(give_up=name != "independent"),
        "progress": progress,
        "pointwise": pointwise,
    }
    if name == "random_effect":
        return fit_random_effect(labels, **known)
    return fit_joint(labels, dependence=name, **known)


def row(member: Member, data: Inputs, loo: Loo | None = None) -> Assumption:
    """A member's line in the answer."""
    laws = estimates(member.posterior, *names_of(data))
    return Assumption(member.name, SENTENCES[member.name], laws, loo, member.posterior)


def loo_of(found: list[Member]) -> list[Loo | None]:
    """PSIS-LOO of every member that is a model, differences to the first of them."""
    each = [None if m.fit is None or m.fit.pointwise is None else _loo_terms(m.fit.pointwise) for m in found]
    first = next((terms for terms in each if terms is not None), None)
    out: list[Loo | None] = []
    for terms in each:
        if terms is None or first is None:
            out.append(None)
            continue
        out.append(Loo(float(terms[0].sum()), *sum_and_error(terms[0] - first[0]), terms[1]))
    return out


def _loo_terms(rows: RowLikelihood) -> tuple[np.ndarray, int]:
    """One term for each sample, and how many cannot be trusted."""
    found = psis_loo(rows.log_p, rows.relative_ess)
    bad = (found.pareto_k > found.good_k)[rows.row_of_sample]
    return found.elpd[rows.row_of_sample], int(bad.sum())


def _from(progress: Callable[[int, int], None] | None, before: int) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    return lambda done, planned: progress(before + done, before + planned)


def vote_draws(data: Inputs, key: Any) -> np.ndarray:
    """Draws of the count table if the majority vote (gold where known) is right, (draws, classes, classes).

    Tied classes share a sample. The shares of the cells are Dirichlet(counts + 2/cells), the uncertainty of
    a random sample of that size, times the number of samples: two samples of prior, however many classes.
    """
    labels = data.own_labels()
    truth, known = majority(labels.counts()), data.gold >= 0
    truth[known] = data.gold[known, None] == np.arange(labels.num_classes)[None, :]
    voted = (labels.labels_per_sample() > 0) | known
    table = expected_table(truth[voted], data.y_pred[voted], labels.num_classes)
    rng = host_rng(key, "majority vote")
    shares = rng.dirichlet(table.ravel() + 2.0 / table.size, size=_VOTE_DRAWS)
    return shares.reshape(-1, *table.shape) * labels.num_samples


def range_answer(
    found: list[Member], data: Inputs, hull: tuple[str, ...] = HULL, point: tuple[str, ...] = POINT
) -> Tested:
    """The members' answers as one: the mean of some, the hull of some."""
    some = [tuple(m.posterior for m in found if m.name in names) for names in (point, hull)]
    return Tested("bayes", SeveralTables(*some), None, float("nan"), (), *names_of(data))


def pooled_answer(found: list[Member], data: Inputs) -> Tested:
    """Equal numbers of draws of every member, as one law."""
    pooled = thinned([m.posterior for m in found])
    return Tested("bayes", pooled, None, float("nan"), (), *names_of(data))
