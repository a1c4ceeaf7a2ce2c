"""Which class is the positive one: what its name means, else an order that somebody gave, else the rarer.

Recall, precision, sensitivity and specificity are of one class, and which one that is must not depend on the
alphabet. Of two names one may say that nothing was found ("healthy", "ok"), or fail where the other passes:
then the other one is meant. Where the answer can be right or wrong, the errors are.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from jtruth._validation.words import SIDE, number_of, plain, quoted

# A family a line: words for the rest, and for what is meant beside one of them (a star: any other word).
# The first one has all that reading takes for no and yes, fail and pass, in many languages, too.
_MEANING: list[tuple[set[str], ...]] = [tuple(set(w.split("/")) for w in line.split(": ")) for line in """
0/never/fails/failing/failure/échoué/échec/suspenso/reprobado/reprovado/durchgefallen: \
1/always/passes/passing/success/réussi/réussite/aprobado/aprovado/bestanden
negative/neg/-/negativ/négatif/negativo/negatief: positive/pos/+/positiv/positif/positivo/positief
bad/poor/schlecht/mauvais/malo/mau/cattivo/slecht: good/gut/bon/bueno/bom/buono/goed
reject/rejected/deny/denied/decline/declined/abgelehnt/rejeté/rechazado: \
accept/accepted/approve/approved/angenommen/accepté/aceptado
lose/loses/loss/lost: win/wins/won
off/inactive/closed: on/active/open
right/true/real/richtig/correcto/correto/corretto/juist: \
wrong/fake/error/falsch/faux/incorrecto/errado/sbagliato/fout
human: ai/bot/machine/llm/model/generated
healthy/normal/benign/control/absent/none/nothing/ok/okay/fine/clean/ham/legit/legitimate/genuine/authentic/\
safe/harmless/correct/accurate/valid/faithful/factual/grounded/supported/consistent/other/others/rest/\
background/neutral/gesund/gutartig/sain/bénin/sano/benigno/gezond/keine: *
""".strip().split("\n")]  # fmt: skip
_MEANING[0] = tuple(
    words | {word for word, at in SIDE.items() if at == k} for k, words in enumerate(_MEANING[0])
)
_WITHOUT = ("no ", "not ", "non ", "without ", "nicht ", "kein ", "keine ", "ohne ", "pas ", "sans ",
            "sin ", "não ", "sem ", "senza ", "niet ", "geen ", "ikke ", "inte ", "не ", "不", "非", "无",
            )  # fmt: skip
_NOT = (*_WITHOUT, "un", "in", "im", "ir", "il", "dis", "non")
_ENOUGH = 20  # gold answers from which they say which class is the rarer one
ASKED, MEANING = "as asked", "by its meaning"


def positive_of(labels: Any, positive: Any = None, gold: np.ndarray | None = None) -> tuple[int, str]:
    """Code of the positive class of `Labels` (by name or code, if it is given), and how it was chosen.

    The rarer class is the rarer one among 20 or more of the samples of known class (`gold`, -1 where
    unknown), else among the labels. ValueError: no such class.
    """
    names = tuple(map(str, labels.class_names))
    two = len(names) == 2
    if positive is not None:
        return _named(positive, names), ASKED
    if two and (meant := _meant(*names)) is not None:
        return meant, MEANING
    if "classes" not in labels.inferred or (two and labels.scale != "nominal"):
        given = "classes" not in labels.inferred
        return 1, "the second class in the given order" if given else "the higher one"
    known = np.zeros(0, np.int64) if gold is None else np.asarray(gold)[np.asarray(gold) >= 0]
    codes, what = (known, "gold label") if known.size >= _ENOUGH else (labels.entries()[2], "label")
    counts, among = np.bincount(codes, minlength=len(names)), f"among {number_of(codes.size, what)}"
    if two and counts[0] == counts[1]:
        return 1, f"as frequent as the other {among}"
    rarest = int(np.where(counts > 0, counts, codes.size + 1).argmin())
    return rarest, f"the {'rarer' if two else 'rarest'} {among}"


def positive_line(classes: Sequence[str], positive: str, chosen: str) -> str:
    """Which class is the positive one, why, and how to change it: a line of a first screen."""
    if chosen == ASKED:
        return f"Positive class: {plain(positive)}."
    why = "" if chosen == MEANING else f", {chosen}"
    other = next((name for name in classes if name != positive), positive)
    return f"Positive class: {plain(positive)}{why} (to change: positive={other!r})."


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
    for rest, meant in _MEANING:
        sides = [one in rest and (other in meant or ("*" in meant and other not in rest))
                 for one, other in (pair, pair[::-1])]  # fmt: skip
        if any(sides):
            return 1 - sides.index(True)
    denied = [one.startswith(_WITHOUT) or one in {f"{no}{other}" for no in _NOT} or one in ("no", "not")
              for one, other in (pair, pair[::-1])]  # fmt: skip
    return 1 - denied.index(True) if sum(denied) == 1 else None
