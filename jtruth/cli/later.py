"""What to do next: which labels to `jtruth ask` for, what to buy (`plan`), what to check (`clean`)."""

from pathlib import Path
from typing import Any

from jtruth._files import write_table
from jtruth.cli.options import EVERY, KNOWN_GOLD, TABLE, argument, command, next_step, option, shared, written
from jtruth.cli.output import give, progress


@command(
    "LABELS.csv --predictions PRED.csv --metric precision", EVERY,
    predictions=option("The classifier: a table task, label; or column:NAME.", ..., Path),
    gold=option("Labels known to be true, if there are some.", kind=Path),
    **shared("metric", "positive", "common_only"),
    num=option("How many answers to ask for.", 10),
    truth=option("Ask for true classes (gold), by chances that are written down.", False),
    stratified=option("With --truth: in strata of prediction and margin of the labels.", False),
    out=written("Write what to ask to this table."),
    inclusion=written("With --truth: write a row of every task; --gold if you ask again."),
)  # fmt: skip
def ask(args: Any) -> None:
    """Which labels of whom, or (--truth) which true classes, to ask for next."""
    if args.inclusion is not None and not args.truth:
        raise ValueError("--inclusion holds the chances of asking for true classes: say --truth too")
    if args.stratified and not args.truth:
        raise ValueError("--stratified is about asking for true classes: say --truth too")
    for name, value in (("--gold", args.gold), ("--inclusion", args.inclusion)):
        if args.stratified and value is not None:
            raise ValueError(
                f"--stratified asks once, and its --out has a row of every task: leave {name} out; to "
                "ask again and again leave --stratified out instead"
            )
    import numpy as np

    from jtruth.answers import Column, Document, Note, Notes, Queue, facts
    from jtruth.cli.reading import Tables

    tables = Tables(args, args.predictions, args.gold)
    y_pred, notes = tables.predictions(args.predictions)
    labels = tables.labels
    head, header, rows, doubts = (_truths if args.truth else _labels)(args, tables, np.asarray(y_pred))
    notes = tuple(dict.fromkeys((*labels.notes, *notes)))
    doubts = [text for text in doubts if text not in notes]
    items = [Note("read" if text in notes else "warn", text) for text in (*notes, *doubts)]
    listed = [dict(zip(header, row, strict=True)) for row in rows]
    columns = tuple(Column(name, name, form=".4g") for name in header[1:])
    blocks = (
        Queue("", "Ask for these", "task", columns, listed),
        Notes("warnings", "Warnings", items),
        facts(metric=args.metric, columns=header, rows=rows),
    )  # fmt: skip
    step = "" if args.out is not None else next_step(args, "--out ask.csv", "write them to a table")
    about = f"{len(rows)} of {labels.num_samples} tasks"
    give(args, Document("What to ask next?", about, head, blocks), step)


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
        f"{IF_INDEPENDENT}, {args.metric} has standard deviation {chosen.variance**0.5:.4f}, and each label "
        "should remove the share `drop` of its variance. `jtruth evaluate` does not assume this, so its "
        "interval is wider; verified labels narrow that one (--truth)."
    )
    return head, header, rows, chosen.warnings


def _truths(args: Any, tables: Any, y_pred: Any) -> tuple[str, list, list, Any]:
    """The same with a row (task, inclusion) or, in strata, (task, stratum); writes the tables."""
    import numpy as np

    from jtruth.asking.gold import ask_next, ask_strata
    from jtruth.cli.reading import class_code
    from jtruth.evaluation.gold.tables import labels_only_posterior
    from jtruth.io.gold import ASKED, INCLUSION, STRATUM, Gold

    labels, old = tables.labels, tables.gold_sample()
    known = np.full(labels.num_samples, -1) if old is None else np.asarray(old.classes)
    posterior, doubts = labels_only_posterior(labels, args.seed)
    how: dict[str, Any] = {
        "key": args.seed,
        "metric": args.metric,
        "classes": tuple(map(str, labels.class_names)),
        "positive": class_code(args.positive, labels),
    }
    names = [str(labels.class_names[c]) if c >= 0 else "" for c in known]
    header = [args.gold_task or args.task, args.gold_label or args.label, INCLUSION]
    head = f"Find out the truth of these {args.num}, all of them, and fill in column {header[1]} of the "
    if args.stratified:
        wanted = ask_strata(y_pred, posterior, args.num, **how)
        asked = np.isin(np.arange(labels.num_samples), wanted.samples)
        others, column = np.flatnonzero(~asked), 3
        more = [
            [wanted.names[k], "yes" if on else "no"]
            for k, on in zip(np.asarray(wanted.strata), asked, strict=True)
        ]
        header += [STRATUM, ASKED]
        head += (
            "first rows that --out writes (asked: yes): the table is the --gold of `jtruth evaluate`. Leave "
            "its other rows as they are, they say how large strata are. Inside a stratum gold is a random "
            "sample, and its column stratum says so."
        )
    else:
        wanted = ask_next(y_pred, posterior, Gold(known, _before(old)), args.num, **how)
        others, column, more = np.flatnonzero(known >= 0), 2, [[]] * labels.num_samples
        head += (
            "table that --out writes: it is the --gold of `jtruth evaluate`. They are no simple random "
            "sample, and its column inclusion says so."
        )
    parts = zip(map(str, labels.task_names), names, map(float, wanted.inclusion), more, strict=True)
    every = [[task, name, chance, *rest] for task, name, chance, rest in parts]
    for path, samples in ((args.out, [*wanted.samples, *others]), (args.inclusion, range(len(every)))):
        if path is not None:
            write_table(path, header, [every[i] for i in samples])
    doubts = (*getattr(old.classes, "notes", ()), *doubts) if old is not None else doubts
    return head, ["task", header[column]], [[every[i][0], every[i][column]] for i in wanted.samples], doubts


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


@command(
    "--width 0.05 --labeler crowd:0.2:0.05:5 --prior .7,.3", TABLE,
    file=argument("[LABELS.csv]", "Labels to learn the labelers from.", None),
    width=option("How wide the interval may be.", kind=float),
    budget=option("Or: what may be spent.", kind=float),
    **shared("metric", "prior", "positive"),
    classifier=option("Guessed accuracy, .9; or detection and false alarms, .85,.1", "0.9"),
    rates=option("learned (from the same labels, default) or known error rates.", "learned"),
    target=option("population, or in-sample (--samples).", "population"),
    labeler=option("name:error:cost[:people]; again for every kind. File: name::cost.", kind=list[str]),
    cost_label=option("Of a label by the file's people.", 1.0),
    cost_sample=option("Of a sample without labels.", 0.0),
    cost_gold=option("Of a gold answer; no gold if unset.", float("inf")),
    samples=option("Fix the number of samples.", kind=int),
    max_samples=option("How many there are.", 100_000),
    sets=option("Data sets that a plan is simulated in.", kind=int),
)  # fmt: skip
def plan(args: Any) -> None:
    """The cheapest number of samples, labels and gold answers for an interval of a given width."""
    from jtruth.cli.reading import class_code, labels_of, numbers
    from jtruth.planning import best_plan, read_setting

    labels = None if args.file is None else labels_of(args.file, args)
    positive = class_code(args.positive, labels)
    setting = read_setting(
        args.labeler or (), labels, key=args.seed, prior=numbers(args.prior),
        classifier=args.classifier, cost_label=args.cost_label, metric=args.metric, positive=positive,
        rates=args.rates, target=args.target, level=args.level, cost_sample=args.cost_sample,
        cost_gold=args.cost_gold,
    )  # fmt: skip
    with progress("sets") as advance:
        search = best_plan(
            setting, width=args.width, budget=args.budget, key=args.seed, num_samples=args.samples,
            max_samples=args.max_samples, num_sets=args.sets, progress=advance,
        )  # fmt: skip
    step = next_step(args, "--cost-gold 1", "what answers of an expert at that price would save")
    give(args, search, step if args.cost_gold == float("inf") else "")


@command(
    "LABELS.csv --features X.csv --noise psi.json --state queue.state", EVERY,
    features=option("Table with a column task and numbers: which label helps a model most.", kind=Path),
    predictions=option("Table task and a probability column for each class, of a "
        "model that did not see these labels; beside --features: which answers to expect.", kind=Path),
    budget=option("How many labels to ask about.", 50),
    strategy=option("risk, masked_tars, ...; of one label a task: wrong_label."),
    costs=option("Table with columns task, cost.", kind=Path),
    state=written("File that remembers what was asked."),
    gold=option("Table task, label: the expert's answers; without --features true classes of tasks chosen "
        "at random (or a column inclusion or stratum), which say how many labels are wrong.", kind=Path),
    common_only=KNOWN_GOLD["common_only"],
    **shared("noise", "prior"),
)  # fmt: skip
def clean(args: Any) -> None:
    """Which labels should an expert check? With features those that help a model, else label issues."""
    if args.gold is not None and args.features is not None and args.state is None:
        raise ValueError("--gold continues a queue: give the --state file it was asked with")
    from jtruth.answers import Note, Notes
    from jtruth.cleaning.request import begin, issues, queue
    from jtruth.cli import reading
    from jtruth.io import read_features, read_scores

    files = args.gold, args.features, args.predictions, args.costs, args.noise
    tables = reading.Tables(args, *files)
    labels, (noise, prior) = tables.labels, tables.noise()
    features, costs = (
        None if one is None else read_features(reading.table_of(one, args), labels, task=args.task)
        for one in (args.features, args.costs)
    )
    probabilities: Any = None
    if args.predictions is not None:
        table = reading.table_of(args.predictions, args)
        probabilities = read_scores(table, labels, task=args.task, common_only=None).probabilities
        if probabilities is None:
            raise ValueError(f"{args.predictions} has no column of probabilities for each class")
    # Answers to a queue are no random sample, so how they were chosen has a say only without one.
    answers = tables.gold() if args.features is not None else tables.gold_sample()
    if args.features is None:
        document = issues(labels, noise, prior, probabilities=probabilities, gold=answers,
                       budget=args.budget, level=args.level, seed=args.seed)  # fmt: skip
        more, why = "--gold GOLD.csv", f"columns {args.task}, {args.label}: how many are wrong"
        step = "" if args.gold is not None else next_step(args, more, why)
    else:
        how: dict[str, Any] = {
            "strategy": args.strategy,
            "level": args.level,
            "seed": args.seed,
            "costs": costs,
        }
        state, doubts, wrong = begin(labels, (noise, prior), features, probabilities=probabilities, **how)
        document = queue(state, args.budget, gold=answers, path=args.state, notes=doubts, wrong=wrong)
        why = "remember what was asked; answers come as --gold"
        step = "" if args.state is not None else next_step(args, "--state cleaning.state", why)
    notes = [Note("read", text) for text in labels.notes]
    give(args, document.more(Notes("notes", "How it was read", notes)), step)
