"""Names that look alike or cannot be seen: "Yes" and "yes", "1" and "1.0", a zero-width space.

Two names that a reader takes for one split a class or a labeler in two, and every number after that is wrong.
What cannot be seen, and classes that are equal as numbers, are refused; other look-alikes may be meant, so
they are kept and said.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation

from jtruth._validation.words import Source, quoted, shown

NO_ANSWER = {  # class names that read like no answer, in small letters
    "?", "abstain", "cannot tell", "can't tell", "can not tell", "don't know", "dont know", "idk", "not sure",
    "skip", "skipped", "uncertain", "unclear", "undecided", "unknown", "unsure",
}  # fmt: skip
_BETWEEN = re.compile(r"[;,|+&]")  # what stands between the classes of a list


def check_visible(
    names: Iterable, values: Sequence, what: str, source: Source, *, inside: bool = True
) -> None:
    """Refuse names with characters that cannot be seen (line ends, zero-width or ideographic spaces, ...).

    Args:
        names: the different names among `values`; only text is looked at.
        values: the column, to name its rows.
        what: the word for a name.
        source: where the column came from.
        inside: also inside the name; otherwise only its first and last character.
    """
    texts = list(names)
    if set(map(type, texts)) != {str}:
        texts = [name for name in texts if isinstance(name, str)]
    if "".join(texts).isprintable():
        return
    for name in texts:
        if not (name if inside else name[:1] + name[-1:]).isprintable():
            rows = [k for k, value in enumerate(values) if value == name]
            raise ValueError(
                f"{source.at(rows)}: {what} {shown(name)} has a character that cannot be seen. Remove it."
            )


def check_different_numbers(names: Iterable[str], what: str) -> None:
    """Refuse names that are the same number written in several ways, such as "1" and "1.0"."""
    same = _groups((name for name in names if _number(name) is not None), _number)
    if same:
        raise ValueError(
            f"the {what} {quoted(same)} are equal as numbers. Write them alike, or name every one in "
            "`classes` if they are different"
        )


def alike_note(names: Iterable, what: str) -> tuple[str, ...]:
    """A sentence about names that differ only in case, spaces, width of letters or leading zeros."""
    alike = _groups(map(str, names), _plain)
    if not alike:
        return ()
    return (f"Some {what} differ only in case, spaces or leading zeros: {quoted(alike)}. Are they the same?",)


def _groups(names: Iterable[str], key) -> list[str]:
    """The names that share their key with another name, one group after the other."""
    groups: dict = {}
    for name in names:
        groups.setdefault(key(name), []).append(name)
    return [name for group in groups.values() if len(group) > 1 for name in group]


def _plain(name: str) -> str | Decimal:
    """What is left of a name without case, width and spaces; its value, if it is a number."""
    number = _number(name)
    return "".join(_narrow(name).split()) if number is None else number


def _number(name: str) -> Decimal | None:
    """The number that a name is, None if it is none ("nan" and "1_0" are none)."""
    text = _narrow(name).strip()
    if "_" in text or len(text) > 50 or text[:1] not in tuple("+-.0123456789"):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _narrow(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def is_list(name: str, classes: tuple) -> bool:
    """Whether a class name is made of several, one of which is a class by itself ("cat;dog" beside "cat")."""
    parts = [part.strip(" []'\"") for part in _BETWEEN.split(name.strip())]
    return len(parts) > 1 and all(parts) and bool(set(parts) & set(map(str, classes)))
