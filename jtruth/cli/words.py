"""The library's sentences in the words of the shell: common_only=True is --common-only there.

Messages are written where the trouble is found, by code that does not know who called it, and name options as
Python does. This is the one place that says what each is called on the command line.
"""

import re
import shlex
from ast import literal_eval

_OPTIONS = {
    "abstain", "assume", "at_least", "classes", "common_only", "confidence", "contains", "cost",
    "differences", "drop",
    "gold", "label", "labelers", "labelers_are", "level", "map", "margin", "method", "missing", "noise",
    "order", "pass_at", "positive", "prior", "repeats", "scale", "sep", "systems", "target", "task",
    "threshold", "weights", "worker",
}  # fmt: skip
_OTHERWISE = {"repeat": "--repeats", "split": "--folds"}
_FILL_IN = {"gold": "FILE", "noise": "FILE", "prior": ".8,.2"}
_PHRASES = (
    # said in both languages already
    (r"[`(]?(?:\b\w+=\.\.\., )*\b\w+=\.\.\. \(at the command line (--[^)]*)\)", r"\1"),
    (r"\b\w+=\.\.\., (--\w)", r"\1"),
    (r"\bnum_samples and num_warmup\b", "--samples and --warmup"),
    (r"; key (\d+)", r"; seed \1"),
    (r"\bsmooth=False\b", "--no-smooth"),
    (r"\b(summary|report)\((path, )?full=True\)", "--full"),
    (r"\bto_dict\(\)$", "--json FILE"),
    (r" \(or set num_classes\)", ""),
    (r"bins=MergedBins\(15\)", "--merge-bins"),
    (r" \(in Python: [^)]*\)", ""),
    (
        r"\bgive gold=jt.io.Gold\(classes, inclusion or strata\)",
        "add a column 'inclusion' (each one's probability of being chosen) to the gold table",
    ),
    (r"\(gold=jt.io.Gold\(classes, inclusion or strata\)\)", "(a column inclusion or stratum of --gold)"),
    (r"\bgold=jt.io.Gold\(classes, inclusion or strata\)", "a column inclusion or stratum of --gold"),
    (r"\b(inclusion|strata) of gold would", "how gold was chosen (--inclusion, or a column of --gold) would"),
    (r"\bjtruth\.asking\.ask_next\b", "jtruth ask --truth --out ask.csv"),
    (r"`(\w+)`", lambda found: _named(found[1]) or found[0]),
)
_TEXT = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ARGUMENT = re.compile(rf"(?<![\w.-])(?<!\w\()(\w+)=(True\b|{_TEXT}|\[[^]]*\]|\.\.\.)")


def shell_words(text: str) -> str:
    """A sentence of the library with its options as they are typed at the command line.

    >>> shell_words("set common_only=True, or say assume='independent' (gold=..., --gold FILE)")
    'set --common-only, or say --assume independent (--gold FILE)'
    """
    for pattern, words in _PHRASES:
        text = re.sub(pattern, words, text)
    return _ARGUMENT.sub(_as_typed, text)


def _named(name: str) -> str | None:
    return f"--{name.replace('_', '-')}" if name in _OPTIONS else _OTHERWISE.get(name)


def _as_typed(match: re.Match[str]) -> str:
    name, value = match.groups()
    option = _named(name)
    if option is None:
        return match[0]
    if value == "True":
        return option
    if value == "..." or value.startswith("["):
        return f"{option} {_FILL_IN.get(name, '...')}"
    return f"{option} {shlex.quote(literal_eval(value))}"
