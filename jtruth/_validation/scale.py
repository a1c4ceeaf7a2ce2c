"""The scale of classes: nominal (names), ordinal (an order) or interval (a number for each class).

Order and distance of classes come from their names, or from a person; never from codes, which are as good as
the alphabet. Names that are all numbers are interval, by value. Words of one common scale are ordinal in its
order: its levels are in `_LADDERS`, or the words say how much of one quality there is ("strongly disagree" to
"strongly agree", "not toxic" to "very toxic"). Letters are grades only beside a plus or minus, or with A and
F and no E: A, B, C, D may be the answers to a question.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
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
impossible, rare/very unlikely/highly unlikely/extremely unlikely, unlikely/improbable, possible/neutral, \
likely/probable, very likely/highly likely/extremely likely, almost certain, certain
definitely not, probably not, maybe/possibly/might or might not, probably/probably yes, \
definitely/definitely yes
tiny/extra small/very small/xs, small/s, medium/m, large/big/l, extra large/very large/huge/xl, xxl
none/not at all/not, slightly/a little/a little bit/a bit, somewhat/partly/partially, moderately, \
quite a bit/quite/mostly/fairly, very/very much/a lot, extremely/completely/fully/entirely
no/fail/failed/incorrect/wrong/false, partial/partially/partly, yes/pass/passed/correct/right/true
much worse, worse, slightly worse, same/about the same/equal, slightly better, better, much better
very easy, easy, medium/moderate/normal, hard/difficult, very hard/very difficult
1 star, 2 stars, 3 stars, 4 stars, 5 stars
"""
_DEGREES = (
    "slightly/a little/a bit/marginally", "somewhat/partly/partially/tend to",
    "moderately/mostly/rather/fairly/quite", "", "very/highly",
    "strongly/extremely/completely/totally/fully/entirely/absolutely/definitely",
)  # fmt: skip
_PLAIN_DEGREE = 4
_OPPOSITES = {
    "disagree": "agree", "dissatisfied": "satisfied", "unlikely": "likely", "negative": "positive",
    "oppose": "support", "disapprove": "approve", "bad": "good", "false": "true",
}  # fmt: skip
_NOT = ("un", "in", "im", "ir", "il", "dis", "not ", "non ")
_MOST, _LIKERT = 15, 5  # levels of a scale of words, and of one on which "undecided" is a level
_LONGEST = 40  # letters of a level
_GRADES = {a + b: k - 3.0 * n for n, a in enumerate("ABCDEF") for k, b in enumerate(("-", "", "+"))}
_HOW_TO = (
    "Give the order from lowest to highest: --scale ordinal --classes low,mid,high "
    "(in Python: scale='ordinal', classes=['low', 'mid', 'high'])"
)


def scale_of(
    names: Iterable[str], scale: str | None = None, named: bool = False
) -> tuple[str, tuple[str, ...], tuple[float, ...] | None, tuple[str, ...]]:
    """The scale of classes, their names in order, their numbers if it is interval, and notes.

    `scale` is what the user declared; None proposes one. `named`: the user gave the order of the names,
    which is kept. Refused are an order that is unknown, and distances of words.

    >>> scale_of(["high", "low", "medium"])[:2], scale_of(["10", "9"])[:3]
    (('ordinal', ('low', 'medium', 'high')), ('interval', ('9', '10'), (9.0, 10.0)))
    """
    names = tuple(names)
    choose("scale", scale or SCALES[0], SCALES)
    numbers = values_of(names)
    if np.isfinite(numbers).all() and len(set(numbers)) == len(names):
        order, scale = names if named else _by_rank(names, numbers), scale or "interval"
        return scale, order, values_of(order) if scale == "interval" else None, ()
    if scale == "interval":
        advice = f"they are {quoted(names, 8)}. For words in an order say scale='ordinal'"
        raise ValueError(f"scale='interval' needs classes that are different numbers; {advice}")
    rank = None if scale == "nominal" else _ranks(names)
    order = tuple(sorted(names)) if rank is None else _by_rank(names, rank)
    if named:  # without `scale` the order that was given and the words have to agree
        known = rank is not None and order in (names, names[::-1])
        return scale or ("ordinal" if known else "nominal"), names, None, ()
    if rank is None and scale == "ordinal":
        raise ValueError(f"the order of the classes {quoted(order, 8)} is unknown. {_HOW_TO}")
    if rank is None or (len(names) == 2 and list(order) == sorted(names)):
        return "nominal" if rank is None else "ordinal", order, None, ()
    note = (
        f"The classes are ordered {' < '.join(order)}, by the meaning of the words. If that is wrong, give "
        "scale='ordinal' with classes=[...] from lowest to highest, or scale='nominal'."
    )
    return "ordinal", order, None, (note,)


def values_of(names: Sequence[str]) -> tuple[float, ...]:
    """The number of each class, NaN where one is none; all may be percentages."""
    percent = all(name.endswith("%") for name in names)
    return tuple(number_in(name.rstrip(" %") if percent else name) for name in names)


def places(labels: Any, what: str = "") -> np.ndarray:
    """(classes,) numbers or ranks of the classes of `Labels`; refused if nominal where `what` needs order."""
    if what and labels.scale == "nominal" and labels.num_classes > 2:
        nominal = f"{quoted(labels.class_names, 8)} have none"
        raise ValueError(f"{what} needs the order of the classes, and {nominal}. {_HOW_TO}")
    return np.arange(labels.num_classes) * 1.0 if labels.values is None else np.array(labels.values)


def at_least(names: Sequence[str], word: str) -> tuple[str, ...]:
    """The names, from lowest to highest, that are `word` or above, which may be a level that nobody gave.

    >>> at_least(["low", "high", "critical"], "Medium")
    ('high', 'critical')
    """
    alike = [k for k, name in enumerate(names) if _plain(name) == _plain(word)]
    alike = [k for k in alike if names[k] == word] or alike
    if len(alike) == 1:
        return tuple(names[alike[0] :])
    rank = _ranks([*names, word])
    if rank is None or _by_rank(names, rank[:-1]) != tuple(names):
        raise ValueError(f"{word!r} is not one of the classes {quoted(names, 8)}")
    return tuple(name for name, level in zip(names, rank, strict=False) if level > rank[-1])


def _by_rank(names: Sequence[str], rank: Sequence[float]) -> tuple[str, ...]:
    return tuple(names[k] for k in sorted(range(len(names)), key=lambda k: rank[k]))


def _plain(name: str) -> str:
    return " ".join(re.split(r"[\W_]+", name.casefold().replace("'", ""))).strip()


def _ranks(names: Sequence[str]) -> list[float] | None:
    """The level of each name on a common scale, higher is more; None of words that are on none."""
    numbered = [re.fullmatch(r"\d{1,2}\s*[-–:=.)]\s*(\D.*)", name) for name in names]
    if all(numbered):  # "1 - bad" is bad
        names = [match[1] for match in numbered if match]
    plain = [_plain(name) for name in names]
    longest = max(map(len, plain), default=0)
    if longest > _LONGEST or not 2 + (longest == 1) <= len(names) <= _MOST:  # two letters may mean anything
        return None
    signs = any(name[1:] in ("+", "-") for name in names)
    sure = signs or ("A" in names and "F" in names and "E" not in names)
    scales = [(list(names), _GRADES)] if sure else []
    for words in (plain, _without_shared(plain)):
        scales += [(words, level) for level in (*_ladders(len(words) > 2), *_qualities(words))]
    for words, level in scales:
        if len({level.get(word) for word in words} - {None}) == len(names):
            return [level[word] for word in words]
    return None


@lru_cache
def _ladders(several: bool) -> tuple[dict[str, float], ...]:
    """The level of each word of the common scales; yes and no are on none where they are all."""
    lines = [line.split(", ") for line in _LADDERS.strip().split("\n") if several or "yes" not in line]
    return tuple({w: float(k) for k, level in enumerate(line) for w in level.split("/")} for line in lines)


def _without_shared(words: list[str]) -> list[str]:
    """Without the last word, where all have the same: low risk, high risk."""
    parts = [word.split() for word in words]
    shared = min(map(len, parts)) > 1 and len({part[-1] for part in parts}) == 1
    return [" ".join(part[:-1]) for part in parts] if shared else words


def _qualities(words: Sequence[str]) -> list[dict[str, float]]:
    """Scales from strongly against to strongly for a named quality; two opposites alone are on none."""
    bases = dict.fromkeys(_OPPOSITES.get(part, part) for word in words for part in word.split())
    found = [_quality(base, len(words) >= _LIKERT) for base in bases]
    plain = {0, _PLAIN_DEGREE}
    return [one for one in found if len(words) > 2 or {abs(one.get(word, 0)) for word in words} - plain]


@lru_cache
def _quality(base: str, many: bool) -> dict[str, float]:
    against = [f"{word}{base}" for word in _NOT] + [low for low, high in _OPPOSITES.items() if high == base]
    level = {f"not {how} {base}": -2.0 for how in ("very", "so", "really", "too")}
    level[f"not at all {base}"] = -6.0
    level |= dict.fromkeys(["neutral", "neither", "mixed", *["undecided"] * many], 0.0)
    for low in against:
        level |= {f"neither {base} nor {low}": 0.0, f"neither {low} nor {base}": 0.0}
    for k, degree in enumerate(_DEGREES, 1):
        for how in degree.split("/"):
            for pole, sign in ((base, 1.0), *((low, -1.0) for low in against)):
                level |= dict.fromkeys((f"{how} {pole}".strip(), f"{pole} {how}".strip()), sign * k)
    return level
