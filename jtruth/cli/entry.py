"""The entry point: run a command, and end with one line and an exit code whatever happens."""

import atexit
import errno
import gc
import os
import signal
import sys
import warnings
from contextlib import suppress
from typing import Any, NoReturn

UNUSABLE, FAILED, STOPPED = 2, 1, 130


def main() -> None:
    """Entry point of the console script."""
    gc.set_threshold(500_000, 20, 50)  # modules and programs are made by the million, and stay
    atexit.register(gc.freeze)  # the process ends: half a second of looking for cycles frees nothing more
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads spin between small products
    warnings.formatwarning = lambda message, *_, **__: f"jtruth: {message}\n"
    getattr(sys.modules.get("jtruth._files"), "WRITTEN", {}).clear()
    try:
        if ours := signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            with suppress(ValueError):  # not the main thread
                signal.signal(signal.SIGINT, _stop)
        try:
            _run()
        finally:
            if ours:  # what is done stays done
                with suppress(ValueError):
                    signal.signal(signal.SIGINT, signal.SIG_IGN)
    except BaseException as end:
        if isinstance(end, KeyboardInterrupt) or getattr(end, "code", None) == STOPPED:
            _stop()
        raise


def _stop(*_: Any) -> NoReturn:
    """Say what is left, and leave at once, from wherever the interrupt came.

    An exception would pass through C++ that is half loaded, and an interpreter that takes itself down while
    XLA works crashes. Libraries may be half loaded here, so nothing is imported.
    """
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    files = sys.modules.get("jtruth._files")
    for half in list(getattr(files, "HALF", ())):
        with suppress(OSError):
            os.unlink(half)
    written = getattr(files, "WRITTEN", ())
    names = ("".join(c if c.isprintable() else ascii(c)[1:-1] for c in name) for name in written)
    left = f"{' and '.join(names)} had already been written" if written else "nothing was written"
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
        _failed(problem)


def _failed(problem: Exception) -> NoReturn:
    """End with a line that says what went wrong."""
    if isinstance(problem, ValueError):
        _end(str(problem), UNUSABLE)
    if isinstance(problem, OSError):
        where, what = problem.filename, problem.strerror
        if where is None and problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            where = "standard output"  # a file has its name (`jtruth._files`)
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left goes nowhere
        _end(f"{where}: {what.lower()}" if where is not None and what else str(problem), UNUSABLE)
    if isinstance(problem, MemoryError):
        _end(f"there is not enough memory for this ({problem}). {_SMALLER}", FAILED)
    if "RESOURCE_EXHAUSTED" in str(problem):
        _end(f"there is not enough memory for this. {_SMALLER}", FAILED)
    if os.environ.get("JTRUTH_TRACEBACK"):
        raise problem
    what = f"{type(problem).__name__}: {problem}"
    _end(f"this is a bug in jtruth, please report it ({what}). JTRUTH_TRACEBACK=1 shows where", FAILED)


_SMALLER = "Check that the file and the column of labels are the right ones, or use fewer samples"


def _end(text: str, code: int) -> NoReturn:
    """One line on stderr in the shell's words, with nothing in it that a terminal obeys."""
    from jtruth._validation.words import escaped
    from jtruth.cli.words import shell_words

    line = escaped(shell_words(" ".join(text.split("\n"))))
    print(f"jtruth: {line}", file=sys.stderr)
    raise SystemExit(code) from None
