"""`jtruth models`: which annotation model predicts the labels best?"""

from dataclasses import dataclass

from jtruth.cli.options import Columns, Draws, LabelsFile, next_step, option
from jtruth.cli.output import Output, progress


@dataclass(frozen=True, kw_only=True)
class Models(LabelsFile, Draws, Output):
    """Annotation models by how well they predict the labels of a sample left out (PSIS-LOO)."""

    models: str | None = option("--models", "Names, comma separated; the usual ones if unset.")
    warmup: int = option("--warmup", "NUTS steps before the draws of a chain.", 500)
    samples: int = option("--samples", "NUTS draws of a chain.", 500)

    def run(self) -> None:
        """Fit and compare them."""
        from jtruth.cli.reading import labels_of, with_notes
        from jtruth.comparison import STANDARD_MODELS, compare_models
        from jtruth.latent import NutsSettings, Watch

        names = STANDARD_MODELS if self.models is None else [n.strip() for n in self.models.split(",")]
        labels = labels_of(self.file, self)
        with progress("model", len(names)) as advance:
            settings = NutsSettings(num_warmup=self.warmup, num_samples=self.samples, watch=Watch(advance))
            found = compare_models(labels, models=names, key=self.seed, settings=settings)
        best = f"--model {found.names[0]}"
        step = next_step(self, best, "how good each labeler is, by the first model", "labelers", Columns)
        self.give(with_notes(found, labels.notes), step)
