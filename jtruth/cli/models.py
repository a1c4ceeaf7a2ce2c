"""`jtruth models`: which annotation model predicts the labels best?"""

from dataclasses import dataclass
from typing import Annotated

import typer

from jtruth.cli.options import Columns, Draws, LabelsFile
from jtruth.cli.output import Reported, progress


@dataclass(frozen=True)
class Models:
    """Which models, and how long they are sampled."""

    models: Annotated[
        str | None, typer.Option("--models", help="Names, comma separated; the usual ones if unset.")
    ] = None
    warmup: Annotated[int, typer.Option("--warmup", help="NUTS steps before the draws of a chain.")] = 500
    samples: Annotated[int, typer.Option("--samples", help="NUTS draws of a chain.")] = 500


def models(source: LabelsFile, models: Models, draws: Draws, columns: Columns, output: Reported) -> None:
    """Annotation models by how well they predict the labels of a sample left out (PSIS-LOO)."""
    from jtruth.cli.reading import labels_of, with_notes
    from jtruth.comparison import STANDARD_MODELS, compare_models
    from jtruth.sampling import NutsSettings, Watch

    names = STANDARD_MODELS if models.models is None else [n.strip() for n in models.models.split(",")]
    labels = labels_of(source.file, columns)
    with progress("steps of a model") as advance:
        settings = NutsSettings(num_warmup=models.warmup, num_samples=models.samples, watch=Watch(advance))
        found = compare_models(labels, models=names, key=draws.seed, settings=settings)
    found = with_notes(found, labels.notes)
    output.give_page(str(found), found.to_dict(), found.page, draws.seed)
