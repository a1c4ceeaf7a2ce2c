"""What to do next: which labels to `jtruth ask` for, what to buy (`plan`), what to check (`clean`)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from jtruth._files import write_table
from jtruth.cli.options import (
    EVERY,
    KNOWN_GOLD,
    TABLE_OF_LABELS,
    argument,
    command,
    next_step,
    option,
    refuse,
    shared,
    written,
)
from jtruth.cli.output import give, progress


@command(
    "LABELS.csv --truth --num 30 --out to_verify.csv", EVERY,
    **shared("predictions", "gold", "metric", "positive", "common_only"),
    num=option("Number of labels; with --truth, of samples.", 10),
    truth=option("Choose samples to verify: a stratified random sample.", False),
    level=option("", 0.95, hidden=True),
    out=written("Write the list to this table; with --truth, fill it in and use it as --gold.", True),
)  # fmt: skip
def ask(args: Any) -> None:
    """Choose labels to collect next, or samples to verify (--truth)."""
    if args.predictions is None and not args.truth:
        raise ValueError("the choice of labels depends on the classifier: give --predictions, or say --truth")
    import numpy as np

    from jtruth.answers import Column, Document, Note, Notes, Queue, facts
    from jtruth.cli.reading import Tables

    tables, y_pred, notes = Tables(args, args.predictions, args.gold), None, ()
    if args.predictions is not None:
        y_pred, notes = tables.predictions(args.predictions)
        y_pred = np.asarray(y_pred)
    labels = tables.labels
    head, header, rows, doubts = (_truths if args.truth else _labels)(args, tables, y_pred)
    notes = tuple(dict.fromkeys((*labels.notes, *notes)))
    doubts = [text for text in doubts if text not in notes]
    items = [Note("read" if text in notes else "warn", text) for text in (*notes, *doubts)]
    listed = [dict(zip(header, row, strict=True)) for row in rows]
    forms = {"drop": ".3f"}
    columns = tuple(Column(one, one.replace("_", " "), form=forms.get(one, ".4g")) for one in header[1:])
    blocks = (
        Queue("", "What to ask for", header[0], columns, listed, head="sample"),
        Notes("warnings", "Warnings", items),
        facts(metric=args.metric, target="in-sample", columns=header, rows=rows),
    )  # fmt: skip
    step = "" if args.out is not None else next_step(args, "--out ask.csv", "write the list to a table")
    about = f"{len(rows)} of {labels.num_samples} samples"
    give(args, Document("What to ask for next?", about, head, blocks), step)


def _labels(args: Any, tables: Any, y_pred: Any) -> tuple[str, list, list, Any]:
    """What is asked for, its columns, rows (task, worker, drop), and doubts; writes the table."""
    from jtruth.asking.labels import IF_INDEPENDENT, Aim, next_labels
    from jtruth.cli.reading import class_code

    labels, gold = tables.labels, tables.gold()
    aim = Aim(args.metric, class_code(args.positive, labels))
    chosen = next_labels(labels, y_pred, args.num, key=args.seed, aim=aim, gold=gold)
    tasks, names = list(map(str, labels.task_names)), labels.worker_names
    header = ["task", "worker", "drop"]
    rows = [[tasks[i], str(names[t]), float(d / chosen.variance)]
            for i, t, d in zip(chosen.samples, chosen.labelers, chosen.drop, strict=True)]  # fmt: skip
    if args.out is not None:
        write_table(args.out, header, rows)
    head = (
        f"{IF_INDEPENDENT}, {args.metric} for these samples has standard deviation "
        f"{100 * chosen.variance**0.5:.2g} points. The column drop is the expected relative reduction of its "
        "variance by each label. `jtruth evaluate` does not assume independence: verified labels (--truth) "
        "narrow its interval."
    )
    return head, header, rows, chosen.warnings


def _truths(args: Any, tables: Any, y_pred: Any) -> tuple[str, list, list, Any]:
    """The same with rows (task, stratum, its size)."""
    from jtruth.asking import ask_next

    gold = tables.gold_sample()
    request = ask_next(tables.labels, args.num, y_pred=y_pred, gold=gold, key=args.seed)
    header, rows = tables.to_verify(request, gold)
    if args.out is not None:
        write_table(args.out, header, rows)
    head = (
        f"Verify these {args.num} samples in this order: they are a random sample, stratified by prediction "
        f"and vote. Fill in column {header[1]!r} of the table that --out writes, and use it as --gold."
    )
    shown = [[row[0], *row[2:]] for row in rows[: args.num]]
    return head, [header[0], *header[2:]], shown, () if gold is None else getattr(gold.classes, "notes", ())


@command(
    "LABELS.csv --gold GOLD.csv --cost-gold 5", EVERY,
    file=argument("[LABELS.csv]", f"Optional. {TABLE_OF_LABELS}", None),
    **KNOWN_GOLD, **shared("prior", "positive", "assume", "labelers_are"),
    predictions=option("Predictions to grade: task, label; or column:NAME of LABELS.", kind=Path),
    metric=option("prevalence, accuracy, precision, recall or f1."),
    width=option("Find the cheapest plan with an interval this narrow.", kind=float),
    budget=option("Find the best plan at this cost.", kind=float),
    classifier=option("Guessed accuracy, .9; or detection and false-alarm rates, .85,.1", "0.9"),
    rates=option("Error rates are learned (from the same labels) or known.", "learned"),
    target=option("population, or in-sample (--samples).", "population"),
    labeler=option("Kind of labeler, name:error:cost[:people]; repeat for each kind.", kind=list[str]),
    cost_label=option("Cost of a label.", 1.0),
    cost_sample=option("Cost of a sample without labels.", 0.0),
    cost_gold=option("Cost of a verified label; none are bought if unset.", float("inf")),
    samples=option("Fix the number of samples.", kind=int),
    max_samples=option("Number of samples available.", 100_000),
    sets=option("Number of data sets to simulate for a plan.", kind=int),
)  # fmt: skip
def plan(args: Any) -> None:
    """Show how more labels or verified labels would narrow the interval, or find the cheapest plan."""
    from jtruth.cli.reading import Tables, class_code, numbers
    from jtruth.planning import best_plan, read_setting

    if args.file is not None and args.width is args.budget is None:
        return _more(args)
    idle = {f"--{name}": getattr(args, name) for name in ("predictions", "assume")}
    idle |= {"--gold": args.gold if args.file is None else None}
    refuse(idle, "needs a file of labels, without --width and --budget")
    tables = None if args.file is None else Tables(args, args.gold)
    labels, gold = (None, None) if tables is None else (tables.labels, tables.gold())
    positive = class_code(args.positive, labels)
    setting = read_setting(
        args.labeler or (), labels, gold=gold, key=args.seed, prior=numbers(args.prior),
        classifier=args.classifier, cost_label=args.cost_label, positive=positive,
        metric=args.metric or "accuracy",
        rates=args.rates, target=args.target, level=args.level, cost_sample=args.cost_sample,
        cost_gold=args.cost_gold,
    )  # fmt: skip
    with progress("sets") as advance:
        search = best_plan(
            setting, width=args.width, budget=args.budget, key=args.seed, num_samples=args.samples,
            max_samples=args.max_samples, num_sets=args.sets, progress=advance,
        )  # fmt: skip
    give(args, search, _priced(args, tables, "replace 1 by the cost of a verified label"))


def _priced(args: Any, tables: Any, why: str) -> str:
    """The next command: with the file's own gold, or else with a price of gold."""
    from jtruth.io.apply import found_beside

    if tables is not None and args.gold is None and found_beside(tables.rows, tables.plan).get("gold"):
        return tables.gold_step()
    return next_step(args, "--cost-gold 1", why) if args.cost_gold == float("inf") else ""


def _more(args: Any) -> None:
    """Widths now, and with more labels or gold, from the labels there are."""
    from jtruth.cli.reading import Tables, class_code, with_notes
    from jtruth.planning import Offer, more_data
    from jtruth.planning.settings import guessed_classifier

    idle = {f"--{name}": getattr(args, name) for name in ("labeler", "prior", "samples")}
    refuse(idle, "needs --width or --budget: otherwise labelers and classes come from the file")
    tables = Tables(args, args.gold, args.predictions)
    y_pred = None if args.predictions is None else tables.predictions(args.predictions)[0]
    labels, gold = tables.labels, tables.gold()
    metric = args.metric or ("prevalence" if y_pred is None else "accuracy")
    if y_pred is None and metric != "prevalence":
        y_pred = guessed_classifier(args.classifier, labels.num_classes, class_code(args.positive, labels))
    asked = {name: getattr(args, name) for name in ("assume", "labelers_are", "target", "level", "positive")}
    with progress("answers") as advance:
        found = more_data(
            labels, gold, y_pred=y_pred, metric=metric,
            offer=Offer(cost_label=args.cost_label, cost_gold=args.cost_gold),
            key=args.seed, num_sets=args.sets, progress=advance, **asked,
        )  # fmt: skip
    known = 0 if gold is None else int((gold >= 0).sum())
    best = min((row for row in found.rows if row["width"]), key=lambda row: row["width"], default=None)
    step = _priced(args, tables, "replace 1 by the cost of a verified label")
    if best and best["num_gold"] and best["cost"] is None:
        step = tables.gold_step(known=known) or step
    give(args, with_notes(found, labels.notes), step)


def _numeric(tables: Any, *used: str | None) -> list[str]:
    """Columns of numbers in the file of labels that have no role there and are not used otherwise."""
    from jtruth.io.columns import Columns, role_of

    plan, columns = tables.plan, Columns(tables.opened.table)
    taken = {plan.worker, plan.label, *(plan.labelers or ()), *(plan.task or ()), *used}
    free = (name for name in columns.header if name not in taken and role_of(name) is None)
    return [name for name in free if columns.numbers(name) is not None and not columns.counts_rows(name)]


def _features(tables: Any, path: Path) -> Any:
    """Columns of numbers of a table beside the labels, or of their own file but for what is used there."""
    from jtruth.cli.reading import column_of
    from jtruth.io import read_features

    args = tables.args
    table, task = tables.keyed(path, args.pred_task)
    if path == args.file:
        used = [column_of(one) for one in (args.gold, args.predictions)]
        kept = [task, *_numeric(tables, *tables.plan.roles, *used, task)]
        columns = [table.columns[table.header.index(name)] for name in kept]
        table = table._replace(header=tuple(kept), columns=columns)
    return read_features(table, tables.labels, task=task)


@command(
    "LABELS.csv --budget 100 --out suspicious.csv", EVERY,
    features=option("Table with a column task and numeric features.", kind=Path),
    predictions=option("Class probabilities of a model that was not trained on these labels.", kind=Path),
    budget=option("Number of labels to check.", 50),
    strategy=option("With --features: risk (largest expected reduction of the loss), masked_tars, or "
                    "wrong_label.  [default: risk; wrong_label with one label per sample]"),
    costs=option("With --features: table task, cost: what a check costs.", kind=Path),
    state=written("With --features: progress file; rerun with it to continue."),
    gold=option("Verified labels of random samples, for the number of wrong labels. With --features: the "
                "answers to its queue.", kind=Path),
    common_only=KNOWN_GOLD["common_only"],
    **shared("noise", "prior"),
    out=written("Write LABELS with a suggested label, its probability and a rank in each row.", True),
)  # fmt: skip
def clean(args: Any) -> None:
    """Rank labels to check: likely wrong ones or, with --features, those that hurt a model most."""
    if args.gold is not None and args.features is not None and args.state is None:
        raise ValueError("--gold continues a queue: give its --state file too")
    from jtruth.answers import Note, Notes
    from jtruth.cleaning.request import begin, believed, issues, queue
    from jtruth.cleaning.state import read_state
    from jtruth.cli import reading
    from jtruth.io import read_scores
    from jtruth.io.plan import TRANSPOSED

    files = args.gold, args.features, args.predictions, args.costs, args.noise
    tables = reading.Tables(args, *files)
    labels, (noise, prior) = tables.labels, tables.noise()
    if args.out is not None and tables.plan.layout == TRANSPOSED:
        raise ValueError("--out needs rows that are samples, but the rows of this file are labelers")
    alone = tables.plan.layout == "one label each" and args.predictions is args.noise is args.features is None
    if alone and len(beside := _numeric(tables)) > 1:
        args.features, note = args.file, f"{len(beside)} numeric columns of the file are used as features."
        labels = replace(labels, notes=(*labels.notes, note))
    features, costs = (None if one is None else _features(tables, one) for one in (args.features, args.costs))
    probabilities: Any = None
    if args.predictions is not None:
        predicted, task = tables.keyed(args.predictions, args.pred_task)
        probabilities = read_scores(predicted, labels, task=task, common_only=None).probabilities
        if probabilities is None:
            raise ValueError(f"{args.predictions} has no column of probabilities for each class")
    # Answers to a queue are no random sample, so how they were chosen has a say only without one.
    answers = tables.gold() if args.features is not None else tables.gold_sample()
    if args.features is None:
        if args.budget > labels.num_labels:
            raise ValueError(f"--budget {args.budget} exceeds the number of labels, {labels.num_labels}")
        found, doubts = issues(labels, noise, prior, probabilities=probabilities, gold=answers,
                               level=args.level, seed=args.seed)  # fmt: skip
        document, posterior = found.screen(args.budget, doubts), found.class_posterior
        order = zip(found.sample.tolist(), found.labeler.tolist(), strict=True)
        step = "" if args.gold is not None else tables.gold_step()
    else:
        how: Any = {"strategy": args.strategy, "level": args.level, "seed": args.seed, "costs": costs}
        state, doubts, wrong = begin(labels, (noise, prior), features, probabilities=probabilities, **how)
        document = queue(state, args.budget, gold=answers, path=args.state, notes=doubts, wrong=wrong)
        posterior = believed(state if args.state is None else read_state(args.state, state), wrong)
        place = {task: i for i, task in enumerate(state.task_names)}
        order = ((place[row["task"]], -1) for row in document.tables()[0].rows)
        why = "store the queue, then add the answers with --gold"
        step = "" if args.state is not None else next_step(args, "--state cleaning.state", why)
    notes = [Note("read", text) for text in labels.notes]
    if args.out is not None:
        said = _write_cleaned(tables, args.features is not None, posterior, order)
        notes.append(Note("read", said))
    give(args, document.more(Notes("notes", "How the file was read", notes)), step)


_SUGGESTED = ("suggested_label", "probability", "rank")


def _write_cleaned(tables: Any, by_sample: bool, posterior: Any, order: Any) -> str:
    """Write the user's table, as it is, with what is suggested beside it; what is to be said of that."""
    import numpy as np

    from jtruth.cleaning.request import suggestions
    from jtruth.io.apply import places_of

    table, labels, path = tables.opened.table, tables.labels, tables.args.out
    sample, labeler = places_of(table, tables.plan, labels)
    if labeler is None or by_sample:
        labeler = -np.ones_like(sample)
    else:
        sample = np.where(labeler < 0, -1, sample)  # somebody who is no labeler
    found = suggestions(labels, posterior, order, zip(sample.tolist(), labeler.tolist(), strict=True))
    names, k = _SUGGESTED, 1
    while set(names) & set(table.header):
        k, names = k + 1, tuple(f"{name}_{k + 1}" for name in _SUGGESTED)
    own = len(table.header) * (not table.escaped)
    rows = ((*row, *new) for row, new in zip(zip(*table.columns, strict=True), found, strict=True))
    write_table(path, (*table.header, *names), rows, own)
    taken = ", since the usual names are taken" if k > 1 else ""
    return f"{path} was written with the new columns {', '.join(names)}{taken}."
