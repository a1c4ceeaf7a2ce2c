"""Shares and probabilities: `jtruth prevalence`, `preferences`, `calibrate`, `correct` from bare counts."""

import shlex
from pathlib import Path
from typing import Any

from jtruth._files import write_table
from jtruth.cli.options import (
    DRAWS,
    EVERY,
    KNOWN_GOLD,
    LABELS,
    OUTPUT,
    SMOOTH,
    TABLE,
    argument,
    command,
    next_step,
    option,
    requirement,
    shared,
    written,
)
from jtruth.cli.output import give, progress, required


@command(
    "LABELS.csv --gold GOLD.csv --positive pass", EVERY,
    **KNOWN_GOLD, **shared("calibration"),
    assume=option("independent: errors are independent (narrow, often wrong)."),
    **shared("labelers_are", "by", "confidence", "target"), require=requirement("pass >= .8"),
    smooth=SMOOTH,
    positive=option("Class whose share --by compares."),
    ask=option("With --ask-out: number of samples to verify.", 10),
    ask_out=written("Write the samples to verify to this table; fill it in and use it as --gold.", True),
)  # fmt: skip
def prevalence(args: Any) -> None:
    """Estimate the share of each class (such as a pass rate) with its interval."""
    from jtruth.answers import facts, sentence_notes
    from jtruth.asking import ask_next
    from jtruth.cli.reading import Tables, class_code, counted, with_calibration, with_notes
    from jtruth.evaluation.gold.shares import prevalence

    idle = {"--gold": args.gold, "--calibration": args.calibration, "--by": args.by, "--assume": args.assume,
            "--ask-out": args.ask_out}  # fmt: skip
    if (state := counted(args, **idle)) is not None:
        answer = prevalence(
            state, labelers_are=args.labelers_are, target=args.target or "population", level=args.level,
            key=args.seed,
        )  # fmt: skip
        return give(args, required(args, answer), next_step(args, "", "how good each labeler is", "labelers"))
    new, calibration = with_calibration(args)
    tables = Tables(new, new.gold, by=args.by)
    args.how_read = new.how_read
    labels, gold = tables.labels, tables.gold_sample()
    code = class_code(args.positive, labels)
    with progress("answer") as advance:
        answer = prevalence(
            labels, assume=args.assume, labelers_are=args.labelers_are, by=tables.groups(code), gold=gold,
            calibration=calibration,
            target=args.target or "population", level=args.level, key=args.seed, progress=advance,
        )  # fmt: skip
    num = 0 if calibration else min(args.ask, labels.num_samples - answer.num_gold)
    request = ask_next(labels, num, gold=gold, key=args.seed) if num else None
    tasks = [] if request is None else [str(labels.task_names[i]) for i in request.samples]
    answer, name = with_notes(answer, labels.notes), str(labels.class_names[code])
    step = tables.gold_step(known=answer.num_gold)
    if calibration:
        step = "" if args.full else next_step(args, "--full", "show the judges' error rates and the checks")
    document = (
        required(args, answer)
        .blocks()
        .more(
            sentence_notes("", "What to verify next", _advice(request, tasks), "do"),
            facts(positive=name, gold_to_halve=None if request is None else request.to_halve, ask=tasks),
        )
    )
    if request is not None and args.ask_out is not None:
        write_table(args.ask_out, *tables.to_verify(request, gold))
    give(args, document, step if args.ask_out is None else "")


def _advice(request: Any, tasks: list[str]) -> list[str]:
    from jtruth._validation import quoted

    if request is None:
        return []
    return [f"Verify next: {quoted(tasks, 10)} (a stratified random sample; --ask-out writes it)."]


@command(
    "LABELS.csv --predictions PROBS.csv --folds 10", TABLE,
    predictions=option("Predicted probabilities: a column task and one for each class.", ..., Path),
    fit_on=option("Table with a column task: samples to fit on; the others are tested.", kind=Path),
    folds=option("Without --fit-on: number of cross-fitting folds.", 5),
    method=option("alpha, temperature, vector, matrix or dirichlet.", "alpha"),
    bins=option("Number of bins of equal width for calibration losses.", 15),
    merge_bins=option("Merge bins until each has two samples.", False),
    drop=option("Leave out samples with one label from losses that need two.", False),
    **shared("common_only"),
    out=written("Write the calibrated probabilities to this table.", True),
)  # fmt: skip
def calibrate(args: Any) -> None:
    """Calibrate a classifier's probabilities to labels that disagree; show losses before and after."""
    from jtruth.cli.reading import Tables, with_notes
    from jtruth.evaluation.calibration import evaluate_calibration
    from jtruth.histograms import MergedBins
    from jtruth.io import read_scores

    tables = Tables(args, args.predictions, args.fit_on)
    labels, (table, task) = tables.labels, tables.keyed(args.predictions)
    read = read_scores(table, labels, task=task, common_only=args.common_only)
    if read.probabilities is None:
        names = ", ".join(f"p_{name}" for name in labels.class_names)
        raise ValueError(f"{args.predictions.name} has no class probabilities: it needs the columns {names}")
    bins = MergedBins(args.bins) if args.merge_bins else args.bins
    labels = labels if read.samples.size == labels.num_samples else labels.restrict(read.samples)
    tables.labels = labels
    report = evaluate_calibration(
        read.probabilities, labels, method=args.method, split=_split(args, tables), bins=bins,
        level=args.level, drop=args.drop, key=args.seed,
    )  # fmt: skip
    if args.out is not None:
        write_table(args.out, *report.rows())
    step = next_step(args, "--out calibrated.csv", "write the calibrated probabilities")
    give(args, with_notes(report, (*labels.notes, *read.notes)), "" if args.out is not None else step)


def _split(args: Any, tables: Any) -> Any:
    """Mask of the samples that a file names; without one the number of folds."""
    import numpy as np

    from jtruth._validation.words import number_of, quoted

    if args.fit_on is None:
        return args.folds
    table, task = tables.keyed(args.fit_on)
    (chosen,) = table.pick({"task": task})
    labels = tables.labels
    tasks = list(map(str, labels.task_names))
    unknown = sorted(set(chosen) - set(tasks))
    if unknown:
        name = args.fit_on.name
        raise ValueError(
            f"{name}: {number_of(len(unknown), 'task has', 'tasks have')} no labels here ({quoted(unknown)})"
        )
    return np.isin(tasks, list(chosen))


_READ = ("task", "worker", "label", "labelers", "sep", "classes", "repeats", "map", "plan_file", "abstain")


@command(
    "COMPARISONS.csv --gold column:human", DRAWS,
    {name: LABELS[name] for name in _READ}, OUTPUT,
    file=argument("COMPARISONS.csv", "Columns question, model_a, model_b, winner, judge; or - for a pipe."),
    gold=option("Verified preferences: column:NAME, worker:NAME, or a table question, winner."),
    systems=option("Columns of the two systems: a,b."),
    order=option("Column that says which answer was shown first, or whether they were swapped."),
    correct=option("Correct strengths for the judges' error rates.", False),
    assume=option("independent: errors are independent (narrow, often wrong)."),
    **shared("labelers_are"),
    ask=option("Number of random comparisons that --ask-out writes.", 30),
    ask_out=written("Write comparisons for people to decide; fill in winners and use it as --gold.", True),
)  # fmt: skip
def preferences(args: Any) -> None:
    """Show which system is preferred: win rates, position bias, strengths and ranks."""
    from jtruth._random import host_rng
    from jtruth.cli.reading import new_file
    from jtruth.io.cells import typed_map, typed_names
    from jtruth.io.plan import FilePlan
    from jtruth.pairwise import preferences
    from jtruth.pairwise.reading import VERIFIED, to_verify

    def names(text: str | None) -> list[str]:
        return typed_names([text] if text else ())

    plan = FilePlan.asked(
        args.plan_file, task=names(args.task), worker=args.worker, label=args.label,
        labelers=names(args.labelers), classes=typed_names(args.classes or ()), abstain=names(args.abstain),
        map=typed_map(args.map) if args.map else None, repeats=args.repeats,
    )  # fmt: skip
    answer = preferences(
        args.file, gold=args.gold, assume=args.assume, labelers_are=args.labelers_are, level=args.level,
        correct=args.correct or None, key=args.seed, systems=names(args.systems), order=args.order, plan=plan,
        sep=args.sep,
    )  # fmt: skip
    found = answer.comparisons
    if args.ask_out is not None:
        chance = host_rng(args.seed, "comparisons to verify")
        write_table(args.ask_out, VERIFIED, to_verify(found, args.ask, chance))
    path = new_file("to_verify.csv")
    step = next_step(args, f"--ask 30 --ask-out {path}", "fill in column 'winner'")
    step += f"\n{next_step(args, f'--gold {path}')}"
    if found.people.startswith("column:"):
        step = next_step(args, f"--gold {shlex.quote(found.people)}", "use what people preferred")
    give(args, answer, "" if args.gold or args.ask_out else step)


_PAIR = "such as 68/1000"


@command(
    "--differ 68/1000 --mislabeling 2/200", DRAWS, OUTPUT,
    differ=option("Predictions that differ from the labels, of all test samples: 68/1000."),
    mislabeling=option("Share of wrong labels, 0.01, or wrong of audited labels, 2/200."),
    called=option("Samples called positive, of all samples: 680/1000."),
    sensitivity=option("Rate, 0.9, or called positive of verified positives, 45/50."),
    specificity=option("Rate, 0.8, or called negative of verified negatives, 40/50."),
    method=option("delta, bootstrap or exact; adjusted (default of --called)."),
)  # fmt: skip
def correct(args: Any) -> None:
    """Correct an error rate, or a share of positives, for known label errors, from counts."""
    from jtruth.lam_stork import estimate_error_rate, rogan_gladen

    method = args.method or ("delta" if args.called is None else "adjusted")
    options: dict[str, Any] = {"method": method, "level": args.level, "key": args.seed}
    if (args.differ is None) == (args.called is None):
        raise ValueError("give --differ and --mislabeling, or --called with --sensitivity and --specificity")
    if args.differ is not None:
        if args.mislabeling is None:
            raise ValueError("--differ needs --mislabeling: a share, 0.01, or counts, 2/200")
        wrong = _known(args.mislabeling, "mislabeling")
        answer = estimate_error_rate(_pair(args.differ, "differ"), mislabeling=wrong, **options)
    else:
        if args.sensitivity is None or args.specificity is None:
            raise ValueError("--called needs the judge's --sensitivity and --specificity")
        answer = rogan_gladen(
            _pair(str(args.called), "called"), sensitivity=_known(args.sensitivity, "sensitivity"),
            specificity=_known(args.specificity, "specificity"), **options,
        )  # fmt: skip
    exact = next_step(args, "--method exact", "use an interval that is never too short")
    give(args, answer, exact if args.method is None else "")


def _pair(text: str, option: str) -> tuple[int, int]:
    some, slash, of = text.partition("/")
    if not (slash and some.strip().isdecimal() and of.strip().isdecimal()):
        raise ValueError(f"--{option} {text!r}: give two counts {_PAIR}")
    return int(some), int(of)


def _known(text: str, option: str) -> float | tuple[int, int]:
    if "/" in text:
        return _pair(text, option)
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--{option} {text!r}: give a rate such as 0.01, or counts {_PAIR}") from None
