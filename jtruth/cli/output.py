"""What a command prints and writes, and how it shows that it is at work."""

import csv
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from jtruth._version import __version__
from jtruth.cli.words import shell_words

_DELAY = 1.0  # seconds before a bar appears


@dataclass(frozen=True)
class Output:
    """Where the answer goes beside the terminal; a place that cannot be written is found before any work."""

    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write the answer as JSON to this file.")
    ] = None

    def __post_init__(self) -> None:
        check_writable("--json", self.json_file)

    def give(self, text: str, answer: dict[str, Any]) -> None:
        """Print the answer in the shell's words, and write it as JSON where that was asked for."""
        from jtruth._validation.terminal import escaped

        typer.echo(escaped(shell_words(text)))
        if self.json_file is not None:
            written = json.dumps({"jtruth": __version__} | answer, indent=1, allow_nan=False) + "\n"
            self.json_file.write_text(written, encoding="utf-8")


@dataclass(frozen=True)
class Reported(Output):
    """The same, and a page to forward."""

    report_file: Annotated[
        Path | None, typer.Option("--report", help="Also write a page to forward, one HTML file.")
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_writable("--report", self.report_file)

    def give_page(self, text: str, answer: dict[str, Any], page: Callable[[], Any], seed: int) -> None:
        """`give`, and write the page with the command and the seed that made it."""
        from jtruth._page import write_page

        if self.report_file is not None:
            facts = (("command", shlex.join(["jtruth", *sys.argv[1:]])), ("seed", str(seed)))
            write_page(self.report_file, page(), facts=facts, words=shell_words)
        self.give(text, {"key": seed} | answer)


def check_writable(option: str, path: Path | None) -> None:
    """Refuse a place that cannot be written, before any work is done."""
    if path is None:
        return
    there = path.exists()
    if path.is_dir() or not path.parent.is_dir():
        what = "this is a folder" if path.is_dir() else f"there is no folder {str(path.parent)!r}"
        raise ValueError(f"{option} {str(path)!r}: {what}; name a file to write")
    if not os.access(path if there else path.parent, os.W_OK):
        raise ValueError(f"{option} {str(path)!r}: no permission to write there")


@contextmanager
def progress(unit: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal's stderr after a second, no colours; yields what to call with (done, planned)."""
    from tqdm import tqdm

    with tqdm(desc=unit, delay=_DELAY, leave=False, disable=None, file=sys.stderr) as bar:

        def advance(done: int, planned: int) -> None:
            bar.total = planned
            bar.update(done - bar.n)

        yield advance


def write_table(path: Path, header: list[str], rows: list[list[Any]]) -> None:
    """Write a table of text (CSV)."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
