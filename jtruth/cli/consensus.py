"""`jtruth consensus`: which class has each task, how sure is that, and who disagrees?"""

from dataclasses import dataclass
from pathlib import Path

from jtruth._files import write_table
from jtruth.cli.options import (
    Beside,
    Columns,
    GoldCommonOnly,
    KnownGold,
    LabelsFile,
    next_step,
    option,
    written,
)
from jtruth.cli.output import Output


@dataclass(frozen=True, kw_only=True)
class Consensus(LabelsFile, Beside, Output):
    """The most probable class of each task, its probability, and the labelers who say otherwise."""

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

    def run(self) -> None:
        """Find one class for each task."""
        from jtruth.cli.reading import begin, gold_of, numbers
        from jtruth.evaluation import consensus
        from jtruth.learning.methods import method_called

        method_called(self.method)
        given, labels = begin(self, self.gold)
        gold = gold_of(self.gold, labels, given, self.common_only)
        found = consensus(labels, self.method, gold=gold, prior=numbers(self.prior), key=self.seed)
        if self.out is not None:
            write_table(self.out, *found.table())
        step = next_step(self, "", "which labels may be wrong, and how many", "clean", Columns)
        self.give(found, step)
