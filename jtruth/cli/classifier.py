"""How good is a classifier (`jtruth evaluate`), which is better (`compare`), and what if (`sensitivity`)?"""

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from jtruth._files import write_picture
from jtruth.cli.options import (
    Assume,
    Beside,
    By,
    CommonOnly,
    Draws,
    LabelersAre,
    LabelsFile,
    Noise,
    Order,
    Positive,
    Prior,
    next_step,
    option,
    refuse,
    written,
)
from jtruth.cli.output import Output, progress


@dataclass(frozen=True, kw_only=True)
class Graded(LabelsFile, Draws, Beside, Output):
    """What to grade, by what, and how."""

    predictions: Path | None = option("--predictions", "The classifier: a table task, label; or column:NAME.")
    rater: str | None = option("--rater", "Grade this worker against the others instead.")
    gold: Path | None = option("--gold", "True labels: a table task, label; or column:NAME.")
    noise: Noise = None
    prior: Prior = None
    assume: Assume = None
    labelers_are: LabelersAre = None
    method: str = option("--method", "bayes, sampling, ...", "bayes")
    fast: bool = option("--fast", "The normal law around a mode; as --method laplace.", False)
    positive: Positive = None
    target: str | None = option("--target", "in-sample (default), or population: new samples.")
    inclusion: Path | None = option("--inclusion", "A table task, inclusion: chances to be in gold.")
    order: Order = None
    common_only: CommonOnly = False

    def judged(self, *, what_if: bool = False) -> tuple[Any, tuple[str, ...]]:
        """The `Evaluation` of what was asked for, and what was said when its tables were read.

        `what_if`: whether what each assumption says will be shown, so that the bar runs while it is fitted.
        """
        if (self.predictions is None) == (self.rater is None):
            raise ValueError("say what to grade: either --predictions PRED.csv or --rater WORKER")
        if self.fast and self.method != "bayes":
            raise ValueError(f"--fast and --method {self.method} are two ways to an answer: choose one")
        from jtruth import evaluation
        from jtruth.cli.reading import Tables, with_notes

        with progress("part", 2 if what_if else 1) as advance:
            tables, file = Tables(self, self.predictions, self.gold, self.noise), self.predictions
            y_pred, notes = tables.rater(str(self.rater)) if file is None else tables.predictions(file)
            result = evaluation.evaluate(
                y_pred, tables.labels, method="laplace" if self.fast else self.method, target=self.target,
                order=tables.order(), positive=tables.positive, **tables.known(self.inclusion),
                progress=advance,
            )  # fmt: skip
            if what_if:
                _ = result.assumptions
        return with_notes(result, notes), (*tables.labels.notes, *notes)


@dataclass(frozen=True, kw_only=True)
class Evaluate(Graded):
    """Grade a classifier, or one labeler: no label is taken as true."""

    by: By = None
    metric: str = option("--metric", "With --by: recall, f1, ...", "accuracy")
    scores: bool = option("--scores", "Grade the column score: ROC curve, areas.", False)
    threshold: float | None = option("--threshold", "With --scores: positive at or above this score.")
    cost: str | None = option("--cost", "With --scores: FP,FN, as 1,5: cheapest threshold.")
    plot: Path | None = written("--plot", "With --scores: draw the curves, FILE.svg, .png, .pdf.")

    def check(self) -> None:
        """Refuse options of groups and of scores where neither is asked for."""
        if self.by is None and self.metric != "accuracy":
            raise ValueError("--metric is what groups are compared by: say --by COLUMN too, or leave it out")
        if self.plot is not None and not self.scores:
            raise ValueError("--plot draws the curves of --scores; say --scores too, or leave it out")
        if not self.scores:
            idle = {"--threshold": self.threshold, "--cost": self.cost}
            refuse(idle, "is about scores; say --scores too, or leave it out")

    def run(self) -> None:
        """Grade classes, groups or scores."""
        if self.scores:
            return self._grade_scores()
        if self.by is not None:
            return self.give(self._groups(), self._next("of groups"))
        result, _ = self.judged(what_if=self.whole)
        self.give(result, self._next(result.interval_kind))

    def _next(self, kind: str) -> str:
        """The command worth running next: gold where only gold helps, else a look at the labels."""
        if kind == "predictive":
            why = f"columns {self.task}, {self.label}: the truth of 30 random samples"
            return next_step(self, "--gold GOLD.csv", why)
        return next_step(self, "", "what the labels look like, and what is suspicious", "inspect", LabelsFile)

    def _refuse_idle(self, where: str) -> None:
        """Refuse options that have no say."""
        idle = {"--rater": self.rater, "--target": self.target, "--order": self.order,
                "--fast": self.fast or None,
                "--method": None if self.method == "bayes" else self.method}  # fmt: skip
        refuse(idle, f"has no say where {where}; leave it out")

    def _groups(self) -> Any:
        """Which group has the better metric."""
        self._refuse_idle("groups are compared (--by)")
        if self.predictions is None:
            raise ValueError("say what to grade in every group: --predictions PRED.csv")
        from jtruth.cli.reading import Tables, with_notes
        from jtruth.evaluation import compare_groups

        with progress("answer") as advance:
            tables = Tables(self, self.predictions, self.gold, self.noise, by=self.by)
            y_pred, notes = tables.predictions(self.predictions)
            found = compare_groups(
                y_pred, tables.labels, tables.groups(1), metric=self.metric, positive=tables.positive,
                **tables.known(self.inclusion), progress=advance,
            )  # fmt: skip
        return with_notes(found, (*tables.labels.notes, *notes))

    def _grade_scores(self) -> None:
        """Areas and curves of two classes, or one against the rest."""
        from jtruth.cli.reading import Tables, with_notes

        if self.predictions is None:
            raise ValueError("--scores grades the scores of a file: give --predictions PRED.csv")
        self._refuse_idle("scores are graded")
        with progress("answer") as advance:
            tables = Tables(self, self.predictions, self.gold, self.noise)
            scores, notes = tables.scores(self.predictions)
            known = tables.known(self.inclusion)
            found = self._judged_scores(scores, tables.labels, **known, progress=advance)
        found = with_notes(found, [text for text in notes if text not in found.warnings])
        if self.plot is not None:
            from jtruth.plots import plot_curves

            write_picture(self.plot, plot_curves(found))
        self.give(found, self._next("of scores"))

    def _judged_scores(self, scores: Any, labels: Any, **options: Any) -> Any:
        """The answer for two classes, or for each of more."""
        from jtruth.cli import reading
        from jtruth.evaluation import evaluate_class_scores, evaluate_scores

        if labels.num_classes > 2:
            idle = {"--threshold": self.threshold, "--cost": self.cost, "--plot": self.plot,
                    "--positive": self.positive}  # fmt: skip
            many = f"two classes and there are {labels.num_classes}"
            refuse(idle, f"is for {many}, which are judged one against the rest; leave it out")
            if scores.ndim == 1:
                raise ValueError(f"one score a sample ranks {many}; give a column of probabilities for each")
            return evaluate_class_scores(scores, labels, **options)
        positive = reading.class_code(self.positive, labels)
        options |= {"threshold": self.threshold, "cost": None if self.cost is None else _cost(self.cost)}
        options["positive"] = None if self.positive is None else positive
        return evaluate_scores(scores if scores.ndim == 1 else scores[:, positive], labels, **options)


def _cost(text: str) -> tuple[float, float]:
    """Costs as they are typed: of a false positive, of a false negative."""
    try:
        false_alarm, miss = (float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"--cost {text!r}: give two numbers, FP,FN, such as 1,5") from None
    return false_alarm, miss


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
        shown, tipping = found.blocks(), None
        if self.threshold is not None:
            tipping = found.sentence(self.metric, self.threshold)
            shown = shown._replace(sentence=f"{tipping} {shown.sentence}")
        # Shared errors and hard samples learn error rates, and refuse any that are given.
        pair = ("shared_errors", "hard_samples") if self.noise is None else ("prior", "error_rates")
        other = replace(self, what=pair[self.what == pair[0]])
        self.give(shown.more(facts(tipping=tipping)), next_step(other, "", "another assumption"))


@dataclass(frozen=True, kw_only=True)
class Compare(LabelsFile, Draws, Beside, Output):
    """Which classifier is better, and with what probability: no label is taken as true."""

    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="A.csv B.csv [C.csv ...]", help="Predictions: columns task, label; or column:NAME."
        ),
    ]
    metric: str = option("--metric", "accuracy, recall, f1, kappa, ...", "accuracy")
    margin: float = option("--margin", "Better means: by more than this.", 0.0)
    at_least: float | None = option("--at-least", "A requirement, such as .9 of the recall.")
    gold: Path | None = option("--gold", "Table task, label of labels known to be true.")
    noise: Noise = None
    prior: Prior = None
    assume: Assume = None
    labelers_are: LabelersAre = None
    positive: Positive = None
    common_only: bool = option("--common-only", "Use only tasks with labels and all predictions.", False)
    plot: Path | None = written("--plot", "Also draw a picture: FILE.svg, .png, .pdf.")

    def run(self) -> None:
        """Compare them; a classifier is called by the name of its file."""
        from jtruth.cli.reading import Tables, with_notes
        from jtruth.evaluation import compare_classifiers

        with progress("answer") as advance:
            tables = Tables(self, *self.files, self.gold, self.noise)
            predictions, notes = tables.rivals(self.files)
            found = compare_classifiers(
                predictions, tables.labels, metric=self.metric, margin=self.margin, at_least=self.at_least,
                positive=tables.positive, **tables.known(), progress=advance,
            )  # fmt: skip
        found = with_notes(found, notes)
        if self.plot is not None:
            write_picture(self.plot, found.plot())
        more = f"{shlex.join(map(str, self.files))} --gold GOLD.csv"
        step = next_step(self, more, f"columns {self.task}, {self.label}: the truth of 30 random samples")
        self.give(found, "" if self.gold is not None else step)
