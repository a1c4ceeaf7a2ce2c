"""`jtruth ask`: which labels, or which true classes, would make a metric known soonest?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from jtruth.cli.options import Beside, Columns, Draws, LabelsFile
from jtruth.cli.output import Output, check_writable, write_table


@dataclass(frozen=True)
class Asking:
    """For which metric of which classifier, and how many answers."""

    predictions: Annotated[
        Path, typer.Option("--predictions", help="The classifier: a table task, label; or column:NAME.")
    ]
    gold: Annotated[
        Path | None, typer.Option("--gold", help="Labels known to be true, if there are some.")
    ] = None
    metric: Annotated[str, typer.Option("--metric", help="accuracy, precision, recall, f1, ...")] = "accuracy"
    positive: Annotated[str | None, typer.Option("--positive", help="Name of the positive class.")] = None
    num: Annotated[int, typer.Option("--num", help="How many answers to ask for.")] = 10
    truth: Annotated[
        bool, typer.Option("--truth", help="Ask for true classes (gold), by chances that are written down.")
    ] = False
    common_only: Annotated[
        bool, typer.Option("--common-only", help="Use only tasks with labels and a prediction.")
    ] = False
    out: Annotated[Path | None, typer.Option("--out", help="Write what to ask to this table.")] = None
    inclusion: Annotated[
        Path | None,
        typer.Option("--inclusion", help="With --truth: write all chances, for evaluate --inclusion."),
    ] = None

    def __post_init__(self) -> None:
        check_writable("--out", self.out)
        check_writable("--inclusion", self.inclusion)
        if self.inclusion is not None and not self.truth:
            raise ValueError("--inclusion holds the chances of asking for true classes: say --truth too")


def ask(
    source: LabelsFile, asking: Asking, draws: Draws, columns: Columns, beside: Beside, output: Output
) -> None:
    """Which labels of whom, or (--truth) which true classes, to ask for next."""
    import numpy as np

    from jtruth._validation.text import read_bytes
    from jtruth.asking.gold import ask_next
    from jtruth.asking.labels import Aim, next_labels
    from jtruth.cli.reading import Given, class_code, gold_of, labels_of, one_stdin, predictions_of
    from jtruth.evaluation.gold.shares import labels_only_posterior

    one_stdin(source.file, asking.predictions, asking.gold)
    given = Given(read_bytes(source.file), columns, beside)
    labels = labels_of(given.file, columns, (asking.predictions, asking.gold))
    y_pred, labels, notes = predictions_of(asking.predictions, labels, given, asking.common_only)
    gold = gold_of(asking.gold, labels, given, asking.common_only)
    code = class_code(asking.positive, labels)
    tasks = [str(task) for task in (labels.tasks or range(labels.num_samples))]
    if asking.truth:
        h, doubts = labels_only_posterior(labels, draws.seed)
        known = np.full(labels.num_samples, -1) if gold is None else np.asarray(gold)
        wanted = ask_next(np.asarray(y_pred), h, known, asking.num, key=draws.seed, metric=asking.metric,
                          classes=tuple(map(str, labels.class_names)), positive=code)  # fmt: skip
        header = ["task", "inclusion"]
        rows = [[tasks[i], float(wanted.inclusion[i])] for i in wanted.samples]
        head = (
            f"find out the truth of these {len(rows)}, all of them; they are no simple random sample, so "
            "evaluate needs the chances of all tasks (--inclusion here, and there)"
        )
        if asking.inclusion is not None:
            every = [[task, float(p)] for task, p in zip(tasks, wanted.inclusion, strict=True)]
            write_table(asking.inclusion, header, every)
    else:
        found = next_labels(labels, np.asarray(y_pred), asking.num, key=draws.seed,
                            aim=Aim(asking.metric, code), gold=gold)  # fmt: skip
        names, doubts = labels.workers or range(labels.num_labelers), found.warnings
        header = ["task", "worker", "drop"]
        rows = [[tasks[i], str(names[t]), float(d / found.variance)]
                for i, t, d in zip(found.samples, found.labelers, found.drop, strict=True)]  # fmt: skip
        head = (
            f"{asking.metric} has a posterior sd of {np.sqrt(found.variance):.4f}; ask for these labels "
            "(drop: share of the variance that the answer is expected to remove; ask for some, then again)"
        )
    if asking.out is not None:
        write_table(asking.out, header, rows)
    shown = [
        "  ".join(f"{cell:.4g}" if isinstance(cell, float) else cell for cell in row) for row in rows[:20]
    ]
    lines = [head, "  ".join(header), *shown, *(f"! {text}" for text in (*notes, *doubts))]
    answer = {"metric": asking.metric, "columns": header, "rows": rows, "warnings": [*notes, *doubts]}
    output.give("\n".join(lines), answer)
