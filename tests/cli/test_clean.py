"""`jtruth clean`: a queue that continues, label issues, and refusals."""

import json
import re

import numpy as np
import pytest

from tests.cli.files import write

pytestmark = pytest.mark.usefixtures("few_sets")


@pytest.fixture
def files(tmp_path):
    """60 samples with a label each, features, probabilities and known rates; true classes, names."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    x = rng.standard_normal((60, 2)) + np.outer(y, [2.5, 0])
    z = np.where(rng.random(60) < np.where(y == 1, 0.1, 0.4), 1 - y, y)
    name = ("no", "yes")
    p = (1 / (1 + np.exp(-3 * (x[:, 0] - 1.25)))).round(4)
    write(
        tmp_path / "labels.csv", ("task", "worker", "label"), [(f"t{i}", "w", name[z[i]]) for i in range(60)]
    )
    write(tmp_path / "x.csv", ("task", "a", "b"), [(f"t{i}", *x[i].round(4)) for i in range(60)])
    rows = [(f"t{i}", name[int(q > 0.5)], round(1 - q, 4), q) for i, q in enumerate(p)]
    write(tmp_path / "p.csv", ("task", "label", *name), rows)
    rates = {"confusion_matrices": {"w": [[0.6, 0.4], [0.1, 0.9]]}, "prior": [0.5, 0.5]}
    (tmp_path / "noise.json").write_text(json.dumps(rates))
    return tmp_path, y, name


def gold_of(path, rows):
    return write(path, ("task", "label"), rows)


@pytest.mark.slow
def test_a_queue_goes_on_where_it_stopped(answer, refusal, files):
    folder, y, name = files
    common = ["clean", folder / "labels.csv", "--features", folder / "x.csv",
              "--noise", folder / "noise.json", "--budget", 5, "--state", folder / "state.json",
              "--report", folder / "out.html"]  # fmt: skip
    found, out = answer(*common)
    first = [row["task"] for row in found["queue"]]
    assert len(first) == 5 and first[0] in out and "0 answers so far" in out
    gold = gold_of(folder / "gold.csv", [(t, name[y[int(t[1:])]]) for t in first])
    found, out = answer(*common, "--gold", gold)
    page = (folder / "out.html").read_text()
    assert "Which labels should an expert check?" in page and "5 answers so far" in page
    assert all(f">{row['task']}<" in page and row["reason"] in page for row in found["queue"])
    assert not set(first) & {row["task"] for row in found["queue"]} and found["num_answers"] == 5
    assert "a state of other strategy" in refusal(*common, "--strategy", "random")


@pytest.mark.slow
def test_costs_strategy_seed_and_prior_change_the_queue(answer, files):
    """Every option that says how to ask, against the queue without it."""
    folder, _, _ = files
    common = ["clean", folder / "labels.csv", "--features", folder / "x.csv",
              "--noise", folder / "noise.json", "--budget", 3]  # fmt: skip

    def queue(*more):
        found, _ = answer(*common, *more)
        return [row["task"] for row in found["queue"]], found

    plain, found = queue()
    assert found["strategy"] == "risk" and found["advice"]["num"] == 20
    prices = [(f"t{i}", 100 if f"t{i}" == plain[0] else 1) for i in range(60)]
    assert plain[0] not in queue("--costs", write(folder / "costs.csv", ("task", "cost"), prices))[0]
    assert queue("--predictions", folder / "p.csv")[0] != plain
    drawn = [queue("--strategy", "random", "--seed", s)[0] for s in (1, 2)]
    assert drawn[0] != drawn[1]
    first = queue("--strategy", "sort_noise", "--prior", ".6,.4")[1]["queue"][0]
    np.testing.assert_allclose(first["score"], 0.6 * 0.4 / (0.6 * 0.4 + 0.4 * 0.9))  # Bayes


@pytest.mark.slow
def test_a_crowd_that_errs_together_is_ranked_so(answer, tmp_path):
    """Twelve people a sample whose errors are the sample's: another assumption is first, and it is said."""
    rng = np.random.default_rng(3)
    q = [rng.dirichlet([1.2, 0.3] if c else [0.3, 1.2]) for c in rng.integers(0, 2, 40)]
    rows = [(f"t{i}", f"w{t}", int(rng.random() < q[i][0])) for i in range(40) for t in range(12)]
    found, out = answer("clean", write(tmp_path / "l.csv", ("task", "worker", "label"), rows), "--budget", 5)
    assert "ranked by 'shared_confusion'" in out and any("are dependent" in w for w in found["warnings"])
    text = " ".join(out.split())  # the range of the assumptions is in the headline, and lies in the interval
    few, many = re.search(r"The estimate is (\d+) if [a-z ]+ and (\d+) if [a-z ]+\.", text).groups()
    assert (
        found["interval"][0] <= int(few) < int(many) <= found["interval"][1]
        and found["target"] == "in-sample"
    )


def test_label_issues_without_features(answer, files):
    """By known rates or by predictions; the level is that of the interval."""
    folder, _, _ = files
    known = ["clean", folder / "labels.csv", "--noise", folder / "noise.json", "--budget", 4]
    found = [answer(*known, "--level", level) for level in (0.5, 0.95)]
    widths = [np.diff(one["interval"])[0] for one, _ in found]
    assert 0 < widths[0] < widths[1] and "labels are wrong" in found[1][1]
    words = ("--predictions", folder / "p.csv", "--budget", 4, "--report", folder / "o.html")
    found, _ = answer("clean", folder / "labels.csv", *words)
    low, high = found["interval"]
    assert low <= found["expected_wrong"] <= high and len(found["queue"]) == 4
    assert found["queue"][0]["p_wrong"] > 0.5
    page = (folder / "o.html").read_text()
    assert f"labels are wrong (95 % interval {low:.0f} to {high:.0f})." in page
    cells = [[row[name] for name in ("task", "worker", "label", "suggested")] for row in found["queue"]]
    assert all(f">{cell}<" in page or f" {cell}<" in page for row in cells for cell in row)


def test_known_classes_say_how_many_are_wrong(answer, files):
    folder, y, name = files
    gold = gold_of(folder / "gold.csv", [(f"t{i}", name[y[i]]) for i in range(0, 60, 2)])
    common = ["clean", folder / "labels.csv", "--noise", folder / "noise.json"]
    for more, said in (([], "labels cannot show"), (["--gold", gold], "30 verified samples, assumed to be")):
        found, out = answer(*common, *more)
        assert found["warnings"][0] in out and said in found["warnings"][0]
    assert "chosen at random" in found["warnings"][0]
    assert {row["p_wrong"] for row in found["queue"][:3]} == {1.0}  # known to be wrong


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--features", "x.csv", "--noise", "noise.json", "--budget", "99"], "exceeds the 60 samples"),
        (["--features", "x.csv", "--noise", "noise.json", "--gold", "x.csv"], "give its --state file"),
        (["--features", "labels.csv", "--noise", "noise.json"], "there is no column beside 'task'"),
        (["--budget", "3"], "cannot show errors"),
        (["--budget", "61"], "exceeds the number of labels, 60"),
    ],
)
def test_what_it_refuses(refusal, files, arguments, part):
    assert part in refusal("clean", "labels.csv", *arguments, folder=files[0])


@pytest.mark.slow
def test_one_noisy_label_a_row_and_features_find_wrong_labels(answer, tmp_path):
    """No worker column, no error rates: one command."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 200)
    x = rng.standard_normal((200, 2)) + 2.2 * np.stack([y, -y], axis=1)
    z = np.where(rng.random(200) < np.where(y == 1, 0.35, 0.1), 1 - y, y)
    names = ("cat", "dog")
    labels = write(tmp_path / "train.csv", ("id", "label"), [(i, names[c]) for i, c in enumerate(z)])
    features = write(tmp_path / "x.csv", ("task", "a", "b"), [(i, *row.round(4)) for i, row in enumerate(x)])
    words = ["clean", labels, "--features", features, "--budget", "30", "--state", tmp_path / "state"]
    found, text = answer(*words, full=False)
    wrong = [z[int(row["task"])] != y[int(row["task"])] for row in found["queue"]]
    # 24 here; 30 by the posterior of who knows all rates, 6 by chance: how good it is, is measured in
    # benchmarks/label_issues.py
    assert len(wrong) == 30 and sum(wrong) >= 20 > 2 * 30 * (y != z).mean()
    assert found["strategy"] == "wrong_label"
    for row in found["queue"]:
        assert row["reason"].startswith(f"label: {names[z[int(row['task'])]]}; model: ")
    gains = [row["score"] for row in found["queue"]]
    assert gains == sorted(gains, reverse=True)
    assert "Error rates are learned from one label" in " ".join(text.split())
    gold = gold_of(
        tmp_path / "gold.csv", [(row["task"], names[y[int(row["task"])]]) for row in found["queue"]]
    )
    assert answer(*words, "--gold", gold)[0]["num_answers"] == 30


@pytest.mark.parametrize("named", [[], ["--task", "image"]], ids=["by its name", "typed"])
def test_raw_pixels_and_one_noisy_label_each(answer, tmp_path, named):
    """Counts of 0 to 16, ten classes, a column of tasks that is called image: standardised inside."""
    from sklearn.datasets import load_digits

    x, y = (part[:300] for part in load_digits(return_X_y=True))
    rng = np.random.default_rng(3)
    z = np.where(rng.random(300) < 0.12, (y + rng.integers(1, 10, 300)) % 10, y)
    names = [f"img_{i:05d}.png" for i in range(300)]
    labels = write(tmp_path / "labels.csv", ("image", "label"), zip(names, z, strict=True))
    rows = [(name, *map(int, row)) for name, row in zip(names, x, strict=True)]
    features = write(tmp_path / "x.csv", ("image", *(f"px{k}" for k in range(64))), rows)
    found, text = answer("clean", labels, "--features", features, "--budget", "20", *named, full=False)
    wrong = [z[names.index(row["task"])] != y[names.index(row["task"])] for row in found["queue"]]
    assert len(wrong) == 20 and sum(wrong) >= 15 > 3 * 20 * (y != z).mean()
    assert "converge" not in text
