"""The entry point: run a command, and end with one line and an exit code whatever happens."""

import sys
from typing import NoReturn

UNUSABLE, FAILED, STOPPED = 2, 1, 130


def main() -> None:
    """Entry point of the console script."""
    try:
        from jtruth.cli.app import app  # here, so that Ctrl-C while it loads ends like any other

        app(prog_name="jtruth")
    except KeyboardInterrupt:
        _end("stopped", STOPPED)
    except (ValueError, OSError) as problem:
        _end(str(problem), UNUSABLE)


def _end(text: str, code: int) -> NoReturn:
    print(f"jtruth: {text}", file=sys.stderr)
    raise SystemExit(code) from None
