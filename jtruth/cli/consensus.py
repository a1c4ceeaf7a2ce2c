"""`jtruth consensus`: which class has each task, how sure is that, and who disagrees?"""

from dataclasses import dataclass
from pathlib import Path

from jtruth._files import write_table
from jtruth.cli.options import Beside, Columns, GoldCommonOnly, KnownGold, LabelsFile, option, written
from jtruth.cli.output import Output


@dataclass(frozen=True)
class How:
    """By which method, and what is known already."""

    method: str = option(
        "--method", "majority_vote, dawid_skene, ...; a wrong name lists all.", "dawid_skene"
    )
    gold: KnownGold = None
    common_only: GoldCommonOnly = False
    prior: str | None = option("--prior", "Known class shares, comma separated, such as .8,.2")
    seed: int = option("--seed", "Seed of methods that draw at random.", 0)
    out: Path | None = written(
        "--out", "Write each task's class, probabilities and who disagrees to this table."
    )


def consensus(source: LabelsFile, how: How, columns: Columns, beside: Beside, output: Output) -> None:
    """The most probable class of each task, its probability, and the labelers who say otherwise."""
    from jtruth.cli.reading import begin, gold_of, numbers
    from jtruth.evaluation import consensus as find
    from jtruth.learning.methods import method_called

    method_called(how.method)
    given, labels = begin(source.file, columns, beside, how.gold)
    gold = gold_of(how.gold, labels, given, how.common_only)
    found = find(labels, how.method, gold=gold, prior=numbers(how.prior), key=how.seed)
    if how.out is not None:
        write_table(how.out, *found.table())
    output.give(found, how.seed)
