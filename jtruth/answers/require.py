"""A gate for continuous integration: whether a result meets a requirement, and with what probability.

    requirement = NAME OP LIMIT | NAME OP NAME        OP = >= > <= <        LIMIT = .8 or 80%

A NAME depends on the result: a class of `prevalence`, a metric of `evaluate` ("recall[disease]"), a
classifier of `compare` ("m1", "m1 - m2"). The probability is that of the distribution of the printed
interval. A requirement is met if its probability is at least `confidence`, not met if that of its opposite
is; otherwise the data cannot decide.

The gold that would decide follows from the square-root rule of a power calculation: with standard deviation s
from n verified items, a distance d from the limit needs about n (z s / d)^2 of them, z the normal quantile of
`confidence`. Without gold, s^2 n is the variance of one verified item, x (1 - x) of a share x halfway to the
limit.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, isnan
from typing import Any, NamedTuple

from scipy.special import ndtri

from jtruth._one_line import one_line
from jtruth._validation.words import number_in, plain
from jtruth.answers.answer import Answer
from jtruth.answers.blocks import Column, Document, Table, facts

MET, NOT_MET, OPEN = "met", "not met", "cannot tell"
EXIT = {MET: 0, NOT_MET: 3, OPEN: 4}  # codes with which a command ends; the worst comes second
_WORST = (NOT_MET, OPEN, MET)
_TURN = str.maketrans("<>≤≥", "><≥≤")
_MOST = 1_000_000  # verified items that anybody would collect
_FORM = "write NAME >= LIMIT with one of >= > <= <, such as {!r}"


class Quantity(NamedTuple):
    """A number for a requirement."""

    dist: Any  # an `Estimate`
    variance: float = float("nan")  # that one verified item would have; NaN: as it has of a share
    turned: bool = False  # whether the number is minus that of `distribution`
    sure: float = 0.0  # a less probable side of a limit is not reported: `distribution` makes it too sure

    __repr__ = one_line


Find = Callable[[str], Quantity]  # by name; a ValueError lists the names


@dataclass(frozen=True, repr=False)
class Gate(Answer):
    """A result and its requirements; `exit_code` is 0 (met), 3 (not met) or 4 (cannot tell)."""

    answer: Any  # of `evaluate`, `compare_classifiers` or `prevalence`
    confidence: float
    rows: tuple[dict[str, Any], ...]  # of each requirement: probability, verdict, gold_needed

    @property
    def worst(self) -> dict[str, Any]:
        """The row of the requirement with the worst verdict, of several the least probable."""
        return min(self.rows, key=lambda row: (_WORST.index(row["verdict"]), row["probability"] or 0.0))

    @property
    def verdict(self) -> str:
        """The worst verdict."""
        return self.worst["verdict"]

    @property
    def probability(self) -> float | None:
        """P(the worst requirement is met)."""
        return self.worst["probability"]

    @property
    def exit_code(self) -> int:
        """Exit code of the command."""
        return EXIT[self.verdict]

    def with_warnings(self, sentences: Any) -> "Gate":
        """The same with more warnings of the result."""
        return replace(self, answer=self.answer.with_warnings(sentences))

    def blocks(self) -> Document:
        """Build the document of the result, with the verdict first."""
        return self._before(self.answer.blocks())

    def brief(self, *, page: bool = False) -> Document:
        """Build its brief part, with the verdict first."""
        return self._before(self.answer.brief(page=page))

    def _before(self, document: Document) -> Document:
        values_of = [item for block in document.blocks if isinstance(block, dict) for item in block.items()]
        target = next((value for name, value in values_of if name.rpartition(".")[2] == "target"), "")
        of = "in these samples" if target == "in-sample" else "for new samples"
        sentences = [_sentence(row, self.confidence, of) for row in self.rows]
        columns = (Column("probability", "P(met)"), Column("verdict", "verdict"),
                   Column("gold_needed", "verified items to decide"))  # fmt: skip
        more = (
            Table("requirements", "Requirements", "requirement", columns, self.rows),
            facts(**{name: self.worst[name] for name in ("requirement", "probability", "verdict")}),
            facts(confidence=self.confidence, exit_code=self.exit_code),
        )
        return document._replace(sentence=" ".join([*sentences, document.sentence])).more(*more)


def require(
    answer: Any, find: Find, requirements: Sequence[str], confidence: float, num_gold: int, example: str
) -> Gate:
    """Check requirements of a result.

    Args:
        answer: the result.
        find: the number of a name.
        requirements: one or more, in the grammar above.
        confidence: probability from which a requirement is met, or its opposite; above one half.
        num_gold: verified items that the result used.
        example: a valid requirement, for messages.

    Raises:
        ValueError: no requirement, an invalid one, an unknown name, or a limit that no share reaches.
    """
    if not 0.5 < confidence < 1:
        raise ValueError(
            f"confidence={confidence!r}: give a probability between .5 and 1, for example confidence=0.95"
        )
    if not requirements:
        raise ValueError(f"no requirement: {_FORM.format(example)}")
    rows = tuple(_row(text, *_read(text, find, example), confidence, num_gold) for text in requirements)
    if isinstance(answer, Answer) and answer.brief().alarms:  # numbers below an alarm mean nothing
        rows = tuple(row | {"verdict": OPEN, "gold_needed": None, "alarm": True} for row in rows)
    return Gate(answer, float(confidence), rows)


def one_of(quantities: Mapping[str, Quantity]) -> Find:
    """Find a number by name among these."""

    def find(text: str) -> Quantity:
        if text not in quantities:
            raise ValueError(f"there is no number {text!r}; numbers: {', '.join(map(plain, quantities))}")
        return quantities[text]

    return find


def named_quantity(text: str, dists: Any, noun: str, metrics: Sequence[str] = ()) -> Quantity:
    """The number for "m1", "m1 accuracy" or "m1 - m2" (as if both were right independently), from `dists`."""
    values: Mapping[str, Any] = dists.values
    differences: Mapping[tuple[str, str], Any] = dists.differences
    names_of = {name: (name, *(f"{name} {metric}" for metric in metrics)) for name in values}
    for name, dist in values.items():
        if text in names_of[name]:
            return Quantity(dist)
    for pair, turned in product(differences, (False, True)):
        a, b = pair[::-1] if turned else pair
        if any(text in (f"{one} - {two}", f"{one}-{two}") for one, two in product(names_of[a], names_of[b])):
            variance = sum(values[name].mean * (1 - values[name].mean) for name in (a, b))
            return Quantity(differences[pair], variance, turned)
    names, of = ", ".join(map(plain, values)), f"; the metric is {metrics[0]}" if metrics else ""
    raise ValueError(f"{text!r} is neither a {noun} nor a difference A - B of two; {noun}s: {names}{of}")


def _read(text: str, find: Find, example: str) -> tuple[Quantity, str, float]:
    """The number, the sign and the limit of a requirement; a name may have signs too."""
    form, problem = _FORM.format(example), ""
    plain_text = str(text).replace("\N{MINUS SIGN}", "-")
    for sign in re.finditer(r">=|<=|≥|≤|>|<", plain_text):
        left, right = plain_text[: sign.start()].strip(), plain_text[sign.end() :].strip()
        if not left or not right or right[0] in "=<>":
            continue
        turned, limits = sign[0].translate(_TURN), (_share(left), _share(right))
        if any(abs(limit) > 1 for limit in limits[1:] if not isnan(limit)):
            raise ValueError(f"requirement {text!r}: the limit is a share, such as .8 or 80%")
        try:
            if not isnan(limits[1]):
                return find(left), sign[0], limits[1]
            if not isnan(limits[0]):
                return find(right), turned, limits[0]
            return find(f"{left} - {right}"), sign[0], 0.0
        except ValueError as unknown:
            problem = f"{unknown}; "
    if wrong := re.search(r"=\s*([<>])|([<>])\s+=|[=!]=", plain_text):
        sides = [f"{wrong[1] or wrong[2]}="] if wrong[1] or wrong[2] else [">=", "<="]
        problem, form = "", f"write {' or '.join(sides)}, not {wrong[0]}"
    raise ValueError(f"requirement {text!r}: {problem}{form}")


def _share(text: str) -> float:
    return number_in(text.rstrip("% ")) / (100 if text.endswith("%") else 1)


def _row(
    text: str, found: Quantity, sign: str, limit: float, confidence: float, num_gold: int
) -> dict[str, Any]:
    dist, more, strict = found.dist, sign[0] in ">≥", sign in "<>"
    if found.turned:
        limit, more = -limit, not more
    p = dist.p_above(limit, strict=strict == more)
    p = p if more else 1 - p
    verdict = MET if p >= confidence else NOT_MET if 1 - p >= confidence else OPEN
    if max(p, 1 - p) < found.sure:
        p, verdict = float("nan"), OPEN
    needed = gold_to_decide(found, limit, confidence, num_gold) if verdict == OPEN else None
    return {"requirement": text, "probability": None if isnan(p) else float(p), "verdict": verdict,
            "gold_needed": needed, "alarm": False}  # fmt: skip


def gold_to_decide(found: Quantity, limit: float, confidence: float, num_gold: int) -> int | None:
    """Number of verified items that would decide a requirement (see the module); None: too many.

    >>> class Dist: mean, sd = 0.85, 0.05
    >>> gold_to_decide(Quantity(Dist), 0.8, 0.95, 50)
    140
    """
    distance = abs(found.dist.mean - limit)
    middle = (found.dist.mean + limit) / 2  # of a share the variance changes on the way
    of_one = middle * (1 - middle) if isnan(found.variance) else found.variance
    of_one = found.dist.sd**2 * num_gold if num_gold else of_one
    if not distance > 0:
        return None
    needed = of_one * (float(ndtri(confidence)) / distance) ** 2
    return None if needed > _MOST else max(10 * ceil(needed / 10), num_gold + 10)


def _sentence(row: dict[str, Any], confidence: float, of: str) -> str:
    name, verdict, p = plain(row["requirement"]), row["verdict"], row["probability"]
    if row["alarm"]:
        return f"Requirement {name!r} cannot be decided before the problem above is solved."
    if p is None and not row["gold_needed"]:
        return f"Requirement {name!r} cannot be decided: these labels do not determine the number."
    chance = "" if p is None else f"probability {_chance(p, confidence)} {of}"
    if verdict != OPEN:
        return f"Requirement {name!r} is {verdict}: {chance}."
    help_ = "The number is too close to the limit for more gold to decide."
    if row["gold_needed"]:
        help_ = f"About {row['gold_needed']:,} verified items in all would decide (an estimate)."
    says = f"{chance}, but {confidence:g} is needed" if chance else f"the labels alone cannot tell {of}"
    return f"Requirement {name!r} cannot be decided yet: {says}. {help_}"


def _chance(p: float, confidence: float) -> str:
    """A probability with enough digits to be on its side of the confidence."""
    if not 0.0005 < p < 0.9995:
        return "above 0.999" if p > 0.5 else "below 0.001"
    sides = [(q, c) for q in (p, 1 - p) for c in (confidence, 1.0)]
    digits = (d for d in range(2, 9) if all((round(q, d) >= c) == (q >= c) for q, c in sides))
    return f"{p:.{next(digits, 9)}f}"
