"""`jtruth consensus`: which class has each task, how sure is that, and who disagrees?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from jtruth.cli.options import Beside, Columns, GoldCommonOnly, KnownGold, LabelsFile
from jtruth.cli.output import Output, check_writable, write_table


@dataclass(frozen=True)
class How:
    """By which method, and what is known already."""

    method: Annotated[
        str, typer.Option("--method", help="majority_vote, dawid_skene, ...; a wrong name lists all.")
    ] = "dawid_skene"
    gold: KnownGold = None
    common_only: GoldCommonOnly = False
    prior: Annotated[
        str | None, typer.Option("--prior", help="Known class shares, comma separated, such as .8,.2")
    ] = None
    seed: Annotated[int, typer.Option("--seed", help="Seed of methods that draw at random.")] = 0
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write each task's class, probabilities and who disagrees to this table."),
    ] = None

    def __post_init__(self) -> None:
        check_writable("--out", self.out)


def consensus(source: LabelsFile, how: How, columns: Columns, beside: Beside, output: Output) -> None:
    """The most probable class of each task, its probability, and the labelers who say otherwise."""
    from jtruth._validation.text import read_bytes
    from jtruth.cli.reading import Given, gold_of, labels_of, numbers, one_stdin
    from jtruth.evaluation import consensus as find
    from jtruth.learning.methods import method_called

    method_called(how.method)
    one_stdin(source.file, how.gold)
    given = Given(read_bytes(source.file), columns, beside)
    labels = labels_of(given.file, columns, (how.gold,))
    gold = gold_of(how.gold, labels, given, how.common_only)
    found = find(labels, how.method, gold=gold, prior=numbers(how.prior), key=how.seed)
    if how.out is not None:
        write_table(how.out, *found.table())
    output.give(str(found), found.to_dict())
