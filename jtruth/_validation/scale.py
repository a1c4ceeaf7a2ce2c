"""The scale of classes: nominal (names), ordinal (an order) or interval (a number for each class).

Order and distance of classes come from their names, or from a person; never from codes, which are as good as
the alphabet. Names that are all numbers are interval, by value. The words of one common scale are ordinal in
its order: its levels are listed in `_LADDERS`, or the words say how much of one quality there is ("strongly
disagree" to "strongly agree", "not toxic" to "very toxic"). Letters are grades only where no other use of
letters looks like it: beside a plus or minus, or with an F and no E.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from jtruth._validation.words import choose, number_in, quoted

SCALES = ("nominal", "ordinal", "interval")
# One scale a line, from its lowest level; words with a slash between them are of the same level.
_LADDERS = """
none/no/absent, negligible/info/informational, very low/lowest, low/lo, \
medium/moderate/mid/med/normal/average, high/hi/elevated, very high/highest, severe/extreme/urgent, critical
none/no/absent/normal, minimal/trace/very mild, mild/slight, moderate, moderately severe, severe/marked, \
very severe/extreme/critical/life threatening, fatal
trivial/cosmetic/insignificant/negligible, minor/low, normal/moderate/medium, major/serious/high, severe, \
critical, blocker/catastrophic/fatal
never, almost never/hardly ever/very rarely, rarely/seldom, occasionally, sometimes, often/frequently, \
very often/very frequently/usually/most of the time, almost always/nearly always, always/every time
worst, terrible/awful/very poor/very bad, poor/bad, below average, fair/ok/okay/acceptable/adequate, \
average/neutral, above average, good, very good/great, excellent/outstanding/exceptional, perfect/best
unsatisfactory, needs improvement, satisfactory, good, outstanding/excellent
below expectations, meets expectations, exceeds expectations
impossible, rare/very unlikely/highly unlikely/extremely unlikely, unlikely/improbable, possible/neutral, \
likely/probable, very likely/highly likely/extremely likely, almost certain, certain
definitely not, probably not, maybe/possibly/might or might not, probably/probably yes, \
definitely/definitely yes
tiny/extra small/very small/xs, small/s, medium/m, large/big/l, extra large/very large/huge/xl, xxl
none/not at all/not, slightly/a little/a little bit/a bit, somewhat/partly/partially, moderately, \
quite a bit/quite/mostly/fairly, very/very much/a lot, extremely/completely/fully/entirely
none/no, partial/some, full/complete/exact
no/fail/failed/incorrect/wrong/false, partial/partially/partly, yes/pass/passed/correct/right/true
much worse, worse, slightly worse, same/about the same/equal, slightly better, better, much better
very easy, easy, medium/moderate/normal, hard/difficult, very hard/very difficult
beginner/novice/basic, intermediate, advanced, expert
"""
_DEGREES = (
    "slightly/a little/a bit/weakly/marginally", "somewhat/partly/partially/tend to",
    "moderately/mostly/rather/fairly/quite", "", "very/highly",
    "strongly/extremely/completely/totally/fully/entirely/absolutely/definitely/perfectly",
)  # fmt: skip
_DEGREE = {word: k + 1 for k, level in enumerate(_DEGREES) for word in level.split("/")}
_HOW = "|".join(filter(None, _DEGREE))
_QUALITY = re.compile(
    rf"(not at all |not (?:very|so|really|too) |not |non )?(?:({_HOW}) )?(.+?)(?: ({_HOW}))?"
)
_OPPOSITE = {"negative": "positive", "oppose": "support", "bad": "good", "false": "true"}
_NEGATION = re.compile(r"(?:un|in|im|ir|il|dis)(.+)")
_MIDDLE, _LIKERT = {"neutral", "neither", "mixed"}, 5  # "undecided" is a level among so many
_MOST = 15  # levels of a scale of words
_GRADE = re.compile(r"([A-F])([+-]?)")
_COUNTED = re.compile(r"(?:grade|level|stage|score|rating) ?(\d+)|(\d+) ?(?:stars?|points?)")


def scale_of(
    names: Iterable[str], scale: str | None = None, named: bool = False
) -> tuple[str, tuple[str, ...], tuple[float, ...] | None, tuple[str, ...]]:
    """The scale of classes, their names in order, their numbers if it is interval, and what is to be said.

    Args:
        names: different names of the classes.
        scale: "nominal", "ordinal" or "interval" where somebody said it; None proposes one.
        named: somebody gave the names in the order of the classes, which is kept.

    Raises:
        ValueError: an unknown scale, an order that nobody gave, or distances of words.

    >>> scale_of(["high", "low", "medium"])[:2], scale_of(["10", "9"])[:3]
    (('ordinal', ('low', 'medium', 'high')), ('interval', ('9', '10'), (9.0, 10.0)))
    """
    names = tuple(names)
    if scale is not None:
        choose("scale", scale, SCALES)
    numbers = [number_in(name) for name in names]
    counted = bool(np.isfinite(numbers).all()) and len(set(numbers)) == len(names)
    if scale == "interval" and not counted:
        word = next(
            (n for n, number in zip(names, numbers, strict=True) if not np.isfinite(number)), names[0]
        )
        raise ValueError(
            f"scale='interval' needs every class to be a number of its own, and {word!r} is not. For words "
            "in an order say scale='ordinal'"
        )
    rank = numbers if counted else None if scale == "nominal" else _ranks(names)
    if rank is None and scale == "ordinal" and not named:
        raise ValueError(
            f"scale='ordinal': nobody gave the order of the classes {quoted(sorted(names), 8)}. {_HOW_TO}"
        )
    order = names if named else tuple(sorted(names) if rank is None else _by_rank(names, rank))
    if counted:
        scale = scale or "interval"
        return scale, order, tuple(map(number_in, order)) if scale == "interval" else None, ()
    if named:  # an order that is given says more than words; without `scale` both have to agree
        known = rank is not None and list(_by_rank(names, rank)) in (list(names), list(names)[::-1])
        return scale or ("ordinal" if known else "nominal"), order, None, ()
    said = rank is not None and (len(names) > 2 or order != tuple(sorted(names)))
    return ("nominal" if rank is None else "ordinal"), order, None, (_note(order),) * said


_HOW_TO = (
    "Say it from lowest to highest: --scale ordinal --classes low,mid,high "
    "(in Python: scale='ordinal', classes=['low', 'mid', 'high'])"
)


def _note(order: Sequence[str]) -> str:
    return (
        f"The classes are ordered {' < '.join(order)}, as is usual for these words. If that is wrong, say "
        "scale='ordinal' with classes=[...] from lowest to highest, or scale='nominal'."
    )


def places(labels: Any, what: str) -> np.ndarray:
    """(classes,) where the classes of `Labels` stand: their numbers, or their ranks if they have an order.

    Raises:
        ValueError: three or more nominal classes, where `what` needs their order ("": nothing does).
    """
    if what and labels.scale == "nominal" and labels.num_classes > 2:
        raise ValueError(
            f"{what} needs the order of the classes, and {quoted(labels.class_names, 8)} have none. {_HOW_TO}"
        )
    return np.arange(labels.num_classes) * 1.0 if labels.values is None else np.array(labels.values)


def at_least(names: Sequence[str], word: str) -> tuple[str, ...]:
    """The names, from lowest to highest, that are `word` or above, which may be a level that nobody gave.

    >>> at_least(["low", "high", "critical"], "Medium")
    ('high', 'critical')
    """
    alike = [k for k, name in enumerate(names) if _plain(name) == _plain(word)]
    place = names.index(word) if word in names else alike[0] if len(alike) == 1 else None
    if place is not None:
        return tuple(names[place:])
    rank = _ranks([*names, word])
    if rank is None or _by_rank(names, rank[:-1]) != tuple(names):
        raise ValueError(f"{word!r} is not one of the classes {quoted(names, 8)}")
    return tuple(name for name, level in zip(names, rank, strict=False) if level > rank[-1])


def _by_rank(names: Sequence[str], rank: Sequence[float]) -> tuple[str, ...]:
    return tuple(names[k] for k in np.argsort(rank[: len(names)], kind="stable"))


def _ranks(names: Sequence[str]) -> list[float] | None:
    """The level of each name on a common scale, higher is more; None of words that are on none."""
    plain = [_plain(name) for name in names]
    if not 2 + (max(map(len, plain), default=0) == 1) <= len(names) <= _MOST:  # two letters may mean anything
        return None
    tried = [_grades(names)]
    for words in (plain, _without_shared(plain)):
        tried += [
            [level.get(word) for word in words] for level in _levels() if len(words) > 2 or "yes" not in level
        ]
        tried += [_degrees(words), _numbered(words)]
    for rank in tried:
        known = [level for level in rank if level is not None]
        if len(known) == len(set(known)) == len(names):
            return known
    return None


def _plain(name: str) -> str:
    return " ".join(re.split(r"[\W_]+", name.casefold().replace("'", ""))).strip()


@cache
def _levels() -> tuple[dict[str, float], ...]:
    ladders = (line.split(", ") for line in _LADDERS.strip().split("\n"))
    return tuple({w: float(k) for k, level in enumerate(one) for w in level.split("/")} for one in ladders)


def _without_shared(words: Sequence[str]) -> list[str]:
    """Without the first or the last word, where all have the same: low risk, high risk."""
    parts = [word.split() for word in words]
    for end, rest in ((-1, slice(None, -1)), (0, slice(1, None))):
        if min(map(len, parts)) > 1 and len({part[end] for part in parts}) == 1:
            return [" ".join(part[rest]) for part in parts]
    return list(words)


def _grades(names: Sequence[str]) -> list[float | None]:
    """A+ is the highest; of letters that are not surely grades nothing."""
    found = [_GRADE.fullmatch(name.strip()) for name in names]
    letters, signs = ("".join(one[k] for one in found if one) for k in (1, 2))
    surely = signs or ("A" in letters and "F" in letters and "E" not in letters)
    step = {"+": 1, "-": -1, "": 0}
    return [step[one[2]] - 3.0 * ord(one[1]) if one and surely else None for one in found]


def _numbered(words: Sequence[str]) -> list[float | None]:
    """Grade 1, grade 2; 1 star, 2 stars."""
    found = [_COUNTED.fullmatch(word) for word in words]
    return [float(one[1] or one[2]) if one else None for one in found]


def _degrees(words: Sequence[str]) -> list[float | None]:
    """How much of one quality a name says, from strongly against it to strongly for it."""
    middle = _MIDDLE | ({"undecided"} if len(words) >= _LIKERT else set())
    found = [None if w in middle or w.startswith("neither ") else _QUALITY.fullmatch(w) for w in words]
    cores = {one[3] for one in found if one}
    base = min(cores, key=len, default="")
    base = _OPPOSITE.get(base, base)
    rank, poles, degrees = [], set(), 0
    for one in found:
        if one is None:
            rank.append(0.0)
            continue
        negated = _OPPOSITE.get(one[3]) == base or (one[3] != base and _negated(one[3]) == base)
        if one[3] != base and not negated:
            return [None] * len(words)
        against, degree = (one[1] or "").strip(), one[2] or one[4] or ""
        level = {"not at all": 6, "not": 4, "non": 4, "": _DEGREE[degree]}.get(against, 2)
        sign = -1 if negated or against else 1
        rank.append(1.0 * sign * level)
        poles.add(sign)
        degrees += bool(degree) or against not in ("", "not", "non")
    return rank if degrees or (None in found and len(poles) == 2) else [None] * len(words)


def _negated(core: str) -> str:
    found = _NEGATION.fullmatch(core)
    return found[1] if found else ""
