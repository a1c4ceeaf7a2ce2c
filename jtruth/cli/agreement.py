"""`jtruth agreement`: how much do the labelers agree, all together and by twos?"""

from dataclasses import dataclass

from jtruth.cli.options import Columns, Draws, LabelsFile, option
from jtruth.cli.output import Output


@dataclass(frozen=True)
class Distances:
    """How far apart classes are."""

    weights: str = option("--weights", "nominal, linear or quadratic in the order of the classes.", "nominal")
    differences: str | None = option("--differences", "Of alpha: nominal, ordinal or interval.")


def agreement(
    source: LabelsFile, distances: Distances, draws: Draws, columns: Columns, output: Output
) -> None:
    """Coefficients of agreement with intervals: of all labelers, and of every two who share samples."""
    from jtruth.cli.reading import labels_of, with_notes
    from jtruth.evaluation import labeler_agreement

    labels = labels_of(source.file, columns)
    found = labeler_agreement(labels, weights=distances.weights, differences=distances.differences,
                              level=draws.level, key=draws.seed)  # fmt: skip
    output.give(with_notes(found, labels.notes), draws.seed)
