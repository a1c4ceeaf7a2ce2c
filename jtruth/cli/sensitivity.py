"""`jtruth sensitivity`: what would have to be true for the answer to change?"""

from dataclasses import dataclass, replace

from jtruth.cli.evaluate import Graded
from jtruth.cli.options import next_step, option
from jtruth.cli.output import progress


@dataclass(frozen=True, kw_only=True)
class Sensitivity(Graded):
    """Posteriors along one assumption that is moved by hand, and its tipping point."""

    what: str = option(
        "--what", "shared_errors, hard_samples, prior, ...; a wrong name lists all.", "shared_errors"
    )
    metric: str = option("--metric", "Of the claim.", "accuracy")
    threshold: float | None = option("--threshold", "When would the metric cross this number?")

    def run(self) -> None:
        """Move it."""
        from jtruth._validation import choose
        from jtruth.answers import facts
        from jtruth.cli.reading import with_notes
        from jtruth.evaluation.assumptions.sensitivity import ways

        choose("--what", self.what, tuple(ways()))
        with progress("values") as advance:
            result, notes = self.judged()
            found = with_notes(result.sensitivity(self.what, key=self.seed, progress=advance), notes)
        shown, said = found.blocks(), None
        if self.threshold is not None:
            said = found.sentence(self.metric, self.threshold)
            shown = shown._replace(sentence=f"{said} {shown.sentence}")
        # Shared errors and hard samples learn error rates, and refuse any that are given.
        pair = ("shared_errors", "hard_samples") if self.noise is None else ("prior", "error_rates")
        other = replace(self, what=pair[self.what == pair[0]])
        self.give(shown.more(facts(tipping=said)), next_step(other, "", "another assumption"))
