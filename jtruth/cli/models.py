"""`jtruth models`: which annotation model predicts the labels best?"""

from dataclasses import dataclass

from jtruth.cli.options import Columns, Draws, LabelsFile, option
from jtruth.cli.output import Output, progress


@dataclass(frozen=True)
class Models:
    """Which models, and how long they are sampled."""

    models: str | None = option("--models", "Names, comma separated; the usual ones if unset.")
    warmup: int = option("--warmup", "NUTS steps before the draws of a chain.", 500)
    samples: int = option("--samples", "NUTS draws of a chain.", 500)


def models(source: LabelsFile, models: Models, draws: Draws, columns: Columns, output: Output) -> None:
    """Annotation models by how well they predict the labels of a sample left out (PSIS-LOO)."""
    from jtruth.cli.reading import labels_of, with_notes
    from jtruth.comparison import STANDARD_MODELS, compare_models
    from jtruth.latent import NutsSettings, Watch

    names = STANDARD_MODELS if models.models is None else [n.strip() for n in models.models.split(",")]
    labels = labels_of(source.file, columns)
    with progress("model", len(names)) as advance:
        settings = NutsSettings(num_warmup=models.warmup, num_samples=models.samples, watch=Watch(advance))
        found = compare_models(labels, models=names, key=draws.seed, settings=settings)
    found = with_notes(found, labels.notes)
    output.give(found, draws.seed)
