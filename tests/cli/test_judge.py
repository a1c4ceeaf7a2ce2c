"""One judge against people at the command line, and the positive class of a file."""

import json
import shlex

import numpy as np
import pytest

from tests.cli.files import write


@pytest.fixture
def scans(tmp_path):
    """Disease in a quarter of the scans, by three readers, a model and the truth; and its table."""
    rng = np.random.default_rng(3)
    truth = rng.random(120) < 0.25
    given = truth[:, None] ^ (rng.random((120, 4)) < [0.1, 0.2, 0.2, 0.2])
    rows = np.where(np.column_stack([truth, given]), "disease", "healthy")
    header = ("scan", "truth", "model", "reader1", "reader2", "reader3")
    write(tmp_path / "scans.csv", header, [(f"s{i}", *row) for i, row in enumerate(rows)])
    return tmp_path, truth, given


def test_the_positive_class_has_a_line_of_its_own_that_can_be_typed(run, scans):
    folder, truth, given = scans
    asked = ("scans.csv", "--predictions", "column:model", "--gold", "column:truth", "--json", "a.json")
    code, out, _ = run("evaluate", *asked, folder=folder, full=False)
    assert code == 0 and "Positive class: disease (to change: --positive healthy)." in out.splitlines()
    found = json.loads((folder / "a.json").read_text())
    assert (found["positive"], found["positive_chosen"]) == ("disease", "by its meaning")
    assert found["confusion_matrix"]["mean"][1][1] == (truth & given[:, 0]).sum()
    code, out, _ = run("evaluate", *asked, "--positive", "healthy", folder=folder, full=False)
    assert code == 0 and "Positive class: healthy." in out.splitlines()
    assert json.loads((folder / "a.json").read_text())["positive_chosen"] == "as asked"
    compared = ("scans.csv", "column:model", "column:reader1", "--gold", "column:truth", "--metric", "recall")
    assert "Positive class: disease (to change: --positive healthy)." in run("compare", *compared)[1]
    from jtruth.cli.words import shell_words

    for name, typed in (("a b", "'a b'"), ("it's", "'it'\"'\"'s'"), ("ok", "ok")):
        assert shell_words(f"c (to change: positive={name!r}).") == f"c (to change: --positive {typed})."


@pytest.fixture
def judge(tmp_path):
    """80 answers by people and one judge, wide (`wide.csv`), and the two as long tables."""
    rng = np.random.default_rng(8)
    human = rng.random(80) < 0.6
    said = np.where(human, rng.random(80) < 0.9, rng.random(80) < 0.3)
    word = np.array(["fail", "pass"])
    rows = [(f"e{i}", word[int(h)], word[int(s)]) for i, (h, s) in enumerate(zip(human, said, strict=True))]
    write(tmp_path / "wide.csv", ("example_id", "human", "llm_judge"), rows)
    write(tmp_path / "judge.csv", ("task", "worker", "label"), [(t, "llm_judge", s) for t, _, s in rows])
    write(tmp_path / "human.csv", ("task", "label"), [(t, h) for t, h, _ in rows])
    cells = np.array([[(~human & ~said).sum(), (~human & said).sum()],
                      [(human & ~said).sum(), (human & said).sum()]])  # fmt: skip
    return tmp_path, cells


ASKED = (
    ("evaluate", "wide.csv", "--rater", "llm_judge", "--gold", "column:human"),
    ("evaluate", "wide.csv", "--predictions", "column:llm_judge", "--gold", "column:human"),
    ("evaluate", "judge.csv", "--rater", "llm_judge", "--gold", "human.csv"),
)


def test_one_judge_is_graded_by_people_alone_however_he_is_asked_about(run, judge):
    """Jeffreys' intervals of the four cells; confusion and what the rate is worth in words; one screen."""
    from scipy.stats import beta

    folder, ((tn, fp), (fn, tp)) = judge
    answers = []
    for words in ASKED:
        code, out, err = run(*words, "--json", "a.json", folder=folder, full=False)
        assert code == 0 and len(out.splitlines()) <= 20, (out, err)
        answers.append(json.loads((folder / "a.json").read_text()))
        lines = " ".join(out.split())
        wrong = f"{fp} of {tn + fp} verified 'fail' samples are called 'pass'"
        assert f"{wrong}, and {fn} of {fn + tp} verified 'pass' samples are called 'fail'." in lines
        assert "Positive class: pass (to change: --positive fail)." in lines
        assert f" {round(100 * (tp + fp) / 80)} % of all samples are called 'pass'; the estimated " in lines
        assert f"true share is {round(100 * (tp + fn) / 80)} % [" in lines
        _, out, _ = run(*words, folder=folder)
        worth = f"(TPR + TNR − 1) is {tp / (tp + fn) + tn / (tn + fp) - 1:.2f} ["
        assert worth in " ".join(out.split())
    metrics = answers[0]["metrics"]
    assert metrics == answers[1]["metrics"] == answers[2]["metrics"]
    assert answers[0]["verified"] == [[tn, fp], [fn, tp]]
    for name, hit, miss in (("accuracy", tp + tn, fp + fn), ("recall", tp, fn), ("specificity", tn, fp)):
        low, high = beta.ppf([0.025, 0.975], hit + 0.5, miss + 0.5)
        assert abs(metrics[name]["mean"] - hit / (hit + miss)) < 0.02
        assert np.allclose([metrics[name]["low"], metrics[name]["high"]], [low, high], atol=2e-3)
    code, out, err = run("evaluate", "judge.csv", "--rater", "llm_judge", folder=folder, full=False)
    assert code == 2 and "Verified labels are enough: --gold FILE or column:NAME" in err


def test_labelers_says_the_same_of_one_judge_and_has_a_row_for_each_of_several(run, judge, scans):
    folder, ((tn, fp), (fn, tp)) = judge
    words = ("labelers", "wide.csv", "--gold", "column:human", "--json", "a.json")
    code, out, _ = run(*words, folder=folder, full=False)
    assert code == 0 and len(out.splitlines()) <= 20
    assert (
        f"{fp} of {tn + fp} verified 'fail' samples are called 'pass', and {fn} of {fn + tp} verified 'pass' "
        "samples are called 'fail'." in out
    )
    (row,) = json.loads((folder / "a.json").read_text())["labelers"]
    assert row["verified"] == [[tn, fp], [fn, tp]]
    n, seen = 80, (tn + tp) / 80
    chance = ((tn + fp) * (tn + fn) + (fn + tp) * (fp + tp)) / n**2
    assert abs(row["kappa"]["mean"] - (seen - chance) / (1 - chance)) < 0.02
    assert row["kappa"]["low"] < row["kappa"]["mean"] < row["kappa"]["high"]
    folder, truth, given = scans
    code, out, _ = run("labelers", "scans.csv", "--gold", "column:truth", "--json", "a.json", folder=folder)
    rows = {row["worker"]: row for row in json.loads((folder / "a.json").read_text())["labelers"]}
    for k in (1, 2, 3):
        hit = (given[truth, k]).mean()
        assert abs(rows[f"reader{k}"]["sensitivity"]["mean"] - hit) < 0.02
        wrong = (given[:, k] & ~truth).sum()
        assert f"{wrong} of {(~truth).sum()} verified 'healthy' samples" in " ".join(out.split())


def test_a_judge_who_always_says_the_same_has_the_classes_of_the_gold(run, tmp_path):
    rows = [(i, "good", "good" if i % 3 else "bad") for i in range(60)]
    write(tmp_path / "w.csv", ("id", "judge", "human"), rows)
    for words in (("evaluate", "w.csv", "--rater", "judge"), ("labelers", "w.csv")):
        code, out, err = run(*words, "--gold", "column:human", folder=tmp_path, full=False)
        assert code == 0 and "20 of 20 verified 'bad' samples are called 'good'" in out, err


@pytest.mark.parametrize(
    "names", [("fail", "pass"), ("hallucination_found", "no_hallucination_found")], ids="/".join
)
def test_a_part_of_the_rows_is_enough_and_the_first_screen_stays_one(run, tmp_path, names):
    """Three judges, one of whom always says the same; 60 of 150 are verified. `labelers` counts the same."""
    rng = np.random.default_rng(5)
    human = rng.random(150) < 0.7
    said = np.stack([np.where(rng.random(150) < 0.8, human, ~human) for _ in range(2)] + [human | True], 1)
    word = lambda yes: names[int(yes)]  # noqa: E731
    rows = [(i, *map(word, said[i]), word(human[i]) if i < 60 else "") for i in range(150)]
    write(tmp_path / "part.csv", ("id", "gpt", "claude", "always", "human"), rows)
    asked = ("--gold", "column:human", "--json", "a.json")
    more = ("--require", "kappa >= .99"), ("--require", "accuracy >= .1"), ()
    for who, extra in zip(("gpt", "always", "gpt"), more, strict=True):
        code, out, _ = run(
            "evaluate", "part.csv", "--rater", who, *asked, *extra, folder=tmp_path, full=False
        )
        lines = out.splitlines()
        assert len(lines) <= 20 and not any(line.endswith(" ...") for line in lines), out
        assert code == (3 if "kappa >= .99" in extra else 0) and "The verified samples" not in out[:80]
    found = json.loads((tmp_path / "a.json").read_text())
    counts = [
        [int(((human[:60] == a) & (said[:60, 0] == b)).sum()) for b in (False, True)] for a in (False, True)
    ]
    if found["positive"] == names[0]:
        counts = [row[::-1] for row in counts[::-1]]
    assert found["verified"] == counts
    text = " ".join(out.split())
    for part in ("sensitivity (TPR)", "specificity (TNR)", "Cohen's kappa", "verified"):
        assert part in text
    _, out, _ = run("labelers", "part.csv", *asked, folder=tmp_path, full=False)
    rows = {row["worker"]: row for row in json.loads((tmp_path / "a.json").read_text())["labelers"]}
    for mine, its in (("recall", "sensitivity"), ("specificity", "specificity"), ("kappa", "kappa")):
        assert abs(found["metrics"][mine]["mean"] - rows["gpt"][its]["mean"]) < 0.03
    assert "next: jtruth consensus part.csv --gold column:human" in out.replace("\\\n   ", "")
    code, out, _ = run("labelers", "part.csv", *asked, folder=tmp_path)  # in full
    assert (
        "Constant: Labelers who always give the same class: 'always'" in " ".join(out.split())
        and "opposed" not in out
    )


def test_what_is_worth_running_next_uses_what_the_file_has(run, judge):
    """A column of people is gold; where there is none, the next command writes what to verify."""
    folder, _ = judge
    _, out, _ = run("inspect", "wide.csv", folder=folder, full=False)
    assert "next: jtruth labelers wide.csv --gold column:human" in out
    rows = [(i, *"yyn"[i % 3 :], *"yyn"[: i % 3]) for i in range(40)]
    write(folder / "three.csv", ("id", "a", "b", "c"), rows)
    _, out, _ = run("evaluate", "three.csv", "--rater", "a", "--fast", folder=folder, full=False)
    (step,) = (line for line in out.replace("\\\n", "").splitlines() if line.startswith("next: jtruth "))
    words = shlex.split(step, comments=True)[2:]
    assert " ".join(words) == "ask three.csv --num 30 --truth --out to_verify.csv"
    assert run(*words, folder=folder)[0] == 0
    assert (folder / "to_verify.csv").read_text().startswith("task,label,stratum")
    _, out, _ = run("evaluate", "three.csv", "--rater", "a", "--fast", folder=folder, full=False)
    assert "--out to_verify2.csv" in out.replace("\\\n   ", "")  # nobody's file is written over


def test_a_threshold_that_was_asked_for_is_answered_on_the_first_screen(run, scans):
    folder, truth, _ = scans
    scores = np.where(truth, 60, 40) + np.random.default_rng(1).normal(0, 15, truth.size)
    write(folder / "scores.csv", ("scan", "score"), [(f"s{i}", round(s, 3)) for i, s in enumerate(scores)])
    words = ("evaluate", "scans.csv", "--predictions", "scores.csv", "--scores", "--threshold", "50")
    _, out, _ = run(*words, "--gold", "column:truth", "--json", "a.json", folder=folder, full=False)
    (found,) = json.loads((folder / "a.json").read_text())["thresholds"]
    called = scores.round(3) >= 50
    for name, share in (("accuracy", (called == truth).mean()), ("recall", called[truth].mean()),
                        ("specificity", (~called[~truth]).mean())):  # fmt: skip
        assert abs(found[name]["mean"] - share) < 0.03
    text = " ".join(out.split())
    assert f"At threshold 50: accuracy {100 * found['accuracy']['mean']:.0f} % [" in text
    assert "sensitivity (TPR)" in text and "specificity (TNR)" in text


@pytest.mark.parametrize("names", [("id", "y_true", "y_pred"), ("nr", "answer", "prediction")])
def test_options_say_which_columns_of_a_plain_table_are_what(run, scans, names):
    """Nothing in the names says that one is a labeler."""
    folder, truth, given = scans
    rows = [(k, *("pn"[int(x)] for x in pair)) for k, pair in enumerate(zip(truth, given[:, 0], strict=True))]
    write(folder / "plain.csv", names, rows)
    for way in (("--rater", names[2]), ("--predictions", f"column:{names[2]}")):
        words = ("evaluate", "plain.csv", *way, "--gold", f"column:{names[1]}", "--json", "a.json")
        code, _, err = run(*words, folder=folder, full=False)
        assert code == 0, err
        found = json.loads((folder / "a.json").read_text())
        assert found["metrics"]["accuracy"]["mean"] == pytest.approx((truth == given[:, 0]).mean())
