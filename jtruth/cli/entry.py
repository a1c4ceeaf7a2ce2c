"""The entry point: run a command, and end with one line and an exit code whatever happens."""

import gc
import os
import sys
from typing import NoReturn

UNUSABLE, FAILED, STOPPED = 2, 1, 130


def main() -> None:
    """Entry point of the console script."""
    gc.set_threshold(100_000, 20, 50)  # modules and programs are made by the million, and stay
    try:
        from jtruth.cli.app import app  # here, so that Ctrl-C while it loads ends like any other

        app(prog_name="jtruth")
    except KeyboardInterrupt:
        _end("stopped", STOPPED)
    except BrokenPipeError:  # the reader of our output left, as `head` does: no fault of the input
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(FAILED) from None
    except ValueError as problem:
        _end(str(problem), UNUSABLE)
    except OSError as problem:
        where, what = problem.filename, problem.strerror
        _end(f"{where}: {what.lower()}" if where is not None and what else str(problem), UNUSABLE)
    except MemoryError as problem:
        _end(f"there is not enough memory for this ({problem}). {_SMALLER}", FAILED)
    except Exception as problem:
        if "RESOURCE_EXHAUSTED" in str(problem):
            _end(f"there is not enough memory for this. {_SMALLER}", FAILED)
        if os.environ.get("JTRUTH_TRACEBACK"):
            raise
        what = f"{type(problem).__name__}: {problem}"
        _end(f"this should not happen, please report it ({what}). JTRUTH_TRACEBACK=1 shows where", FAILED)


_SMALLER = "Is the right column the label, is the file the right one? Else take part of the samples"


def _end(text: str, code: int) -> NoReturn:
    """One line on stderr in the shell's words, with nothing in it that a terminal obeys."""
    from jtruth._validation.words import escaped
    from jtruth.cli.words import shell_words

    line = escaped(shell_words(" ".join(text.split("\n"))))
    print(f"jtruth: {line}", file=sys.stderr)
    raise SystemExit(code) from None
