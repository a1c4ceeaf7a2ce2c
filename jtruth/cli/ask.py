"""`jtruth ask`: which labels, or which true classes, would make a metric known soonest?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from jtruth._files import write_table
from jtruth.cli.options import (
    Beside,
    Columns,
    CommonOnly,
    Draws,
    LabelsFile,
    MetricName,
    Positive,
    option,
    written,
)
from jtruth.cli.output import Output


@dataclass(frozen=True)
class Asking:
    """For which metric of which classifier, and how many answers."""

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

    def __post_init__(self) -> None:
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


def ask(
    source: LabelsFile, asking: Asking, draws: Draws, columns: Columns, beside: Beside, output: Output
) -> None:
    """Which labels of whom, or (--truth) which true classes, to ask for next."""
    import numpy as np

    from jtruth.answers import Column, Note, Notes, Queue, Shown, facts
    from jtruth.asking.labels import Aim, next_labels
    from jtruth.cli.reading import begin, class_code, gold_of, predictions_of

    given, labels = begin(source.file, columns, beside, asking.predictions, asking.gold)
    y_pred, labels, notes = predictions_of(asking.predictions, labels, given, asking.common_only)
    code = class_code(asking.positive, labels)
    tasks = [str(task) for task in (labels.tasks or range(labels.num_samples))]
    if asking.truth:
        way = _strata if asking.stratified else _truths
        head, rows, doubts = way(asking, labels, np.asarray(y_pred), given, draws.seed)
        header = ["task", "stratum" if asking.stratified else "inclusion"]
    else:
        gold = gold_of(asking.gold, labels, given, asking.common_only)
        found = next_labels(labels, np.asarray(y_pred), asking.num, key=draws.seed,
                            aim=Aim(asking.metric, code), gold=gold)  # fmt: skip
        names, doubts = labels.workers or range(labels.num_labelers), found.warnings
        header = ["task", "worker", "drop"]
        rows = [[tasks[i], str(names[t]), float(d / found.variance)]
                for i, t, d in zip(found.samples, found.labelers, found.drop, strict=True)]  # fmt: skip
        if asking.out is not None:
            write_table(asking.out, header, rows)
        head = (
            f"{asking.metric} has a posterior sd of {np.sqrt(found.variance):.4f}; ask for these labels "
            "(drop: share of the variance that the answer is expected to remove; ask for some, then again)"
        )
    notes = tuple(dict.fromkeys((*labels.notes, *notes)))
    doubts = [text for text in doubts if text not in notes]
    said = [Note("read" if text in notes else "warn", text) for text in (*notes, *doubts)]
    listed = [dict(zip(header, row, strict=True)) for row in rows]
    shown = tuple(Column(name, name, form=".4g") for name in header[1:])
    blocks = (
        Queue("", "Ask for these", "task", shown, listed),
        Notes("warnings", "Warnings", said),
        facts(metric=asking.metric, columns=header, rows=rows),
    )  # fmt: skip
    output.give(Shown("What to ask next?", f"{len(rows)} of {len(tasks)} tasks", head, blocks), draws.seed)


def _truths(asking: Asking, labels: Any, y_pred: Any, given: Any, seed: int) -> tuple[str, list, Any]:
    """What is to be found out, a row (task, inclusion) for each, and doubts; writes the tables."""
    import numpy as np

    from jtruth.asking.gold import ask_next
    from jtruth.cli.reading import class_code, gold_sample_of
    from jtruth.evaluation.gold.answer import labels_only_posterior
    from jtruth.io.gold import INCLUSION, Gold

    old = gold_sample_of(asking.gold, labels, given, asking.common_only)
    known = np.full(labels.num_samples, -1) if old is None else np.asarray(old.classes)
    posterior, doubts = labels_only_posterior(labels, seed)
    wanted = ask_next(
        y_pred, posterior, Gold(known, _before(old)), asking.num, key=seed, metric=asking.metric,
        classes=tuple(map(str, labels.class_names)), positive=class_code(asking.positive, labels),
    )  # fmt: skip
    names = [str(labels.class_names[c]) if c >= 0 else "" for c in known]
    tasks = map(str, labels.tasks or range(labels.num_samples))
    every = [list(row) for row in zip(tasks, names, map(float, wanted.inclusion), strict=True)]
    beside, columns = given.beside, given.columns
    header = [beside.gold_task or columns.task, beside.gold_label or columns.label, INCLUSION]
    filed = [*wanted.samples, *np.flatnonzero(known >= 0)]
    for path, samples in ((asking.out, filed), (asking.inclusion, range(len(every)))):
        if path is not None:
            write_table(path, header, [every[i] for i in samples])
    doubts = (*getattr(old.classes, "notes", ()), *doubts) if old is not None else doubts
    head = (
        f"find out the truth of these {asking.num}, all of them, and fill in column {header[1]} of --out: "
        "then it is --gold for evaluate. They are no simple random sample, and its column inclusion says so"
    )
    return head, [[every[i][0], every[i][2]] for i in wanted.samples], doubts


def _strata(asking: Asking, labels: Any, y_pred: Any, given: Any, seed: int) -> tuple[str, list, Any]:
    """The same in strata: a row (task, stratum) for each, and doubts; writes a row of every task."""
    import numpy as np

    from jtruth.asking.gold import ask_strata
    from jtruth.cli.reading import class_code
    from jtruth.evaluation.gold.answer import labels_only_posterior
    from jtruth.io.gold import ASKED, INCLUSION, STRATUM

    posterior, doubts = labels_only_posterior(labels, seed)
    wanted = ask_strata(
        y_pred, posterior, asking.num, key=seed, metric=asking.metric,
        classes=tuple(map(str, labels.class_names)), positive=class_code(asking.positive, labels),
    )  # fmt: skip
    tasks, names = list(map(str, labels.tasks or range(labels.num_samples))), wanted.names
    rest = np.setdiff1d(np.arange(len(tasks)), wanted.samples)
    header = [given.beside.gold_task or given.columns.task, given.beside.gold_label or given.columns.label]
    if asking.out is not None:
        rows = [
            [tasks[i], "", float(wanted.inclusion[i]), names[wanted.strata[i]], asked]
            for some, asked in ((wanted.samples, "yes"), (rest, "no"))
            for i in some
        ]
        write_table(asking.out, [*header, INCLUSION, STRATUM, ASKED], rows)
    head = (
        f"find out the truth of these {asking.num}, all of them, and fill in column {header[1]} of the first "
        "rows of --out (asked: yes); leave the other rows as they are, they say how large strata are: then "
        "it is --gold for evaluate. Inside a stratum gold is a random sample, and its column stratum says so"
    )
    return head, [[tasks[i], names[wanted.strata[i]]] for i in wanted.samples], doubts


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
