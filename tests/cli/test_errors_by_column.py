"""Columns that predict errors: slopes against least squares, p-values against permutations, and selection."""

import html
import json

import numpy as np
import pytest
from scipy import stats

import jtruth as jt
from jtruth.evaluation import errs_on
from jtruth.evaluation.errors_by_column import explaining, slopes
from tests.cli.files import write

pytestmark = pytest.mark.usefixtures("few_lineages")


def drawn(kind, n, rng):
    if kind == "flag":
        return (rng.random(n) < 0.15).astype(float)
    return {
        "even": rng.random(n),
        "grades": rng.integers(1, 5, n) * 1.0,
        "skewed": np.exp(rng.normal(0, 1, n)),
    }[kind]


@pytest.mark.parametrize("kind", ["even", "grades", "skewed", "flag"])
def test_slopes_are_least_squares_with_class_effects_and_hc3(kind):
    """By the hat matrix of all columns, for two labelers at once; a cell without a value is left out."""
    rng = np.random.default_rng(4)
    n, t, y = 90, np.repeat([0, 1], 45), rng.integers(0, 3, 90)
    x, z = drawn(kind, n, rng), (rng.random(n) < 0.4).astype(float)
    x[7] = np.nan
    found = slopes(x, z, y, t, (2, 3))
    for who in range(2):
        on = (t == who) & np.isfinite(x)
        design = np.column_stack([x[on], np.eye(3)[y[on]]])
        inverse = np.linalg.inv(design.T @ design)
        beta = inverse @ design.T @ z[on]
        leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
        off = (z[on] - design @ beta) / (1 - leverage)
        hc3 = (inverse @ (design.T * off**2) @ design @ inverse)[0, 0]
        a = x[on] - (np.eye(3)[y[on]] @ (np.linalg.pinv(np.eye(3)[y[on]]) @ x[on]))
        rate = (np.bincount(y[on], z[on], 3) + 0.5) / (np.bincount(y[on], minlength=3) + 1)
        floor = (a**2 * (rate * (1 - rate))[y[on]]).sum() / (a @ a) ** 2
        freedom = min((a @ a) ** 2 / (a**4).sum(), on.sum() - 2)
        by_hand = (beta[0], np.sqrt(max(hc3, floor)), freedom)
        assert (found.slope[who], found.se[who], found.freedom[who]) == pytest.approx(by_hand, rel=1e-9)


@pytest.mark.parametrize("kind", ["even", "grades", "skewed", "flag"])
@pytest.mark.parametrize("errors", [0.06, 0.3])
def test_p_values_are_those_of_permutations(kind, errors):
    """Of the ranks within the classes, 20 000 of them; between .002 and 1 they agree within a fifth."""
    rng = np.random.default_rng(11)
    n, near = 120, []
    for effect in (0.0, 0.15, 0.3):
        y, x = rng.integers(0, 2, n), drawn(kind, n, rng)
        rank = stats.rankdata(x)
        z = (rng.random(n) < errors + effect * rank / n).astype(float)
        moved = np.empty((20_000, n))
        for c in (0, 1):
            moved[:, y == c] = rng.permuted(np.tile(rank[y == c], (20_000, 1)), axis=1)
        centered = z - np.bincount(y, z)[y] / np.bincount(y)[y]
        said, all_ = rank @ centered, moved @ centered
        p = min(2 * min((all_ >= said - 1e-9).mean(), (all_ <= said + 1e-9).mean()), 1.0)
        ours = slopes(x, z, y, np.zeros(n, int), (1, 2)).p_value[0]
        near.append((ours, p))
    near = np.array(near)
    assert np.all(
        np.abs(np.log(np.maximum(near[:, 0], 0.002) / np.maximum(near[:, 1], 0.002))) < np.log(1.35)
    ), near


def table(seed=0, n=400):
    """Judge a passes long answers, judge b fails those of one model, judge c has no favourites."""
    rng = np.random.default_rng(seed)
    y, words = rng.integers(0, 2, n), rng.integers(20, 400, n)
    model, topic = rng.choice(["gpt", "llama", "mistral"], n), rng.choice(["law", "art"], n)
    passes = np.where(y == 1, 0.8, 0.25)
    chance = [passes + 0.0013 * (words - 210), passes - 0.3 * (model == "llama"), passes]
    z = np.stack([(rng.random(n) < p).astype(int) for p in chance], axis=1)
    columns = {"answer": [" ".join(["word"] * k + [str(i)]) for i, k in enumerate(words - 1)], "model": model,
               "topic": topic, "noise": rng.normal(size=n)}  # fmt: skip
    return z, y, columns, words


def test_planted_habits_are_found_and_no_others():
    z, y, columns, words = table()
    labels = jt.Labels.from_matrix(z, classes=["fail", "pass"]).with_names(workers=["a", "b", "c"])
    found = errs_on(labels, y, columns)
    clear = {
        (row["worker"], row["column"], row["category"], row["does"]) for row in found.rows if row["clear"]
    }
    assert ("a", "answer", None, "says 'pass'") in clear and ("b", "model", "llama", "says 'fail'") in clear
    assert {one[:2] for one in clear} == {("a", "answer"), ("b", "model")}
    (first,) = (
        row
        for row in found.rows
        if row["worker"] == "a" and row["column"] == "answer" and row["does"] != "errs"
    )
    assert first["per"] == "100 words" and first["low"] < 13 < first["high"] and first["num_labels"] == 400
    assert first["points"] == pytest.approx(
        slopes(words / 100, z[:, 0] * 1.0, y, 0 * y, (1, 2)).slope[0] * 100
    )
    p = np.array([row["p_value"] for row in found.rows])
    q = [row["q_value"] for row in found.rows]
    np.testing.assert_allclose(q, stats.false_discovery_control(p), rtol=1e-9)
    number = sum(row["clear"] for row in found.rows)
    for row in found.rows:  # at most 5 % of the intervals of findings miss: each has a share of that
        half = stats.t.ppf(1 - 0.025 * (number / p.size if row["clear"] else 1), row["freedom"]) * row["se"]
        assert row["high"] == pytest.approx(min(row["points"] + half, 100))
        assert row["low"] == pytest.approx(max(row["points"] - half, -100))
    assert "points more [" in found.findings[0] and found.findings[0] in found.blocks().sentence
    some = np.where(np.arange(400) % 2, y, -1)  # gold of half, by id: as if the others were not there
    half = errs_on(labels, dict(enumerate(some)), columns)
    part = labels.restrict(np.flatnonzero(some >= 0))
    again = errs_on(part, y[1::2], {name: np.asarray(one)[1::2] for name, one in columns.items()})
    assert half.num_gold == 200 and half.rows == again.rows


def test_three_classes_and_a_column_that_differs_by_label():
    """A judge who reads A first says so; who he is stands in the column of each label."""
    rng = np.random.default_rng(5)
    y, first = rng.integers(0, 3, 300), rng.integers(0, 2, (300, 2))
    z = np.where(rng.random((300, 2)) < 0.7, y[:, None], rng.integers(0, 3, (300, 2)))
    z[:, 0] = np.where((first[:, 0] == 1) & (rng.random(300) < 0.5), 2, z[:, 0])
    labels = jt.Labels.from_matrix(z, classes=["A", "B", "tie"])
    found = errs_on(labels, y, {"position": np.where(first, "yes", "no"), "same": np.full(300, 3)})
    clear = {(row["worker"], row["does"]): row["points"] for row in found.rows if row["clear"]}
    assert (
        clear.keys() >= {("0", "errs"), ("0", "says 'tie'"), ("0", "says 'A'")} and clear["0", "says 'A'"] < 0
    )
    assert {who for who, _ in clear} == {"0"} and 25 < clear["0", "says 'tie'"] < 60
    assert found.left_out == {"same": "it has one value"} and found.columns == ("position",)


@pytest.mark.parametrize(
    ("name", "cells", "asked"),
    [
        ("x", ["1,5", "2,5", "", "4"] * 5, [(None, "1")]),
        ("flag", ["0", "1"] * 9, [("1", "")]),
        ("day", [f"2026-01-{k:02d}" for k in range(1, 29)], [(None, "10 days")]),
        ("say", ["three words here", *(f"a b c {k} d" for k in range(30)), "ab " * 8], [(None, "1 word")]),
        ("kind", ["a"] * 9 + ["b"] * 6 + ["c"] * 5 + ["d", "NA", "-"], [("a", ""), ("b", ""), ("c", "")]),
        ("task_id", [str(k) for k in range(30)], "its name is that of an id"),
        ("when", ["01/02/2026", "02/03/2026", "03/01/2026"] * 3, "day"),
        ("name", [f"n{k}" for k in range(40)], "40 different values, hardly any"),
        ("none", ["", "NA", "a"], "one value"),
    ],
)  # fmt: skip
def test_what_is_asked_of_a_column(name, cells, asked):
    labels = jt.Labels.from_matrix(np.zeros((len(cells), 1), int), 2)
    found = errs_on(labels, np.zeros(len(cells), int), {name: cells})
    if isinstance(asked, str):
        assert asked in found.left_out[name] and f"Column '{name}' was skipped" in found.summary(full=True)
    else:
        texts = ["" if cell in ("NA", "-") else cell for cell in cells]
        assert [(one.category, one.per) for one in explaining(name, texts)] == asked and not found.left_out
        assert not found.rows  # a labeler who never errs has none


def test_values_that_are_far_away_have_no_say_beyond_the_fence():
    x = np.append(np.arange(100.0), 1e6)
    (one,) = explaining("x", [f"{v:g}" for v in x])
    assert one.x.max() * float(one.per) == pytest.approx(75 + 3 * 50) and one.x.min() == 0


def test_little_gold_is_said_and_none_is_refused():
    z, y, columns, _ = table(1, 60)
    labels = jt.Labels.from_matrix(z).with_names(workers=["a", "b", "c"])
    found = errs_on(labels, np.where(np.arange(60) < 8, y, -1), columns)
    assert not found.rows and "Skipped, with fewer than 10 verified labels: a, b, c." in found.warnings
    assert "No column is clearly associated" in found.blocks().sentence
    found = errs_on(labels, y, {"img": np.arange(60), "order": np.arange(60), "part": np.arange(60) % 20})
    assert found.left_out == {"img": "it only numbers the samples"} and found.columns == ("order", "part")
    assert ("adjusted for selection" in str(found.blocks().tables()[0].title)) == bool(found.findings)
    assert any("need not cause" in text for text in found.warnings) == bool(found.findings)
    with pytest.raises(ValueError, match="no sample with gold has labels"):
        errs_on(labels, np.full(60, -1), columns)
    with pytest.raises(ValueError, match=r"columns\['x'\] has shape \(60, 2\)"):
        errs_on(labels, y, {"x": np.zeros((60, 2))})


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_files_and_the_command(layout, answer, tmp_path):
    """`jt.read` and `jtruth labelers --gold` look at the same columns, and not at key, labels and gold."""
    z, y, columns, _ = table(2, 300)
    names, file = np.array(["fail", "pass"]), tmp_path / "judges.csv"
    beside = [[columns[name][i] for name in ("answer", "model")] for i in range(300)]
    if layout == "wide":
        rows = [(f"q{i}", *names[z[i]], names[y[i]], *beside[i]) for i in range(300)]
        write(file, ("item", "judge_a", "judge_b", "judge_c", "truth", "answer", "model"), rows)
    else:
        rows = [(f"q{i}", f"judge_{'abc'[t]}", names[z[i, t]], names[y[i]], *beside[i], i * 3 + t)
                for i in range(300) for t in (0, 1, 2)]  # fmt: skip
        write(file, ("task", "worker", "label", "truth", "answer", "model", "place"), rows)
    data = jt.read(file)
    assert data.plan.roles.get("model") in (None, "ignored")  # names of models are no predictions
    assert list(data.columns) == ["answer", "model", *(["place"] if layout == "long" else [])]
    assert layout == "wide" or data.columns["place"].shape == (300, 3)
    direct = errs_on(data.labels, data.gold, data.columns)
    found, out = answer("labelers", file, "--gold", "column:truth", "--report", tmp_path / "a.html")
    assert found["errs_on"]["rows"] == json.loads(json.dumps(direct.to_dict()))["errs_on"]["rows"]
    assert {(row["worker"], row["column"]) for row in direct.rows if row["clear"]} >= {("judge_a", "answer")}
    says = " ".join(out.split())
    assert direct.findings[0] in says and direct.findings[0] in html.unescape(
        (tmp_path / "a.html").read_text()
    )
