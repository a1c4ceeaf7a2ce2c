"""What a command prints and writes, and how it shows that it is at work."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from jtruth.cli.words import shell_words


@dataclass(frozen=True)
class Output:
    """Where the answer goes beside the terminal; a place that cannot be written is found before any work."""

    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write the answer as JSON to this file.")
    ] = None

    def __post_init__(self) -> None:
        path = self.json_file
        if path is None:
            return
        there = path.exists()
        if path.is_dir() or not path.parent.is_dir():
            what = "this is a folder" if path.is_dir() else f"there is no folder {str(path.parent)!r}"
            raise ValueError(f"--json {str(path)!r}: {what}; name a file to write")
        if not os.access(path if there else path.parent, os.W_OK):
            raise ValueError(f"--json {str(path)!r}: no permission to write there")

    def give(self, text: str, answer: dict[str, Any]) -> None:
        """Print the answer in the shell's words, and write it as JSON where that was asked for."""
        from jtruth._validation.terminal import escaped

        typer.echo(escaped(shell_words(text)))
        if self.json_file is not None:
            written = json.dumps(answer, indent=1, allow_nan=False) + "\n"
            self.json_file.write_text(written, encoding="utf-8")


@contextmanager
def progress(unit: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr that appears after a second; yields what to call with (done, planned)."""
    from tqdm import tqdm

    with tqdm(desc=unit, delay=1.0, leave=False, disable=None, file=sys.stderr) as bar:

        def advance(done: int, planned: int) -> None:
            bar.total = planned
            bar.update(done - bar.n)

        yield advance
