"""Which class is the positive one: what its name means, else an order that somebody gave, else the rarer.

Recall, precision, sensitivity and specificity are of one class, and which one that is must not depend on the
alphabet. Of two names one may say that nothing was found ("healthy", "ok"), or fail where the other passes:
then the other one is meant. Where the answer can be right or wrong, the errors are.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from jtruth._validation.words import number_of, plain, quoted

# A family a line: words for the rest, and for what is meant beside one of them (a star: any other word).
_MEANING = """
no/n/false/f/0/never: yes/y/true/t/1/always
fail/failed/fails/failing/failure: pass/passed/passes/passing/success
negative/neg/-: positive/pos/+
bad/poor: good
reject/rejected/deny/denied/decline/declined: accept/accepted/approve/approved
lose/loses/loss/lost: win/wins/won
off/inactive/closed: on/active/open
right/true/real: wrong/fake/error
human: ai/bot/machine/llm/model/generated
healthy/normal/benign/control/absent/none/nothing/ok/okay/fine/clean/ham/legit/legitimate/genuine/authentic/\
safe/harmless/correct/accurate/valid/faithful/factual/grounded/supported/consistent/other/others/rest/\
background/neutral: *
"""
_WITHOUT = ("no", "not", "non", "without")
_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non")
_ENOUGH = 20  # gold answers from which they say which class is the rarer one
ASKED, MEANING = "as asked", "by its meaning"


def positive_of(labels: Any, positive: Any = None, gold: np.ndarray | None = None) -> tuple[int, str]:
    """Code of the positive class of `Labels`, and how it was chosen, in words.

    Args:
        labels: whose classes they are.
        positive: its name or code, if somebody said it.
        gold: (samples,) known classes, -1 where unknown; the rarer class is the rarer one among 20 or more of
            these, else among the labels.

    Raises:
        ValueError: no such class.
    """
    names = tuple(map(str, labels.class_names))
    if positive is not None:
        return _named(positive, names), ASKED
    if len(names) == 2 and (meant := _meant(*names)) is not None:
        return meant, MEANING
    if "classes" not in labels.inferred:
        return 1, "the second of the classes in the order given"
    if len(names) == 2 and labels.scale != "nominal":
        return 1, "the higher one"
    known = np.zeros(0, np.int64) if gold is None else np.asarray(gold)[np.asarray(gold) >= 0]
    codes, what = (known, "gold label") if known.size >= _ENOUGH else (labels.entries()[2], "label")
    counts = np.bincount(codes, minlength=len(names))
    if len(names) == 2 and counts[0] == counts[1]:
        return 1, f"as frequent as the other among {number_of(codes.size, what)}"
    rare = "rarer" if len(names) == 2 else "rarest"
    rarest = int(np.where(counts > 0, counts, codes.size + 1).argmin())
    return rarest, f"the {rare} among {number_of(codes.size, what)}"


def positive_line(classes: Sequence[str], positive: str, chosen: str) -> str:
    """Which class is the positive one, why, and how to change it: a line of a first screen."""
    if chosen == ASKED:
        return f"Positive class: {plain(positive)}."
    why = "" if chosen == MEANING else f", {chosen}"
    other = next((name for name in classes if name != positive), positive)
    return f"Positive class: {plain(positive)}{why}; positive={other!r} to change."


def _named(positive: Any, names: tuple[str, ...]) -> int:
    if isinstance(positive, str) and positive in names:
        return names.index(positive)
    number = isinstance(positive, int | np.integer) and not isinstance(positive, bool)
    code = int(positive) if number else -1
    if not 0 <= code < len(names):
        advice = f"give a class code 0 to {len(names) - 1}, or a class name"
        raise ValueError(f"positive={positive!r} is not one of the classes {quoted(names)}; {advice}")
    return code


def _meant(first: str, second: str) -> int | None:
    """Which of two classes is meant by their names, 0 or 1; None if they do not say it.

    >>> _meant("disease", "healthy"), _meant("incorrect", "correct"), _meant("fail", "pass"), _meant("a", "b")
    (0, 0, 1, None)
    """
    pair = [" ".join(re.split(r"[\W_]+", name.casefold())).strip() or name for name in (first, second)]
    for rest, meant in _families():
        sides = [word in rest and (pair[1 - k] in meant or not (meant or pair[1 - k] in rest))
                 for k, word in enumerate(pair)]  # fmt: skip
        if any(sides):
            return 1 - sides.index(True)
    denied = [word.split(" ")[0] in _WITHOUT or word in {f"{no}{pair[1 - k]}" for no in _PREFIXES}
              for k, word in enumerate(pair)]  # fmt: skip
    return 1 - denied.index(True) if sum(denied) == 1 else None


@lru_cache
def _families() -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Words for the rest, and for what is meant (none: any other word)."""
    lines = (line.split(": ") for line in _MEANING.strip().split("\n"))
    return tuple((frozenset(rest.split("/")), frozenset(meant.split("/")) - {"*"}) for rest, meant in lines)
