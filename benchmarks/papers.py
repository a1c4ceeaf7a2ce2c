"""The four papers beside ours: every table and figure, the paper's number, ours, the difference in errors.

    python -m benchmarks papers [su|lam_stork|tars|mimori ...] [--quick] [--again] [--pages]

Writes docs/papers/: a page, pictures and a JSON of results for each paper. Current results are not computed
again (but by `--again`), so a stopped run continues; `--pages` computes nothing. `--quick`
uses few simulated sets, with larger errors, and writes to .papers/ instead; it takes less than ten CPU
minutes. Public data are read from ../shared/data; parts that need them print a message where they are absent.
"""

import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # benchmarks/coverage.py would hide the package of that name
NAMES = ("su", "lam_stork", "tars", "mimori")


def paper_of(name):
    """The paper of this name, its parts not computed yet."""
    return import_module(f"benchmarks._papers.{name}").PAPER


def main(arguments):
    """Compute what is missing and write the pages."""
    from benchmarks._papers import errata, harness

    options = {one for one in arguments if one.startswith("--")}
    quick = "--quick" in options
    folder = ROOT / (".papers" if quick else "docs/papers")
    only = next((one.partition("=")[2] for one in options if one.startswith("--only=")), "")
    for name in [one for one in arguments if one not in options] or NAMES:
        paper = paper_of(name)
        parts = {} if "--pages" in options else paper.parts
        harness.compute(paper._replace(parts=parts), folder, quick, "--again" in options, only)
        found = harness.load(paper, folder)
        harness.write(paper, found, folder)
        print(name, harness.counts(found))
    errata.write(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
