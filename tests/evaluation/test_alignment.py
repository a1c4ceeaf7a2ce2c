"""Orders, codings and containers of user data: the right answer or an error, never a silent wrong one.

One data set is passed in many ways. The answer of each must be that of the arrays aligned by hand, to
rounding, or a ValueError that names the problem. A plain sequence in another order has the same shape; there
the answer begins with a doubt, and a warning names the ids it was matched with.
"""

from datetime import UTC, datetime, time

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import jtruth as jt
from jtruth.asking import next_labels
from jtruth.evaluation import consensus, inputs, labeler_agreement, prevalence, quick_labelers
from jtruth.evaluation.inputs import read_order
from jtruth.inspection import inspect_labels
from jtruth.io.gold import Gold
from jtruth.learning import fit_dawid_skene, fit_nuts

pytestmark = pytest.mark.usefixtures("few_lineages")

SIZE = 300
NAMES = np.array(["reject", "accept"])


def truth_and_matrix(seed=0, labelers=5):
    """True classes, labels with a third of them missing (NaN), and predictions right in 86 %."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, SIZE)
    z = np.where(rng.random((SIZE, labelers)) < 0.2, 1 - y[:, None], y[:, None]).astype(float)
    z[rng.random(z.shape) < 0.35] = np.nan
    z[np.isnan(z).all(axis=1), 0] = 1
    return y, z, np.where(rng.random(SIZE) < 0.877, y, 1 - y)


Y, Z, PRED = truth_and_matrix()
IDS = np.array([f"q{k}" for k in np.random.default_rng(1).permutation(1000)[:SIZE]])
WIDE = pd.DataFrame(Z, index=IDS, columns=list("abcde"))
KNOWN = {"noise": jt.noise.Symmetric(0.2, 2), "prior": [0.5, 0.5]}


def melted(ids=IDS, names=None, order=None):
    """One label per row as `melt` and `dropna` give them: all labels of the first worker, then the next."""
    long = WIDE.set_axis(ids).rename_axis("task").reset_index()
    long = long.melt("task", var_name="worker", value_name="label").dropna().astype({"label": int})
    long = long if names is None else long.assign(label=np.asarray(names)[long["label"]])
    return long if order is None else long.iloc[np.random.default_rng(order).permutation(len(long))]


LABELS = jt.Labels.from_frame(melted())
NAMED = jt.Labels.from_frame(melted(names=NAMES))
PLAIN = jt.Labels.from_matrix(np.nan_to_num(Z, nan=-1), 2)  # no task has an id
BY_HAND = jt.evaluate(PRED, PLAIN, **KNOWN)


def same(result, other=BY_HAND):
    return result.metrics.keys() == other.metrics.keys() and all(
        result.metrics[m].mean == pytest.approx(other.metrics[m].mean, abs=1e-12) for m in other.metrics
    )


def verdict(result):
    """Of the check whether predictions agree with the labels at all."""
    return next(check.verdict for check in result.checks if check.name == "better than chance")


def first_line(result):
    return str(result).splitlines()[0]


# The four rows of wrong answers, as they were: (labels, y_pred).
def test_melted_table_with_predictions_in_the_order_of_the_file():
    assert LABELS.inferred == ("tasks",) and LABELS.tasks != tuple(IDS)
    wrong = jt.evaluate(PRED, LABELS, assume="independent")
    assert abs(wrong.accuracy.mean - 0.5) < 0.1, "the order is really another one"
    assert "no better than chance" in first_line(wrong) and "are the order of y_pred" in first_line(wrong)
    ids = ", ".join(map(repr, LABELS.tasks[:3]))
    assert any(f"in the labels ({ids} first)" in text for text in wrong.warnings)
    assert verdict(wrong) == "look first"


def test_melted_table_with_a_series_by_task():
    right = jt.evaluate(pd.Series(PRED, index=IDS), LABELS, **KNOWN)
    assert same(right) and right.warnings == BY_HAND.warnings
    assert first_line(right).startswith("Accuracy") and verdict(right) == "fits"


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        (np.nan_to_num(Z), r"whole numbers; it looks like a label matrix: jt.Labels.from_matrix\(z, 2\)"),
        (jnp.zeros((3, 2), int), "array of int"),
        (WIDE, "from_matrix"),
        (pl.DataFrame({"a": [0.1, 0.2], "b": [0.3, 0.1]}), "from_matrix"),
        (pa.table({"a": [0.1, 0.2], "b": [0.3, 0.1]}), "from_matrix"),
        (melted(), "from_frame"),
        (pd.Series([0.5, 0.5]), "Series"),
        ("labels.csv", "jt.read_labels"),
        ({"a": [0, 1]}, "no site 'class_posterior'.*they have a. Give the MCMC"),
        (None, "labels is None: give labels"),
        ([[0.1, 0.2], [0.3]], "different lengths"),
        (np.full((SIZE, 2), -np.inf), "impossible under every class"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_is_no_log_likelihood_is_never_read_as_one(as_installed, given, advice):
    with pytest.raises(ValueError, match=advice):
        jt.evaluate(PRED, given)
    if not isinstance(given, list) and not np.issubdtype(getattr(given, "dtype", int), np.floating):
        for function in (jt.prevalence, jt.evaluate_labelers):
            with pytest.raises(ValueError, match="labels is a"):
                function(given)


@pytest.mark.parametrize("kind", ["codes", "NaN", "-1.0", "list", "names", "bool", "jax"])
def test_a_plain_label_matrix_is_read_as_labels(as_installed, kind):
    codes = np.nan_to_num(Z, nan=-1).astype(int)
    full = np.abs(codes)
    given, means, options = {
        "codes": (codes, codes, {}),
        "NaN": (Z, codes, {}),
        "-1.0": (codes.astype(float), codes, {}),
        "list": (full.tolist(), full, {}),
        "names": (np.array(["no", "yes"])[full], full, {"classes": ["no", "yes"]}),
        "bool": (full.astype(bool), full, {}),
        "jax": (jnp.asarray(codes), codes, {}),
    }[kind]
    predicted = np.array(["no", "yes"])[PRED] if options else PRED
    answer = jt.evaluate(predicted, given, **options, **KNOWN)
    wanted = jt.evaluate(PRED, jt.Labels.from_matrix(means, 2), **KNOWN)
    assert answer.accuracy.mean == wanted.accuracy.mean and answer.recall.mean == wanted.recall.mean
    assert jt.prevalence(given).num_labelers == means.shape[1]
    with pytest.raises(ValueError, match="these Labels have their own"):
        jt.evaluate(PRED, jt.Labels.from_matrix(means, 2), classes=["no", "yes"])


def test_wholly_negative_or_certain_whole_numbers_are_a_log_likelihood():
    """Certain labelers make rows of 0 and -inf: whole numbers, and no label matrix."""
    certain = np.where(Y[:, None] == np.arange(2), 0.0, -np.inf)
    assert jt.evaluate(PRED, certain, prior=[0.5, 0.5]).accuracy.mean == pytest.approx(np.mean(Y == PRED))


SAME = {
    "array": PRED, "list": PRED.tolist(), "bool": PRED.astype(bool), "float": PRED.astype(float),
    "object": PRED.astype(object), "Series": pd.Series(PRED, index=IDS),
    "dict": dict(zip(IDS.tolist(), PRED.tolist(), strict=True)), "polars": pl.Series(PRED),
    "text": PRED.astype(str),
}  # fmt: skip


@pytest.mark.parametrize("y_pred", SAME.values(), ids=SAME)
def test_numbers_for_named_classes_are_refused(y_pred):
    with pytest.raises(ValueError, match=r"their order is unknown.*classes="):
        jt.evaluate(y_pred, NAMED, **KNOWN)
    with pytest.raises(ValueError, match=r"gold\[.*their order is unknown"):
        jt.evaluate(pd.Series(NAMES[PRED], index=IDS), NAMED, gold=y_pred, **KNOWN)


@pytest.mark.slow
def test_numbers_are_codes_once_the_order_of_the_classes_is_said():
    said = jt.Labels.from_frame(melted(names=NAMES), classes=list(NAMES))
    for y_pred in (PRED, PRED.astype(bool), PRED.astype(float), NAMES[PRED]):
        assert same(jt.evaluate(pd.Series(y_pred, index=IDS), said, **KNOWN))
    named = NAMED.with_names(classes=NAMED.classes)
    assert same(jt.evaluate(pd.Series(1 - PRED, index=IDS), named, positive="reject", **KNOWN), flipped())


def flipped():
    return jt.evaluate(1 - PRED, jt.Labels.from_matrix(np.nan_to_num(1 - Z, nan=-1), 2), **KNOWN)


FRAME = pd.DataFrame({"task": IDS, "guess": PRED})
SHUFFLED = FRAME.sample(frac=1, random_state=0)
BY_TASK = SHUFFLED.set_index("task")["guess"]
THOUSANDS = range(1000, SIZE + 1000)
CATEGORIES = pd.Series(pd.Categorical(NAMES[PRED], categories=["accept", "reject"]), index=IDS)
RIGHT = [  # predictions, and the labels if others: each must give the answer of the arrays aligned by hand
    (dict(zip(IDS.tolist(), PRED.tolist(), strict=True)),),
    (dict(reversed(list(zip(IDS.tolist(), PRED.tolist(), strict=True)))),),
    (dict(zip(IDS, PRED, strict=True)),),
    (pd.Series(PRED, index=IDS),),
    (BY_TASK,),
    (pd.Series(PRED, index=IDS, dtype="Int64"),),
    (pd.Series(PRED, index=IDS, dtype=float),),
    (pd.Series(PRED.astype(bool), index=IDS),),
    (pd.Series(PRED.astype(object), index=IDS),),
    (pd.Series(PRED.astype(str), index=IDS),),
    (pd.Series(PRED, index=pd.CategoricalIndex(IDS)),),
    (pd.Series(PRED, index=IDS, dtype="int8[pyarrow]"),),
    (SHUFFLED.set_index("task"),),
    (SHUFFLED,),
    (pl.DataFrame(SHUFFLED),),
    (pl.DataFrame(SHUFFLED).lazy(),),
    (pa.Table.from_pandas(SHUFFLED, preserve_index=False),),
    (CATEGORIES, NAMED),
    (pd.Series(NAMES[PRED].astype(object), index=IDS), NAMED),
    (pd.Series(NAMES[PRED], index=IDS, dtype="string"), NAMED),
    (pl.DataFrame({"task": IDS, "p": pl.Series(NAMES[PRED]).cast(pl.Categorical)}), NAMED),
    (SHUFFLED, jt.Labels.from_frame(melted(order=3))),
    (SHUFFLED, jt.Labels.from_frame(pl.DataFrame(melted(order=4)))),
    (SHUFFLED, jt.Labels.from_frame(pa.Table.from_pandas(melted(order=5)))),
    (SHUFFLED, jt.Labels.from_frame(melted().astype({"task": "category"}))),
    (PRED, jt.Labels.from_frame(melted(), tasks=IDS)),
    (PRED.tolist(), jt.Labels.from_frame(melted(), tasks=IDS)),
    (PRED, jt.Labels.from_frame(melted(range(SIZE), order=6))),
    (PRED, jt.Labels.from_frame(melted([str(k) for k in range(SIZE)], order=7))),
    (pd.Series(PRED), jt.Labels.from_frame(melted(range(SIZE), order=8))),
    (pd.Series(PRED, index=THOUSANDS), jt.Labels.from_frame(melted(map(str, THOUSANDS), order=9))),
    (BY_TASK, jt.Labels.from_matrix(WIDE, 2)),
    (SHUFFLED, jt.Labels.from_matrix(WIDE.astype("Int64"), 2)),
    (SHUFFLED, jt.Labels.from_matrix(WIDE.map(lambda v: None if v != v else NAMES[int(v)]), classes=NAMES)),
    (PRED, jt.Labels.from_matrix([[None if v != v else int(v) for v in row] for row in Z], 2)),
    (pl.Series(PRED), PLAIN),
    (pa.chunked_array([PRED]), PLAIN),
    (jnp.asarray(PRED), PLAIN),
]


PREDICTION = {  # task id as text -> predicted class
    **dict(zip(IDS.tolist(), PRED.tolist(), strict=True)),
    **{str(k): int(p) for k, p in enumerate(PRED)},
    **{str(k + 1000): int(p) for k, p in enumerate(PRED)},
}


@pytest.mark.parametrize("case", RIGHT)
def test_right_whatever_it_comes_in(case):
    y_pred, labels = (*case, LABELS)[:2]
    data = inputs.read(y_pred, labels, None, None, None, 1)
    named = "accept" in labels.class_names
    expected = [PREDICTION[str(task)] for task in labels.tasks or range(SIZE)]
    found = [labels.class_names[c] for c in data.y_pred]
    assert found == [NAMES[k] if named else str(k) for k in expected] and data.notes == ()


def test_right_to_the_end():
    numbered = jt.Labels.from_frame(melted(range(SIZE), order=6))
    for y_pred, labels in ((BY_TASK, LABELS), (CATEGORIES, NAMED), (PRED, numbered)):
        positive = "accept" if labels is NAMED else 1
        assert same(jt.evaluate(y_pred, labels, positive=positive, **KNOWN))


RENAMED = pd.Series(PRED, index=["x0", "x1", *IDS[2:]])
NUMBERED = jt.Labels.from_frame(melted(range(SIZE)), tasks=range(SIZE)[::-1])
CAPITALS = pd.Series(np.array(["Reject", "Accept"])[PRED], index=IDS)
REFUSED = [  # predictions, what the message says, and the labels if others
    (RENAMED, r"2 of 300 labelled tasks have no entry in it .*2 of its entries are for .* \('x0', 'x1'\)"),
    (BY_TASK.drop(IDS[7]), rf"1 of 300 labelled tasks has no entry in it \('{IDS[7]}'\)"),
    (pd.Series(PRED[:-1], index=IDS[:-1]), "1 of 300 labelled tasks has no entry"),
    (dict.fromkeys([*IDS.tolist(), "more"], 1), r"1 of its entries .*\('more'\)"),
    (pd.Series(PRED, index=[IDS[1], *IDS[1:]]), "has 2 rows"),
    ({1: 0, "1": 1}, "task ids mix types"),
    (pd.Series(PRED, index=[None, *IDS[1:]]), "no task id"),
    (pd.Series(PRED, index=pd.MultiIndex.from_arrays([IDS, IDS])), "index of 2 levels"),
    (pd.Series(PRED, index=range(7, SIZE + 7)), "labelled tasks have no entry"),
    (SHUFFLED["guess"], "these labels have no task ids", PLAIN),
    (pd.Series(PRED), "in another order", NUMBERED),
    (FRAME.assign(score=0.5), "one column, or two"),
    (FRAME.rename(columns={"task": "item"}), "one column, or two"),
    (pd.concat([FRAME, FRAME["guess"]], axis=1), "unique column names"),
    (set(range(SIZE)), "y_pred is a set"),
    ("pred.csv", "y_pred is a str"),
    (1, "y_pred must be a sequence"),
    (PRED[:, None], "shape"),
    ([[p] for p in PRED.tolist()], "shape"),
    (PRED[:-1], "y_pred has 299 entries but there are 300 samples"),
    (pd.Series([None, *PRED[1:].tolist()], index=IDS), r"no class \(got (nan|None)\)"),
    (pd.Series([pd.NA, *PRED[1:]], index=IDS, dtype="Int64"), r"no class \(got <NA>\)"),
    (pd.Series([0.5, *PRED[1:]], index=IDS), r"y_pred\['q\d+'\] is 0.5, not a class"),
    (pd.Series(PRED.astype(float).astype(str), index=IDS), "not one of the classes"),
    (pd.Series([True, *PRED[1:].tolist()], index=IDS), "true/false"),
    (CAPITALS, "not one of the classes", NAMED),
]


@pytest.mark.parametrize("case", REFUSED, ids=[case[1] for case in REFUSED])
def test_refused_with_the_reason(as_installed, case):
    y_pred, message, labels = (*case, LABELS)[:3]
    with pytest.raises(ValueError, match=message):
        jt.evaluate(y_pred, labels, **KNOWN)


def test_decimal_names_are_what_they_are():
    """1.0 is the class "1.0" where there is one, and "1" only where nothing else can be meant."""
    labels = jt.Labels.from_long(["a", "b"], ["w", "w"], ["1.0", "2.0"])
    known = {"noise": jt.noise.Symmetric(0.1, 2), "prior": [0.5, 0.5], "positive": "2.0"}
    assert jt.evaluate([1.0, 2.0], labels, **known).accuracy.mean > 0.8
    number = r"y_pred\[0\] is 1, a number, but the classes are '1.0', '2.0'"
    with pytest.raises(ValueError, match=number):
        jt.evaluate([1, 2], labels, **known)
    numbers = jt.Labels.from_long(["a", "b"], ["w", "w"], ["1", "2"])
    for y_pred in ([1, 2], [1.0, 2.0], ["1", "2"]):  # names, not the codes 0 and 1
        assert jt.evaluate(y_pred, numbers, **(known | {"positive": "2"})).accuracy.mean > 0.8
    with pytest.raises(ValueError, match=r"y_pred\[0\] is 0, not one of the classes '1', '2'"):
        jt.evaluate([0, 1], numbers, **(known | {"positive": "2"}))
    signs = jt.Labels.from_long(["a", "b"], ["w", "w"], [-1, 1], classes=(-1, 1))
    assert jt.evaluate([-1, 1], signs, noise=known["noise"], prior=[0.5, 0.5]).accuracy.mean > 0.8
    with pytest.raises(ValueError, match="-1 is a class here but also means unknown"):
        jt.evaluate([-1, 1], signs, gold=[-1, 1], **(known | {"positive": 1}))


def test_everything_by_task_is_aligned_alike():
    """gold, inclusion and strata as dict, Series and frame equal the arrays in the order of the tasks."""
    gold = np.where(np.arange(SIZE) < 60, Y, -1)
    labels = jt.Labels.from_frame(melted(), tasks=IDS)
    chance, stratum = np.full(SIZE, 0.2), np.arange(SIZE) % 2
    plain = jt.evaluate(PRED, labels, gold=Gold(gold, chance, stratum), key=1)
    shuffle = np.random.default_rng(5).permutation(SIZE)
    by_task = [pd.Series(v[shuffle], index=IDS[shuffle]) for v in (chance, stratum)]
    some = {IDS[k]: int(Y[k]) for k in range(60)}
    keyed = jt.evaluate(SHUFFLED, labels, gold=Gold(some, by_task[0], by_task[1].to_dict()), key=1)
    assert same(keyed, plain) and keyed.num_gold == 60
    with pytest.raises(ValueError, match="inclusion of gold: 1 of 300 labelled tasks has no entry"):
        jt.evaluate(PRED, labels, gold=Gold(gold, by_task[0][1:]))
    with pytest.raises(ValueError, match=r"gold: 1 of its entries is for a task without labels \('nobody'\)"):
        jt.prevalence(labels, gold=some | {"nobody": 1})
    with pytest.raises(ValueError, match=r"gold\['q\d+'\] is 2, not a class"):
        jt.evaluate_labelers(labels, gold=dict.fromkeys(IDS[:3], 2))


def test_order_by_task():
    data = inputs.read(PRED, LABELS, None, None, None, 1)
    when = pd.date_range("2026-01-01", periods=SIZE)
    series = pd.Series(when, index=IDS)
    for given in (series, pd.DataFrame({"task": IDS, "when": when}), dict(series)):
        found = read_order(given, data)
        ranks = np.argsort(np.argsort(found))
        assert [IDS[k] for k in ranks] == list(LABELS.tasks)
    days = list(when.date)
    midnights = [datetime.combine(day, time()) for day in days]
    mixed = [b if k % 2 else a for k, (a, b) in enumerate(zip(days, midnights, strict=True))]
    aware = [one.replace(tzinfo=UTC) for one in midnights]
    for given in (days, midnights, mixed, aware):
        found = read_order(pd.Series(given, index=IDS, dtype=object), data)
        ranks = np.argsort(np.argsort(found))
        assert [IDS[k] for k in ranks] == list(LABELS.tasks)
        np.testing.assert_allclose(np.diff(np.sort(found)), 86400)
    with pytest.raises(ValueError, match=r"order\[3\] is None, no time"):
        read_order([*days[:3], None, *days[4:]], data)
    with pytest.raises(ValueError, match="one finite number or date"):
        read_order(["early"] * SIZE, data)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (KNOWN, "error rates are given"),
        ({"assume": "independent"}, "an assumption was named"),
        ({"method": "plug_in"}, "the method uses them as known"),
    ],
)
def test_how_gold_was_chosen_is_never_ignored(options, why):
    labels = jt.Labels.from_frame(melted(), tasks=IDS)
    for name in ("inclusion", "strata"):
        gold = Gold(Y, **{name: np.ones(SIZE, int)})
        with pytest.raises(ValueError, match=f"{name} of gold would not be used.*{why}"):
            jt.evaluate(PRED, labels, gold=gold, **options)
        with pytest.raises(ValueError, match="there is no gold"):
            jt.evaluate(PRED, labels, gold=gold._replace(classes=np.full(SIZE, -1)))
        with pytest.raises(ValueError, match="this question uses gold as known"):
            consensus(labels, "majority_vote", gold=gold)


def test_gold_may_be_unknown_in_every_way():
    labels = jt.Labels.from_frame(melted(), tasks=IDS)
    for unknown in (None, np.nan, -1, pd.NA):
        gold = [int(y) if k < 60 else unknown for k, y in enumerate(Y)]
        found, *_ = inputs.read_gold(gold, labels)
        np.testing.assert_array_equal(found, np.where(np.arange(SIZE) < 60, Y, -1))


def test_arrays_of_the_library_know_their_tasks():
    """A rater's labels are codes of these tasks: no warning, and codes whatever the classes are called."""
    numbered = jt.Labels.from_frame(melted(names=["1", "2"], order=11), repeats="error")
    split = numbered.split_rater("a")
    assert split.y_pred.tasks == split.labels.tasks and set(split.y_pred.tolist()) == {0, 1}
    result = jt.evaluate(split.y_pred, split.labels, **KNOWN)
    assert not any("has no task ids" in text for text in result.warnings)
    back = split.labels.restrict(np.arange(split.labels.num_samples)[::-1])
    assert same(jt.evaluate(split.y_pred, back, **KNOWN), result)
    part = split.labels.restrict(np.arange(50))
    assert jt.evaluate(split.y_pred[:50], part, **KNOWN).num_samples == 50


def test_a_fit_is_evidence_for_a_classifier(as_installed):
    """Against the known error rates that the fit has learned."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40)
    labels = jt.Labels.from_matrix(np.where(rng.random((40, 3)) < 0.8, y[:, None], 1 - y[:, None]), 2)
    fit = fit_dawid_skene(labels)
    found = jt.evaluate(y, fit)
    assert found.warnings[0].startswith("The intervals are too narrow: the fitted")
    known = jt.evaluate(y, labels, noise=jt.noise.ConfusionMatrices(fit.matrices), prior=fit.prior)
    assert found.accuracy.mean == pytest.approx(known.accuracy.mean, abs=1e-9)


def test_every_function_of_labels_says_how_a_frame_becomes_labels(as_installed):
    frame = pd.DataFrame({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    y_pred = np.array([0])
    advice = r"jt\.Labels\.from_frame\(frame, task=\.\.\., worker=\.\.\., label=\.\.\.\)"
    for call in (
        lambda: jt.evaluate(y_pred, frame), lambda: jt.evaluate_labelers(frame), lambda: prevalence(frame),
        lambda: consensus(frame), lambda: labeler_agreement(frame), lambda: quick_labelers(frame),
        lambda: fit_dawid_skene(frame), lambda: fit_nuts("one_coin", frame), lambda: inspect_labels(frame),
        lambda: jt.compare_models(frame, models=["one_coin", "pooled"]),
        lambda: next_labels(frame, y_pred, 1),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=advice):
            call()


def test_what_was_said_when_predictions_and_scores_were_read_reaches_the_answer(tmp_path):
    labels = jt.Labels.from_long([1, 2, 1, 2], ["a", "a", "b", "b"], ["no", "yes", "no", "yes"])
    (tmp_path / "p.csv").write_text("task,label,score,no,yes\n1,no,.3,.666,.333\n2,yes,.9,0,1\n3,no,.5,1,0\n")
    found = jt.read_predictions(tmp_path / "p.csv", labels, common_only=True)
    assert any("were rescaled in 1 row" in note for note in found.notes) and len(found.notes) == 2
    given = {"noise": jt.noise.Symmetric(0.1, 2), "prior": [0.5, 0.5]}
    graded = jt.evaluate(found.y_pred, labels, **given), jt.evaluate_scores(found.scores, labels, **given)
    for answer in graded:
        assert set(found.notes) <= set(answer.warnings)
