r"""Text of strangers on a terminal: names in tables, and whole messages, with nothing that moves the cursor.

A class called "\x1b[2J" clears the screen of whoever prints it. Names go through `plain` where text is made;
the command line sends everything that it prints through `escaped`, in case one was forgotten.
"""

from typing import Any

_LONGEST = 80


def plain(name: Any) -> str:
    r"""A name for tables and sentences: as it is, by repr where it cannot be printed, cut where it is long.

    >>> plain("ann"), plain("a\tb")
    ('ann', "'a\\tb'")
    """
    text = str(name)
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def escaped(text: str) -> str:
    """A text of several lines in which all that cannot be printed is written as an escape."""
    return "".join(c if c == "\n" or c.isprintable() else repr(c)[1:-1] for c in text)
