"""`jtruth agreement`: how much do the labelers agree, all together and by twos?"""

from dataclasses import dataclass

from jtruth.cli.options import Columns, Draws, LabelsFile, next_step, option
from jtruth.cli.output import Output


@dataclass(frozen=True, kw_only=True)
class Agreement(LabelsFile, Draws, Output):
    """Coefficients of agreement with intervals: of all labelers, and of every two who share samples."""

    weights: str = option("--weights", "nominal, linear or quadratic in the order of the classes.", "nominal")
    differences: str | None = option("--differences", "Of alpha: nominal, ordinal or interval.")

    def run(self) -> None:
        """Say how far labelers agree."""
        from jtruth.cli.reading import labels_of, with_notes
        from jtruth.evaluation import labeler_agreement

        labels = labels_of(self.file, self)
        found = labeler_agreement(labels, weights=self.weights, differences=self.differences,
                                  level=self.level, key=self.seed)  # fmt: skip
        step = next_step(self, "", "how good each labeler is", "labelers", Columns)
        self.give(with_notes(found, labels.notes), step)
