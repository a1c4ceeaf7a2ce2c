"""What a command prints and writes, in the shell's words, and how it shows that it is at work.

In the words of the shell common_only=True is --common-only. Messages are written where the trouble is found,
by code that does not know who called it, and name options as Python does. This is the one place that says
what each is called on the command line.
"""

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from jtruth._files import write_text
from jtruth.cli.options import option, written

_DELAY = 1.0  # seconds before a bar appears

# Nobody needs it who has a cache folder of his own, so `--help` leaves it to docs/large_data.md.
Cache = Annotated[Path | None, typer.Option("--compilation-cache", hidden=True)]


@dataclass(frozen=True, kw_only=True)
class Output:
    """How much is printed, and where the answer goes; what cannot be written is found before any work."""

    full: bool = option("--full", "Print all of the answer.", False)
    json_file: Path | None = written("--json", "Also write the answer as JSON to this file.")
    report_file: Path | None = written("--report", "Also write a page to forward, one HTML file.")
    cache: Cache = None

    def check(self) -> None:
        """Begin to use the cache of compiled programs."""
        if self.cache is not None:
            from jtruth._cache import use_compilation_cache

            use_compilation_cache(self.cache)

    @property
    def whole(self) -> bool:
        """Whether all of the answer is printed or written."""
        return self.full or bool(self.json_file or self.report_file)

    def give(self, shown: Any, next: str = "") -> None:
        """Print an answer in the shell's words, and write it as JSON and as a page where that was asked for.

        Args:
            shown: a `Shown`, or an `Answer`.
            next: the command worth running next.
        """
        from jtruth.answers import Shown
        from jtruth.answers.data import answer_dict
        from jtruth.answers.html import write_page
        from jtruth.answers.terminal import terminal_text

        if not isinstance(shown, Shown):
            shown = shown.blocks() if self.whole else shown.brief()
        shown, seed = shown.more(next=next), getattr(self, "seed", None)
        if self.report_file is not None:
            made = (("command", shlex.join(["jtruth", *sys.argv[1:]])), ("seed", str(seed)))
            write_page(self.report_file, shown, made=made, words=shell_words)
        typer.echo(terminal_text(shown, full=self.full, words=shell_words))
        if self.json_file is not None:
            answer = answer_dict(shown) | ({} if seed is None else {"key": seed})
            write_text(self.json_file, json.dumps(answer, indent=1, allow_nan=False) + "\n")


@contextmanager
def progress(unit: str, parts: int = 1) -> Iterator[Callable[[int, int], None]]:
    """One bar for a whole answer, on a terminal's stderr after a second, no colours, gone at the end.

    Args:
        unit: what one of the parts is.
        parts: how many runs follow one another; one begins where fewer steps are done than before.

    Yields what to call with (done, planned) of a run; the bar never goes back, whatever is planned anew.
    """
    from tqdm import tqdm

    shape = "{desc}: {percentage:3.0f}%|{bar}| [{elapsed}<{remaining}]"
    part, last = 1, 0
    with tqdm(desc=unit, total=parts, bar_format=shape, delay=_DELAY, leave=False, disable=None,
              file=sys.stderr) as bar:  # fmt: skip

        def advance(done: int, planned: int) -> None:
            nonlocal part, last
            part, last = min(part + (done < last), parts), done
            if parts > 1:
                bar.set_description(f"{unit} {part} of {parts}", refresh=False)
            bar.update(max(0.0, part - 1 + done / max(planned, 1) - bar.n))

        yield advance


_OPTIONS = {
    "abstain", "assume", "at_least", "classes", "common_only", "cost", "drop", "gold", "label",
    "labelers_are", "level", "margin", "method", "missing", "noise", "positive", "prior", "repeats", "sep",
    "target", "task", "threshold", "worker",
}  # fmt: skip
_OTHERWISE = {"repeat": "--repeats", "split": "--folds"}
_FILL_IN = {"gold": "FILE", "noise": "FILE", "prior": ".8,.2"}
_PHRASES = (
    # said in both languages already
    (r"[`(]?(?:\b\w+=\.\.\., )*\b\w+=\.\.\. \(at the command line (--[^)]*)\)", r"\1"),
    (r"\b\w+=\.\.\., (--\w)", r"\1"),
    (r"\bnum_samples and num_warmup\b", "--samples and --warmup"),
    (r"; key (\d+)", r"; seed \1"),
    (r"\bsummary\(full=True\)", "--full"),
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
    return f"--{name.replace('_', '-')}" if name in _OPTIONS else _OTHERWISE.get(name)


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
