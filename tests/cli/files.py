"""Tables of tests of commands."""

import csv


def write(path, header, rows, sep=","):
    """A table as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=sep, lineterminator="\n").writerows([header, *rows])
    return path


def rows_of(path):
    """The rows of a CSV table, without its header."""
    return list(csv.reader(path.read_text().splitlines()))[1:]
