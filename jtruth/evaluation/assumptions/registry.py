"""The table of assumptions: what may hold of labelers and classifier given the class, one entry each.

The range (`ranges`), the answer with gold, `sensitivity`, `evaluate(assume=...)` and every text take from the
entry what they need, so a new assumption is one entry here and the file of its model.

- "majority_vote": most labelers are right on every sample (binomial uncertainty only);
- "independent": given the class everybody errs independently. Shown, and inside the next one's interval;
- "labeler_strata": some samples are hard for the labelers, not for the classifier;
- "shared_strata": some samples are hard for everybody;
- "random_effect": difficulty is gradual and everybody feels it (two classes);
- "copying": the classifier repeats a label now and then. Labels do not tell how often: moved by hand.

Shared difficulty pulls the estimate of the classifier down, independence and strata of the labelers pull it
up, so the hull needs members of both kinds. The point is the mean over majority vote, shared strata and
random effect. Coverage and width on real label sets are measured in `benchmarks/sensitivity_range.py`. What
no member describes are labelers who are wrong together on their own: only gold labels show that.
"""

from collections.abc import Callable
from typing import NamedTuple

from jtruth.evaluation.assumptions import fits
from jtruth.evaluation.inputs import Inputs
from jtruth.learning.joint.posterior import JointPosterior

_SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)


class Lever(NamedTuple):
    """What `Evaluation.sensitivity` moves: the share of a model's dependent samples."""

    what: str  # its name there
    axis: str  # in words
    values: tuple[float, ...] = _SHARES  # looked at if nobody says where; at 0 errors are independent
    place: Callable[[JointPosterior, Inputs, float], float] = lambda fit, data, share: share  # on the axis


class Entry(NamedTuple):
    """One assumption: how it is said and fitted, and where it has a say."""

    name: str
    sentence: str  # beginning with "if"
    fit: fits.Fit
    takes: Callable[[int, int], bool] = lambda classes, symbols: True  # numbers of classes and symbols
    shown: bool = True  # a line of the range
    hull: bool = False  # its interval is inside the range
    point: bool = False  # its mean is part of the range's point
    fast: bool = False  # a line of the fast range, all of whose lines are in its hull
    gold: bool = False  # in the pool with gold
    last_resort: bool = False  # never too large, and asked where nothing else has an answer
    group: str | None = None  # the word for `assume` under which it answers, pooled with others of the group
    lever: Lever | None = None


_ENTRIES = (
    Entry("majority_vote", "if most labelers are right on every sample", fits.majority_votes,
          hull=True, point=True, fast=True),
    Entry("independent", "if errors are independent given the class", fits.latent_classes("independent"),
          fast=True, last_resort=True, group="independent"),
    Entry("labeler_strata", "if some samples are hard, but for the labelers only",
          fits.latent_classes("labeler_strata"), hull=True,
          lever=Lever("labeler_dependence", "share of samples that are hard for the labelers only")),
    Entry("shared_strata", "if hard samples fool labelers and classifier alike",
          fits.latent_classes("shared_strata"), hull=True, point=True, gold=True, group="shared_difficulty",
          lever=Lever("hard_samples", "share of samples that are hard for labelers and classifier")),
    Entry("random_effect", "if difficulty is gradual and fools labelers and classifier alike",
          fits.random_effect, takes=lambda classes, symbols: classes == symbols == 2,
          hull=True, point=True, fast=True, gold=True, group="shared_difficulty"),
    Entry("copying", "if the classifier repeats labels of the labelers", fits.latent_classes("copying"),
          takes=lambda classes, symbols: classes == symbols, shown=False,
          lever=Lever("shared_errors", "share of the classifier's errors that are shared with labelers",
                      (0.0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6), fits.share_of_errors)),
)  # fmt: skip
ASSUMPTIONS: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}

# What `assume` may name beside "unknown", and the sentence of an answer that takes it for granted.
INDEPENDENT, UNKNOWN = "independent", "unknown"
GROUPS = {
    INDEPENDENT: "given the true class, the classifier and the labelers err independently of one another",
    "shared_difficulty": "given the true class, samples differ in how hard they are, and hard ones fool "
    "labelers and classifier alike",
}


def entries(data: Inputs) -> list[Entry]:
    """The assumptions that can be made about these data, in the order in which they are shown."""
    size = len(data.classes)
    return [entry for entry in ASSUMPTIONS.values() if entry.takes(size, size)]


def check_assume(assume: str | None) -> None:
    """Refuse words that no answer can assume."""
    known = (UNKNOWN, *GROUPS)
    if assume is not None and assume not in known:
        raise ValueError(f"assume={assume!r} is not available; choose one of {', '.join(known)}")
