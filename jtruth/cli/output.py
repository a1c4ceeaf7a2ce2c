"""What a command prints and writes, and how it shows that it is at work."""

import json
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
from jtruth.cli.words import shell_words

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

    def give(self, document: Any, next: str = "") -> None:
        """Print an answer in the shell's words, and write it as JSON and as a page where that was asked for.

        Args:
            document: a `Document`, or an `Answer`.
            next: the command worth running next.
        """
        from jtruth.answers import Document
        from jtruth.answers.data import answer_dict
        from jtruth.answers.html import write_page
        from jtruth.answers.terminal import terminal_text

        if not isinstance(document, Document):
            document = document.blocks() if self.whole else document.brief()
        document, seed = document.more(next=next), getattr(self, "seed", None)
        if self.report_file is not None:
            made = (("command", shlex.join(["jtruth", *sys.argv[1:]])), ("seed", str(seed)))
            write_page(self.report_file, document, made=made, words=shell_words)
        typer.echo(terminal_text(document, full=self.full, words=shell_words))
        if self.json_file is not None:
            answer = answer_dict(document) | ({} if seed is None else {"key": seed})
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
