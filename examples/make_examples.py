"""Write the example files: two published tables, one simulated. Run: python examples/make_examples.py.

anesthesia.csv: Dawid and Skene (1979), Table 1. 45 patients, five anaesthetists, fitness for anaesthesia 1 to
4; anaesthetist 1 rated every patient three times, so (task, worker) repeats there.

caries.csv: Espeland and Handelman (1989). 3869 dental X-rays, five dentists, 1 is caries and 0 is sound;
published as how often each of the 32 patterns of five labels occurs.

judges.csv: simulated. 300 answers, three judges in a wide table, the truth of 30; all of it is known here.
"""

import csv
import random
from collections.abc import Iterable
from pathlib import Path

# One group of digits for each patient: anaesthetist 1 three times, then anaesthetists 2, 3, 4 and 5.
ANESTHESIA = """
1111111 3334334 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223 4444444 2223343
1111111 2223212 1211111 1112111 1111111 1111111 2222221 2221322 2222222 2222221 2223222 2212222
1111111 1111111 2322222 1111111 1111111 1121121 1111111 3333233 1111111 2222222 2223232 4334343
2212232 2323233 3333432 1111111 1111111 1212111 2322222 1211111 2222222
"""
ANESTHETISTS = "1112345"  # who gave each digit of a group

# X-rays with the patterns 00000, 00001, ..., 11111; dentist 1 is the first digit.
CARIES = """
1880 789 43 75 23 63 8 22 188 191 17 67 15 85 8 56 22 26 6 14 1 20 2 17 2 20 6 27 3 72 1 100
"""

Row = tuple[str, str, str]
COLUMNS = ("task", "worker", "label")


def anesthesia() -> list[Row]:
    """(task, worker, label) of the anaesthetists: 315 rows."""
    return [
        (str(patient), worker, label)
        for patient, group in enumerate(ANESTHESIA.split(), start=1)
        for worker, label in zip(ANESTHETISTS, group, strict=True)
    ]


def caries() -> list[Row]:
    """(task, worker, label) of the dentists: 19345 rows."""
    patterns = [f"{k:05b}" for k, number in enumerate(CARIES.split()) for _ in range(int(number))]
    return [
        (str(xray), str(dentist), label)
        for xray, pattern in enumerate(patterns, start=1)
        for dentist, label in enumerate(pattern, start=1)
    ]


def judges() -> tuple[list[tuple[str, ...]], list[int]]:
    """Rows (item, judge_a, judge_b, judge_c, gold) of 300 simulated answers, and which of them truly pass.

    Judge a passes 95 of 100 good answers and 30 of 100 bad ones, b 85 and 10, c 80 and 15; gold is known for
    30 chosen at random. Only `random.random` is used, whose numbers are the same in every version of Python.
    """
    rng = random.Random(5)
    passes = [int(rng.random() < 0.7) for _ in range(300)]
    rates = ((0.30, 0.95), (0.10, 0.85), (0.15, 0.80))
    verdicts = [["pass" if rng.random() < rate[y] else "fail" for rate in rates] for y in passes]
    known = sorted(range(300), key=lambda _: rng.random())[:30]
    gold = [("fail", "pass")[y] if k in known else "" for k, y in enumerate(passes)]
    rows = [(f"answer {k + 1}", *given, gold[k]) for k, given in enumerate(verdicts)]
    return rows, passes


def write(path: Path, rows: Iterable[tuple[str, ...]], columns: tuple[str, ...] = COLUMNS) -> None:
    """One CSV file."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def main(folder: Path) -> None:
    """All files."""
    write(folder / "anesthesia.csv", anesthesia())
    write(folder / "caries.csv", caries())
    write(folder / "judges.csv", judges()[0], ("item", "judge_a", "judge_b", "judge_c", "gold"))


if __name__ == "__main__":
    main(Path(__file__).parent)
