"""No NaN, no exchanged classes, no lost sample: every consensus method on every public set as it is.

Run: python benchmarks/whole_sets.py FOLDER [METHOD ...]      FOLDER: ../shared/data

The questions are those of `tests/learning/test_on_real_sets.py` (`faults`), which asks them of the first 60
tasks of each set, and of five quick methods on whole sets. A line for a method and a set: its faults, CPU
seconds. Methods of draws make 200 sweeps after 50: enough for these questions.

Found, with the versions of `learners.py`: no fault in any of the 65 answers of the ten methods on the eight
sets (hierarchical on cifar10h_a by 160 sweeps; 15 more are refused: KOS, Welinder and the label model on more
than two classes). CPU seconds .1 to 6, but for minimax_entropy on labelerrors_mnist (44).
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from jtruth.learning.methods import METHODS
from tests.learning.test_on_real_sets import SETS, SHORT, faults, read

SLOW = {("hierarchical", "cifar10h_a")}  # only if asked for by name


def main(folder, names):
    """One line for each method and set, written as it is known."""
    crowds = {place: read(folder / place) for place in SETS}
    for name in names or METHODS:
        for place, labels in crowds.items():
            if not names and (name, place) in SLOW:
                continue
            if METHODS[name].refuses(labels) is not None:
                print(f"{name:>22} {place:>18}  refused", flush=True)
                continue
            start = time.process_time()
            fit = METHODS[name].fit(labels, key=0, **({"effort": SHORT} if METHODS[name].draws else {}))
            found = "; ".join(faults(fit, labels)) or "no fault"
            print(f"{name:>22} {place:>18}  {found}  {time.process_time() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
