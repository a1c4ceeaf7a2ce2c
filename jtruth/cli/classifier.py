"""How good is a classifier (`jtruth evaluate`), which is better (`compare`), and what if (`sensitivity`)?"""

import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from jtruth._files import write_picture
from jtruth.cli.options import (
    EVERY,
    READING,
    argument,
    command,
    next_step,
    option,
    refuse,
    requirement,
    shared,
    written,
)
from jtruth.cli.output import give, progress, required, whole

GRADED = {  # what to grade, by what, and how
    **shared("predictions"),
    "rater": option("Or grade this labeler, using the other labelers."),
    **shared("gold", "noise", "prior", "assume", "labelers_are"),
    "method": option("bayes (default), laplace, majority_vote, smyth, tars.", "bayes", show_default=False),
    "fast": option("The same as --method laplace: faster, less exact.", False),
    **shared("target"),
    "inclusion": option("Probability of each sample to be gold: columns task, inclusion.", kind=Path,
                        rich_help_panel=READING),
    **shared("positive", "order", "common_only"),
}  # fmt: skip


def judged(args: Any, *, what_if: bool = False) -> tuple[Any, tuple[str, ...], Any]:
    """The `Evaluation` of what was asked for, what was said when its tables were read, and these.

    `what_if`: what each assumption says will be shown too, so that the bar runs while it is fitted.
    """
    if (args.predictions is None) == (args.rater is None):
        raise ValueError("give what to grade: either --predictions PRED.csv or --rater WORKER")
    if args.fast and args.method != "bayes":
        raise ValueError(f"--fast and --method {args.method} are two different methods: choose one")
    from jtruth import evaluation
    from jtruth.cli.reading import with_notes

    with progress("part", 2 if what_if else 1) as advance:
        tables, calibration, y_pred, notes = _graded(args)
        result = evaluation.evaluate(
            y_pred, tables.labels, method="laplace" if args.fast else args.method, target=args.target,
            order=tables.order(), positive=tables.positive, **tables.known(args.inclusion),
            calibration=calibration, progress=advance,
        )  # fmt: skip
        file = args.predictions  # or a column: column:NAME
        name = f"Labeler {args.rater}" if file is None else str(file).partition(":")[2] or file.name
        result = replace(result, graded=name)
        if what_if:
            _ = result.assumptions
    return with_notes(result, notes), (*tables.labels.notes, *notes), tables


def _graded(args: Any, by: str | None = None) -> tuple[Any, Any, Any, tuple[str, ...]]:
    """The tables, the calibration if there is one, and (y_pred, notes) of what is graded."""
    from jtruth.cli.reading import Tables, with_calibration

    new, calibration = with_calibration(args)
    tables = Tables(new, args.predictions, new.gold, args.noise, by=by)
    args.how_read = new.how_read
    if args.predictions is not None:
        return tables, calibration, *tables.predictions(args.predictions)
    known = calibration is not None and args.rater in map(str, calibration[0].worker_names)
    return tables, calibration, *(tables.alone if known else tables.rater)(str(args.rater))


@command(
    "LABELS.csv --predictions PRED.csv --report a.html", EVERY,
    **GRADED, **shared("by", "calibration", "require", "confidence"),
    metric=option("With --by: metric to compare.", "accuracy"),
    scores=option("Grade the column score of --predictions by ROC and AUC.", False),
    threshold=option("With --scores: lowest score that counts as positive.", kind=float),
    cost=option("With --scores: costs of a false positive, negative."),
    plot=written("With --scores: draw the curves (.svg, .png, .pdf)."),
)  # fmt: skip
def evaluate(args: Any) -> None:
    """Grade a classifier or a labeler, using imperfect labels."""
    if args.by is None and args.metric != "accuracy":
        raise ValueError("--metric needs groups to compare: add --by COLUMN, or leave --metric out")
    if args.plot is not None and not args.scores:
        raise ValueError("--plot draws the curves of --scores: add --scores, or leave --plot out")
    if args.scores and args.by is not None:
        raise ValueError(
            "--scores grades the scores of all samples, and --by compares predicted classes in groups: leave "
            "one of them out"
        )
    if not args.scores:
        idle = {"--threshold": args.threshold, "--cost": args.cost}
        refuse(idle, "is for scores: add --scores, or leave it out")
    else:
        return _grade_scores(args)
    if args.by is not None:
        return give(args, required(args, _groups(args)), _next(args))
    result, _, tables = judged(args, what_if=whole(args))
    give(args, required(args, result), _next(args, tables, getattr(result, "num_gold", 0)))


def _next(args: Any, tables: Any = None, known: int = 0) -> str:
    """The command worth running next: gold (of `tables`) where only gold helps, else a look at the labels."""
    if args.command is evaluate and args.calibration is not None:
        return "" if args.full else next_step(args, "--full", "show the checks of the calibration")
    if tables is not None:
        return tables.gold_step(known=known)
    return next_step(args, "", "look for unusual patterns in the labels", "inspect")


def _refuse_idle(args: Any, where: str) -> None:
    idle = {"--order": args.order, "--fast": args.fast or None,
            "--method": None if args.method == "bayes" else args.method}  # fmt: skip
    refuse(idle, f"is not used where {where}; leave it out")


def _target(args: Any) -> dict[str, str]:
    return {} if args.target is None else {"target": args.target}


def _groups(args: Any) -> Any:
    _refuse_idle(args, "groups are compared (--by)")
    if (args.predictions is None) == (args.rater is None):
        raise ValueError("give what to grade in every group: --predictions PRED.csv or --rater WORKER")
    from jtruth.cli.reading import with_notes
    from jtruth.evaluation import compare_groups

    with progress("answer") as advance:
        tables, calibration, y_pred, notes = _graded(args, args.by)
        comparison = compare_groups(
            y_pred, tables.labels, tables.groups(1), metric=args.metric, positive=tables.positive,
            calibration=calibration, **_target(args), **tables.known(args.inclusion), progress=advance,
        )  # fmt: skip
    return with_notes(comparison, (*tables.labels.notes, *notes))


def _grade_scores(args: Any) -> None:
    from jtruth.cli.reading import Tables, with_calibration, with_notes

    if args.predictions is None:
        raise ValueError("--scores needs a file of scores: give --predictions PRED.csv")
    _refuse_idle(args, "scores are graded")
    refuse({"--rater": args.rater}, "cannot be combined with --scores")
    new, calibration = with_calibration(args)
    with progress("answer") as advance:
        tables = Tables(new, args.predictions, new.gold, args.noise)
        args.how_read = new.how_read
        scores, notes = tables.scores(args.predictions)
        known = tables.known(args.inclusion) | {"calibration": calibration}
        result = _judged_scores(args, scores, tables.labels, **known, **_target(args), progress=advance)
    result = with_notes(result, [text for text in notes if text not in result.warnings])
    if args.plot is not None:
        from jtruth.plots import plot_curves

        write_picture(args.plot, plot_curves(result))
    give(args, required(args, result), _next(args, tables, getattr(result, "num_gold", 0)))


def _judged_scores(args: Any, scores: Any, labels: Any, **options: Any) -> Any:
    from jtruth._validation import positive_of
    from jtruth.cli import reading
    from jtruth.evaluation import evaluate_class_scores, evaluate_scores

    if labels.num_classes > 2:
        idle = {"--threshold": args.threshold, "--cost": args.cost, "--plot": args.plot,
                "--positive": args.positive}  # fmt: skip
        many = f"two classes, but there are {labels.num_classes}"
        refuse(idle, f"is for {many}, each graded against the rest: leave it out")
        if scores.ndim == 1:
            raise ValueError(f"one score per sample ranks {many}: give a column of probabilities for each")
        return evaluate_class_scores(scores, labels, **options)
    named, gold = args.positive, options["gold"]
    positive, _ = positive_of(
        labels, None if named is None else labels.class_code(named), gold and gold.classes
    )
    cost = reading.numbers(args.cost, "--cost", "two numbers, FP,FN, such as 1,5", 2)
    options |= {"threshold": args.threshold, "cost": cost}
    options["positive"] = None if named is None else positive
    return evaluate_scores(scores if scores.ndim == 1 else scores[:, positive], labels, **options)


@command(
    "LABELS.csv --predictions PRED.csv --what prior", EVERY,
    **GRADED,
    what=option("shared_errors, hard_samples, labeler_dependence, prior or error_rates.", "shared_errors"),
    metric=option("The metric of --threshold.", "accuracy"),
    threshold=option("Find where the metric crosses this value.", kind=float),
)  # fmt: skip
def sensitivity(args: Any) -> None:
    """Vary one assumption, such as the share of shared errors, and find where the result changes."""
    from jtruth._validation import choose
    from jtruth.answers import facts
    from jtruth.cli.reading import with_notes
    from jtruth.evaluation.assumptions.sensitivity import ways

    choose("--what", args.what, tuple(ways()))
    with progress("values") as advance:
        result, notes, _ = judged(args)
        answer = with_notes(result.sensitivity_analysis(args.what, key=args.seed, progress=advance), notes)
    document, tipping = answer.blocks(), None
    if args.threshold is not None:
        tipping = answer.sentence(args.metric, args.threshold)
        document = document._replace(sentence=f"{tipping} {document.sentence}")
    # Shared errors and hard samples learn error rates, and refuse any that are given.
    pair = ("shared_errors", "hard_samples") if args.noise is None else ("prior", "error_rates")
    other = SimpleNamespace(**vars(args) | {"what": pair[args.what == pair[0]]})
    give(args, document.more(facts(tipping=tipping)), next_step(other, "", "vary another assumption"))


@command(
    "LABELS.csv A.csv B.csv --metric recall", EVERY,
    files=argument("A.csv B.csv [C.csv]", "Predictions: task, label; or column:NAME of LABELS.",
                   kind=list[Path]),
    metric=option("Metric to compare: accuracy, recall, f1, kappa.", "accuracy"),
    margin=option("Count a classifier as better by more than this.", 0.0),
    at_least=option("Required value of the metric, such as .9.", kind=float),
    **shared("gold", "target", "noise", "prior", "assume", "labelers_are", "positive"),
    common_only=option("Use only samples with labels and all predictions.", False),
    require=requirement("m1 > m2"),
    **shared("confidence"),
    plot=written("Also draw a figure (.svg, .png, .pdf)."),
)  # fmt: skip
def compare(args: Any) -> None:
    """Compare classifiers, using imperfect labels."""
    from jtruth.cli.reading import Tables, with_notes
    from jtruth.evaluation import compare_classifiers

    with progress("answer") as advance:
        tables = Tables(args, *args.files, args.gold, args.noise)
        predictions, notes = tables.rivals(args.files)
        comparison = compare_classifiers(
            predictions, tables.labels, metric=args.metric, margin=args.margin, at_least=args.at_least,
            positive=tables.positive, **_target(args), **tables.known(), progress=advance,
        )  # fmt: skip
    comparison = with_notes(comparison, notes)
    if args.plot is not None:
        write_picture(args.plot, comparison.plot())
    files = shlex.join(map(str, args.files))
    needed = comparison.gold_to_tell
    num = max(needed - comparison.num_gold, 10) if needed else None
    step = tables.gold_step(files, comparison.num_gold, num)
    if args.gold is not None and comparison.told:
        step = next_step(args, f"{files} --full", "show all differences")
    give(args, required(args, comparison), step)
