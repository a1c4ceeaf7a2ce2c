"""What to do next: which labels to `jtruth ask` for, what to buy (`plan`), what to check (`clean`)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from jtruth._files import write_table
from jtruth.cli.options import (
    Beside,
    CommonOnly,
    Draws,
    GoldCommonOnly,
    LabelsFile,
    MetricName,
    Noise,
    Positive,
    Prior,
    next_step,
    option,
    written,
)
from jtruth.cli.output import Output, progress


@dataclass(frozen=True, kw_only=True)
class Ask(LabelsFile, Draws, Beside, Output):
    """Which labels of whom, or (--truth) which true classes, to ask for next."""

    predictions: Annotated[
        Path, typer.Option("--predictions", help="The classifier: a table task, label; or column:NAME.")
    ]
    gold: Path | None = option("--gold", "Labels known to be true, if there are some.")
    metric: MetricName = "accuracy"
    positive: Positive = None
    num: int = option("--num", "How many answers to ask for.", 10)
    truth: bool = option("--truth", "Ask for true classes (gold), by chances that are written down.", False)
    stratified: bool = option(
        "--stratified", "With --truth: in strata of prediction and margin of the labels.", False
    )
    common_only: CommonOnly = False
    out: Path | None = written("--out", "Write what to ask to this table.")
    inclusion: Path | None = written(
        "--inclusion", "With --truth: write a row of every task; --gold if you ask again."
    )

    def check(self) -> None:
        """Refuse options of asking for the truth where labels are asked for, and those of another way."""
        if self.inclusion is not None and not self.truth:
            raise ValueError("--inclusion holds the chances of asking for true classes: say --truth too")
        if self.stratified and not self.truth:
            raise ValueError("--stratified is about asking for true classes: say --truth too")
        for name, given in (("--gold", self.gold), ("--inclusion", self.inclusion)):
            if self.stratified and given is not None:
                raise ValueError(
                    f"--stratified asks once, and its --out has a row of every task: leave {name} out; to "
                    "ask again and again leave --stratified out instead"
                )

    def run(self) -> None:
        """Name what to ask for."""
        import numpy as np

        from jtruth.answers import Column, Document, Note, Notes, Queue, facts
        from jtruth.cli.reading import Tables

        tables = Tables(self, self.predictions, self.gold)
        y_pred, notes = tables.predictions(self.predictions)
        labels = tables.labels
        way = self._labels if not self.truth else self._strata if self.stratified else self._truths
        head, header, rows, doubts = way(tables, np.asarray(y_pred))
        notes = tuple(dict.fromkeys((*labels.notes, *notes)))
        doubts = [text for text in doubts if text not in notes]
        items = [Note("read" if text in notes else "warn", text) for text in (*notes, *doubts)]
        listed = [dict(zip(header, row, strict=True)) for row in rows]
        shown = tuple(Column(name, name, form=".4g") for name in header[1:])
        blocks = (
            Queue("", "Ask for these", "task", shown, listed),
            Notes("warnings", "Warnings", items),
            facts(metric=self.metric, columns=header, rows=rows),
        )  # fmt: skip
        step = "" if self.out is not None else next_step(self, "--out ask.csv", "write them to a table")
        about = f"{len(rows)} of {labels.num_samples} tasks"
        self.give(Document("What to ask next?", about, head, blocks), step)

    def _labels(self, tables: Any, y_pred: Any) -> tuple[str, list, list, Any]:
        """What is asked for, its columns, rows (task, worker, drop), and doubts; writes the table."""
        from jtruth.asking.labels import Aim, next_labels
        from jtruth.cli.reading import class_code

        labels, gold = tables.labels, tables.gold()
        aim = Aim(self.metric, class_code(self.positive, labels))
        found = next_labels(labels, y_pred, self.num, key=self.seed, aim=aim, gold=gold)
        tasks, names = list(map(str, labels.task_names)), labels.worker_names
        header = ["task", "worker", "drop"]
        rows = [[tasks[i], str(names[t]), float(d / found.variance)]
                for i, t, d in zip(found.samples, found.labelers, found.drop, strict=True)]  # fmt: skip
        if self.out is not None:
            write_table(self.out, header, rows)
        head = (
            f"Ask for these labels, then again: each should remove the share `drop` of the variance of "
            f"{self.metric}, whose posterior sd is {found.variance**0.5:.4f}."
        )
        return head, header, rows, found.warnings

    def _asked(self, labels: Any) -> dict[str, Any]:
        """What both ways to ask for the truth take."""
        from jtruth.cli.reading import class_code

        return {"key": self.seed, "metric": self.metric, "classes": tuple(map(str, labels.class_names)),
                "positive": class_code(self.positive, labels)}  # fmt: skip

    def _truths(self, tables: Any, y_pred: Any) -> tuple[str, list, list, Any]:
        """The same with a row (task, inclusion)."""
        import numpy as np

        from jtruth.asking.gold import ask_next
        from jtruth.evaluation.gold.tables import labels_only_posterior
        from jtruth.io.gold import INCLUSION, Gold

        labels, old = tables.labels, tables.gold_sample()
        known = np.full(labels.num_samples, -1) if old is None else np.asarray(old.classes)
        posterior, doubts = labels_only_posterior(labels, self.seed)
        gold = Gold(known, _before(old))
        wanted = ask_next(y_pred, posterior, gold, self.num, **self._asked(labels))
        names = [str(labels.class_names[c]) if c >= 0 else "" for c in known]
        tasks, inclusion = map(str, labels.task_names), map(float, wanted.inclusion)
        every = list(map(list, zip(tasks, names, inclusion, strict=True)))
        header = [self.gold_task or self.task, self.gold_label or self.label, INCLUSION]
        filed = [*wanted.samples, *np.flatnonzero(known >= 0)]
        for path, samples in ((self.out, filed), (self.inclusion, range(len(every)))):
            if path is not None:
                write_table(path, header, [every[i] for i in samples])
        doubts = (*getattr(old.classes, "notes", ()), *doubts) if old is not None else doubts
        head = (
            f"Find out the truth of these {self.num}, all of them, and fill in column {header[1]} of the "
            "table that --out writes: it is the --gold of `jtruth evaluate`. They are no simple random "
            "sample, and its column inclusion says so."
        )
        rows = [[every[i][0], every[i][2]] for i in wanted.samples]
        return head, ["task", "inclusion"], rows, doubts

    def _strata(self, tables: Any, y_pred: Any) -> tuple[str, list, list, Any]:
        """The same in strata, with a row (task, stratum); writes a row of every task."""
        import numpy as np

        from jtruth.asking.gold import ask_strata
        from jtruth.evaluation.gold.tables import labels_only_posterior
        from jtruth.io.gold import ASKED, INCLUSION, STRATUM

        labels = tables.labels
        posterior, doubts = labels_only_posterior(labels, self.seed)
        wanted = ask_strata(y_pred, posterior, self.num, **self._asked(labels))
        tasks = list(map(str, labels.task_names))
        strata = [wanted.names[k] for k in np.asarray(wanted.strata)]
        rest = np.setdiff1d(np.arange(len(tasks)), wanted.samples)
        header = [self.gold_task or self.task, self.gold_label or self.label, INCLUSION, STRATUM, ASKED]
        if self.out is not None:
            rows = [
                [tasks[i], "", float(wanted.inclusion[i]), strata[i], asked]
                for some, asked in ((wanted.samples, "yes"), (rest, "no"))
                for i in some
            ]
            write_table(self.out, header, rows)
        head = (
            f"Find out the truth of these {self.num}, all of them, and fill in column {header[1]} of the "
            "first rows that --out writes (asked: yes): the table is the --gold of `jtruth evaluate`. Leave "
            "its other rows as they are, they say how large strata are. Inside a stratum gold is a random "
            "sample, and its column stratum says so."
        )
        rows = [[tasks[i], strata[i]] for i in wanted.samples]
        return head, ["task", "stratum"], rows, doubts


def _before(gold: Any) -> Any:
    """The chance of each task to be among the gold that there is; None: gold is random."""
    if gold is None or (gold.inclusion is None and gold.strata is None):
        return None
    if gold.inclusion is None or not all(gold.inclusion >= 0):
        raise ValueError(
            "to ask again, how likely each task was to be asked before must be known: give as --gold a table "
            "with the column inclusion and a row for every task, label empty where unknown (--inclusion of "
            "the first asking writes it), or ask for more at once"
        )
    return gold.inclusion


@dataclass(frozen=True, kw_only=True)
class Plan(LabelsFile, Draws, Output):
    """The cheapest number of samples, labels and gold answers for an interval of a given width."""

    file: Annotated[
        Path | None, typer.Argument(metavar="[LABELS.csv]", help="Labels to learn the labelers from.")
    ] = None
    width: float | None = option("--width", "How wide the interval may be.")
    budget: float | None = option("--budget", "Or: what may be spent.")
    metric: MetricName = "accuracy"
    prior: Prior = None
    classifier: str = option(
        "--classifier", "Guessed accuracy, .9; or detection and false alarms, .85,.1", "0.9"
    )
    rates: str = option("--rates", "learned (from the same labels, default) or known error rates.", "learned")
    target: str = option("--target", "population, or in-sample (--samples).", "population")
    positive: Positive = None
    labeler: list[str] | None = option(
        "--labeler", "name:error:cost[:people]; again for every kind. File: name::cost."
    )
    cost_label: float = option("--cost-label", "Of a label by the file's people.", 1.0)
    cost_sample: float = option("--cost-sample", "Of a sample without labels.", 0.0)
    cost_gold: float = option("--cost-gold", "Of a gold answer; no gold if unset.", float("inf"))
    samples: int | None = option("--samples", "Fix the number of samples.")
    max_samples: int = option("--max-samples", "How many there are.", 100_000)
    sets: int | None = option("--sets", "Data sets that a plan is simulated in.")

    def run(self) -> None:
        """Search for it."""
        from jtruth.cli.reading import class_code, labels_of, numbers
        from jtruth.planning import best_plan, read_setting

        labels = None if self.file is None else labels_of(self.file, self)
        positive = class_code(self.positive, labels)
        setting = read_setting(
            self.labeler or (), labels, key=self.seed, prior=numbers(self.prior),
            classifier=self.classifier, cost_label=self.cost_label, metric=self.metric, positive=positive,
            rates=self.rates, target=self.target, level=self.level, cost_sample=self.cost_sample,
            cost_gold=self.cost_gold,
        )  # fmt: skip
        with progress("sets") as advance:
            found = best_plan(
                setting, width=self.width, budget=self.budget, key=self.seed, num_samples=self.samples,
                max_samples=self.max_samples, num_sets=self.sets, progress=advance,
            )  # fmt: skip
        step = next_step(self, "--cost-gold 1", "what answers of an expert at that price would save")
        self.give(found, step if self.cost_gold == float("inf") else "")


@dataclass(frozen=True, kw_only=True)
class Clean(LabelsFile, Draws, Beside, Output):
    """Which labels should an expert check? With features those that help a model, else label issues."""

    features: Path | None = option(
        "--features", "Table with a column task and numbers: which label helps a model most."
    )
    predictions: Path | None = option(
        "--predictions",
        "Table task and a probability column for each class, of a "
        "model that did not see these labels; beside --features: which answers to expect.",
    )
    budget: int = option("--budget", "How many labels to ask about.", 50)
    strategy: str | None = option("--strategy", "risk, masked_tars, ...; of one label a task: wrong_label.")
    costs: Path | None = option("--costs", "Table with columns task, cost.")
    state: Path | None = written("--state", "File that remembers what was asked.")
    gold: Path | None = option(
        "--gold",
        "Table task, label: the expert's answers; without --features true classes of tasks chosen "
        "at random (or a column inclusion or stratum), which say how many labels are wrong.",
    )
    common_only: GoldCommonOnly = False
    noise: Noise = None
    prior: Prior = None

    def check(self) -> None:
        """Answers belong to a queue."""
        if self.gold is not None and self.features is not None and self.state is None:
            raise ValueError("--gold continues a queue: give the --state file it was asked with")

    def run(self) -> None:
        """Make the queue, or go on with it."""
        from jtruth.answers import Note, Notes
        from jtruth.cleaning.request import begin, issues, queue
        from jtruth.cli import reading
        from jtruth.io import read_features, read_scores

        files = self.gold, self.features, self.predictions, self.costs, self.noise
        tables = reading.Tables(self, *files)
        labels, (noise, prior) = tables.labels, tables.noise()
        features, costs = (
            None if one is None else read_features(reading.table_of(one, self), labels, task=self.task)
            for one in (self.features, self.costs)
        )
        probabilities: Any = None
        if self.predictions is not None:
            table = reading.table_of(self.predictions, self)
            probabilities = read_scores(table, labels, task=self.task, common_only=None).probabilities
            if probabilities is None:
                raise ValueError(f"{self.predictions} has no column of probabilities for each class")
        # Answers to a queue are no random sample, so how they were chosen has a say only without one.
        answers = tables.gold() if self.features is not None else tables.gold_sample()
        if self.features is None:
            shown = issues(labels, noise, prior, probabilities=probabilities, gold=answers,
                           budget=self.budget, level=self.level, seed=self.seed)  # fmt: skip
            more, why = "--gold GOLD.csv", f"columns {self.task}, {self.label}: how many are wrong"
            step = "" if self.gold is not None else next_step(self, more, why)
        else:
            state, doubts = begin(labels, noise, prior, features, probabilities=probabilities, costs=costs,
                                  strategy=self.strategy, seed=self.seed)  # fmt: skip
            shown = queue(state, self.budget, gold=answers, path=self.state, notes=doubts)
            why = "remember what was asked; answers come as --gold"
            step = "" if self.state is not None else next_step(self, "--state cleaning.state", why)
        notes = [Note("read", text) for text in labels.notes]
        self.give(shown.more(Notes("notes", "How it was read", notes)), step)
