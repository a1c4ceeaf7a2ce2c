"""The command line: `jtruth inspect`, `evaluate`, `labelers`, `calibrate`, `plan`; a file for each question.

Exit codes: 0 done, 2 input that cannot be used (one readable line, no traceback), 130 stopped by Ctrl-C, 1
anything else. `--help` must answer at once, so no module here imports JAX: a command imports what it needs
when it runs.
"""

from jtruth.cli.entry import main

__all__ = ["main"]
