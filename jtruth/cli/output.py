"""What a command prints and writes, and how it shows that it is at work."""

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from jtruth._files import write_text
from jtruth.cli.words import shell_words

_DELAY = 1.0  # seconds before a bar appears


def whole(args: Any) -> bool:
    """Whether all of the answer is printed or written, also what has to be fitted for it."""
    return args.full or args.json_file is not None


def required(args: Any, answer: Any) -> Any:
    """The answer, behind its `Gate` where --require was typed: `give` will end with the code of that."""
    if not args.require:
        if args.confidence != 0.95:
            raise ValueError("--confidence belongs to --require: give both, or leave it out")
        return answer
    gate = answer.require(*args.require, confidence=args.confidence)
    args.exit_code = gate.exit_code
    return gate


def give(args: Any, document: Any, next: str = "") -> None:
    """Print an `Answer` or `Document`, write it as was asked; `next` is the command worth running next."""
    from jtruth.answers import Document
    from jtruth.answers.data import answer_dict
    from jtruth.answers.html import write_page
    from jtruth.answers.terminal import terminal_text

    if not isinstance(document, Document):
        document = document.blocks() if whole(args) else document.brief(page=args.report_file is not None)
    document, seed = document.more(next=next), getattr(args, "seed", None)
    if args.report_file is not None:
        made = (("command", shlex.join(["jtruth", *sys.argv[1:]])), ("seed", str(seed)))
        write_page(args.report_file, document, made=made, words=shell_words, paper=bool(args.page_for))
    elif args.page_for:
        raise ValueError("--for belongs to --report: add --report FILE.html, or leave it out")
    piped = str(args.json_file) == "-"  # standard output is JSON and nothing else; people read the other one
    read = "" if args.full else getattr(args, "how_read", "")
    typer.echo(terminal_text(document, full=args.full, words=shell_words, read=read), err=piped)
    if args.json_file is not None:
        answer = answer_dict(document) | ({} if seed is None else {"key": seed})
        text = json.dumps(answer, indent=1, allow_nan=False) + "\n"
        typer.echo(text, nl=False) if piped else write_text(args.json_file, text)
    if code := getattr(args, "exit_code", 0):
        raise typer.Exit(code)


@contextmanager
def progress(unit: str, parts: int = 1) -> Iterator[Callable[[int, int], None]]:
    """One bar for a whole answer, on a terminal's stderr after a second, no colours, gone at the end.

    Yields what to call with (done, planned) of each of `parts` runs; it never goes back, whatever is planned.
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
