"""What a command prints and writes, and how it shows that it is at work."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer


def give(text: str, answer: dict[str, Any], json_file: Path | None) -> None:
    """Print the answer, and write it as JSON where that was asked for."""
    typer.echo(text)
    if json_file is not None:
        json_file.write_text(json.dumps(answer, indent=1, allow_nan=False) + "\n", encoding="utf-8")


@contextmanager
def progress(unit: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr that appears after a second; yields what to call with (done, planned)."""
    from tqdm import tqdm

    with tqdm(desc=unit, delay=1.0, leave=False, disable=None, file=sys.stderr) as bar:

        def advance(done: int, planned: int) -> None:
            bar.total = planned
            bar.update(done - bar.n)

        yield advance
