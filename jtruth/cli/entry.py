"""The entry point: run a command, and end with one line and an exit code whatever happens."""

import atexit
import gc
import os
import signal
import sys
import warnings
from contextlib import suppress
from typing import Any, NoReturn

UNUSABLE, FAILED, STOPPED = 2, 1, 130
_CAUGHT: list[int] = []  # interrupts of this process: C++ that calls Python makes other errors of them


def main() -> None:
    """Entry point of the console script."""
    gc.set_threshold(100_000, 20, 50)  # modules and programs are made by the million, and stay
    warnings.formatwarning = lambda message, *_, **__: f"jtruth: {message}\n"
    _CAUGHT.clear()
    getattr(sys.modules.get("jtruth._files"), "WRITTEN", {}).clear()
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            with suppress(ValueError):  # not the main thread
                signal.signal(signal.SIGINT, _interrupt)
                atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # what is done stays done
        _run()
    except BaseException as end:
        if _CAUGHT or isinstance(end, KeyboardInterrupt) or getattr(end, "code", None) == STOPPED:
            _stop()
        raise


def _interrupt(number: int, _: Any) -> NoReturn:
    """The first time what is half written is taken away; a second one ends at once."""
    _CAUGHT.append(number)
    if len(_CAUGHT) > 1:
        _stop()
    raise KeyboardInterrupt


def _stop() -> NoReturn:
    """Say what is left, and leave at once: an interpreter that takes itself down while XLA works crashes.

    Libraries may be half loaded here, so nothing is imported.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    written = getattr(sys.modules.get("jtruth._files"), "WRITTEN", ())
    names = ("".join(c if c.isprintable() else ascii(c)[1:-1] for c in name) for name in written)
    left = f"{' and '.join(names)} had been written" if written else "nothing was written"
    for stream, text in ((sys.stdout, ""), (sys.stderr, f"jtruth: stopped; {left}\n")):
        with suppress(Exception):
            stream.write(text)
            stream.flush()
    os._exit(STOPPED)


def _run() -> None:
    try:
        from jtruth.cli.app import app  # here, so that Ctrl-C while it loads ends like any other

        app(prog_name="jtruth")
    except KeyboardInterrupt:
        raise
    except BrokenPipeError:  # the reader of our output left, as `head` does: no fault of the input
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(FAILED) from None
    except Exception as problem:
        if _CAUGHT:
            raise
        _failed(problem)


def _failed(problem: Exception) -> NoReturn:
    """End with a line that says what went wrong."""
    if isinstance(problem, ValueError):
        _end(str(problem), UNUSABLE)
    if isinstance(problem, OSError):
        where, what = problem.filename, problem.strerror
        _end(f"{where}: {what.lower()}" if where is not None and what else str(problem), UNUSABLE)
    if isinstance(problem, MemoryError):
        _end(f"there is not enough memory for this ({problem}). {_SMALLER}", FAILED)
    if "RESOURCE_EXHAUSTED" in str(problem):
        _end(f"there is not enough memory for this. {_SMALLER}", FAILED)
    if os.environ.get("JTRUTH_TRACEBACK"):
        raise problem
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
