"""What is an answer about: the samples at hand, or new ones of the same kind? One word in every answer.

"in-sample": how good the predictions are on these samples, of whose classes draws of the count table speak.
"population": how good they would be on new samples, pi[c] K[c, u], with wider intervals: to what is not
known of these samples comes that they are some of many. A plan (`jtruth.planning`) is for new samples unless
it says otherwise, and `evaluate(target="population")` answers what it planned for.

The population can be answered for where error rates were learned and there is no gold: its parameters are
then drawn too. Gold says which of these samples are right, and known error rates which classes they are of.
"""

from jtruth._validation import choose
from jtruth.evaluation._tars import TARS
from jtruth.evaluation.text import IN_SAMPLE, POPULATION, TARGETS


def target_of(target: str | None, method: str, learned: bool, gold: bool) -> str:
    """What the answer is about; an error where it cannot be had.

    Args:
        target: as asked for; None: what the method answers.
        method: of `evaluate`.
        learned: whether error rates are learned and drawn.
        gold: whether there is some.
    """
    own = POPULATION if method == TARS else IN_SAMPLE
    if target is None or target == own:
        return own
    choose("target", target, TARGETS)
    if method == TARS:
        raise ValueError("method='tars' answers for the population only; leave target out, or use 'bayes'")
    if not learned:
        raise ValueError(
            "target='population' needs error rates that are learned, and method 'bayes': known ones say "
            "which classes these samples are of. Use method='tars', or leave target out"
        )
    if gold:
        raise ValueError(
            "target='population' has no answer with gold, which is of these samples. Leave target out"
        )
    return target
