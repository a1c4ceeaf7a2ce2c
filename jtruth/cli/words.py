"""The library's sentences in the words of the shell: common_only=True is --common-only there.

Messages are written where the trouble is found, by code that does not know who called it, and name options as
Python does. This is the one place that says what each is called on the command line.
"""

import re

_OPTIONS = {  # Python's name: the shell's
    "assume": "assume",
    "at_least": "at-least",
    "classes": "classes",
    "common_only": "common-only",
    "cost": "cost",
    "drop": "drop",
    "gold": "gold",
    "label": "label",
    "level": "level",
    "margin": "margin",
    "method": "method",
    "missing": "missing",
    "noise": "noise",
    "positive": "positive",
    "prior": "prior",
    "repeat": "repeats",
    "repeats": "repeats",
    "sep": "sep",
    "split": "folds",
    "target": "target",
    "task": "task",
    "threshold": "threshold",
    "worker": "worker",
}
_FILL_IN = {"gold": "FILE", "noise": "FILE", "prior": ".8,.2"}
_PHRASES = (
    (r"[`(]?\b\w+=\.\.\. \(at the command line (--[^)]*)\)", r"\1"),  # said in both languages already
    (r"\b\w+=\.\.\., (--\w)", r"\1"),
    (r"\bnum_samples and num_warmup\b", "--samples and --warmup"),
    (r"; key (\d+)", r"; seed \1"),
    (r" \(or set num_classes\)", ""),
    (r"bins=MergedBins\(15\)", "--merge-bins"),
    (r" \(in Python: [^)]*\)", ""),
    (r"\(gold=jt.io.Gold\(classes, inclusion or strata\)\)", "(a column inclusion or stratum of --gold)"),
    (r"\bgold=jt.io.Gold\(classes, inclusion or strata\)", "a column inclusion or stratum of --gold"),
    (r"\b(inclusion|strata) of gold would", "how gold was chosen (--inclusion, or a column of --gold) would"),
    (r"\bjtruth\.asking\.gold\.ask_next\b", "jtruth ask --help"),
    (r"`(\w+)`", lambda found: _named(found[1]) or found[0]),
)
_GIVEN = re.compile(r"(?<![\w.-])(?<!\w\()(\w+)=(True\b|'[^']*'|\"[^\"]*\"|\[[^]]*\]|\.\.\.)")


def shell_words(text: str) -> str:
    """A sentence of the library with its options as they are typed at the command line.

    >>> shell_words("set common_only=True, or say assume='independent' (gold=..., --gold FILE)")
    'set --common-only, or say --assume independent (--gold FILE)'
    """
    for pattern, words in _PHRASES:
        text = re.sub(pattern, words, text)
    return _GIVEN.sub(_given, text)


def _named(name: str) -> str | None:
    return f"--{_OPTIONS[name]}" if name in _OPTIONS else None


def _given(found: re.Match[str]) -> str:
    name, value = found.groups()
    option = _named(name)
    if option is None:
        return found[0]
    if value == "True":
        return option
    if value == "..." or value.startswith("["):
        return f"{option} {_FILL_IN.get(name, '...')}"
    word = value[1:-1]
    return f"{option} {word}" if re.fullmatch(r"[\w.,-]+", word) else f"{option} {value}"
