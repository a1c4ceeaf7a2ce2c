"""Requirements of an answer: grammar, probability, verdict, amount of gold to decide, and exit codes."""

import numpy as np
import pytest
from scipy import stats

import jtruth as jt
from jtruth.answers.require import Gate, Quantity, gold_to_decide, require
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import DensityEstimate, PmfEstimate
from jtruth.stats.student import StudentEstimate
from jtruth.tables.posterior import RangeEstimate
from tests.cli.files import write

RNG = np.random.default_rng(3)
N = 300
Y = (RNG.random(N) < 0.7).astype(int)
LABELS = jt.Labels.from_matrix(np.where(RNG.random((N, 3)) < 0.85, Y[:, None], 1 - Y[:, None]), 2)
GOLD = np.where(np.arange(N) < 150, Y, -1)
GOOD, BAD = (np.where(RNG.random(N) < right, Y, 1 - Y) for right in (0.95, 0.6))
CLASSES = ("fail", "pass")


def test_probabilities_of_every_dist():
    x = np.linspace(-6, 6, 2001)
    normal = DensityEstimate(x, stats.norm.pdf(x))
    points = np.array([-7.0, -1.5, 0.3, 2.0, 7.0])
    assert [normal.p_above(p) for p in points] == pytest.approx(stats.norm.sf(points), abs=1e-7)
    student = StudentEstimate(0.8, 0.05, 7.0, 0.0, 1.0)
    t = stats.t(7, 0.8, 0.05)
    inside = [(t.cdf(1) - t.cdf(p)) / (t.cdf(1) - t.cdf(0)) for p in (0.7, 0.9)]
    assert [student.p_above(p) for p in (0.7, 0.9)] == pytest.approx(inside, abs=1e-7)
    assert StudentEstimate(0.8, 0.0, 7.0).p_above(0.8) == 1 and not StudentEstimate(0.8, 0.0, 7.0).p_above(
        0.9
    )
    atoms = PmfEstimate(np.arange(5) / 4, stats.binom.pmf(range(5), 4, 0.6))
    assert atoms.p_above(0.5) == pytest.approx(stats.binom.sf(1, 4, 0.6))
    assert atoms.p_above(0.5, strict=True) == pytest.approx(stats.binom.sf(2, 4, 0.6))
    draws = DrawsEstimate(np.array([0.1 + 0.2, 0.3, 0.5, np.nan]))  # the first two are equal but for rounding
    assert draws.p_above(0.3) == 1 and draws.p_above(0.3, strict=True) == pytest.approx(1 / 3)
    assert np.isnan(DrawsEstimate(np.array([np.nan])).p_above(0.5))
    with pytest.raises(ValueError, match="no probability distribution"):
        RangeEstimate((atoms, atoms)).p_above(0.5)


DRAWS = {
    "a": np.array([0.2, 0.4, 0.6, 0.8]),
    "> 5 min": np.array([0.5, 0.5, 0.5, 0.9]),
    "none": np.full(2, np.nan),
}


def find(name):
    if name == "less":
        return Quantity(DrawsEstimate(DRAWS["a"]), turned=True)
    if name not in DRAWS:
        raise ValueError(f"{name!r} is not there")
    return Quantity(DrawsEstimate(DRAWS[name]))


@pytest.mark.parametrize(
    ("text", "p"),
    [("a >= .4", 0.75), ("a > 40%", 0.5), ("a<=0.4", 0.5), ("a < 4e-1", 0.25), ("a ≥ 0.9", 0), ("a > -1", 1),
     ("> 5 min > .5", 0.25), ("> 5 min >= 50 %", 1), ("less >= -.4", 0.5), ("less < -.4", 0.5),
     ("less > \N{MINUS SIGN}.4", 0.25), ("none > .5", None)],
)  # fmt: skip
def test_grammar(text, p):
    gate = require("an answer", find, [text], 0.9, 20, "a > .5")
    verdict = "cannot tell" if p is None or 0.1 < p < 0.9 else ("not met", "met")[round(p)]
    assert (gate.probability, gate.verdict) == (p, verdict)
    assert gate.exit_code == {"met": 0, "not met": 3, "cannot tell": 4}[verdict]


@pytest.mark.parametrize(
    ("texts", "confidence", "message"),
    [(["a"], 0.9, "such as 'a > .5'"), (["a = .5"], 0.9, "such as"),
     (["a == .5"], 0.9, "write >= or <=, not =="),
     (["a => .5"], 0.9, "write >=, not =>"), (["a =< .5"], 0.9, "write <=, not =<"),
     (["a >= "], 0.9, "such as"), (["a > 80"], 0.9, "a share, such as .8 or 80%"),
     ([], 0.9, "no requirement"),
     (["a > .5", "c > .5"], 0.9, "'c' is not there"), (["a > b"], 0.9, "'a - b' is not there; write NAME"),
     (["a > .5"], 0.5, "confidence=0.5"), (["a > .5"], float("nan"), "between .5 and 1")],
)  # fmt: skip
def test_requirements_that_cannot_be_read(texts, confidence, message):
    with pytest.raises(ValueError, match=message):
        require("an answer", find, texts, confidence, 20, "a > .5")


@pytest.mark.parametrize(
    ("share", "limit"), [(0.86, 0.8), (0.3, 0.36), (0.95, 0.9), (0.5, 0.55), (0.08, 0.05)]
)
def test_so_much_gold_would_decide(share, limit):
    """The square-root rule against Jeffreys' posterior of as many verified items: a third off at most."""

    def posterior(n):
        return stats.beta(share * n + 0.5, (1 - share) * n + 0.5)

    exact = next(
        n for n in range(10, 3000, 10) if min(posterior(n).cdf(limit), posterior(n).sf(limit)) <= 0.05
    )
    by_share = gold_to_decide(Quantity(StudentEstimate(share, 0.4, 1e9)), limit, 0.95, 0)
    assert by_share == pytest.approx(exact, rel=1 / 3)
    now = posterior(40)
    needed = gold_to_decide(Quantity(StudentEstimate(now.mean(), now.std(), 1e9)), limit, 0.95, 40)
    then = now.std() * (40 / needed) ** 0.5  # the standard deviation that is 1.645 times in the distance
    assert abs(now.mean() - limit) / then == pytest.approx(stats.norm.ppf(0.95), rel=0.05)


@pytest.mark.parametrize("metric", ["accuracy", "recall", "precision[fail]", "f1", "macro_f1", "kappa"])
def test_what_one_verified_item_says_of_a_metric(metric):
    """Its variance, times 1/n, is that of the metric of n items drawn from the table."""
    result = jt.evaluate(GOOD, LABELS.with_names(classes=CLASSES), gold=Y, positive="pass")
    table, n = result.confusion_matrix, 4000
    drawn = RNG.multinomial(n, (table / table.sum()).ravel(), 4000).reshape(-1, 2, 2)
    spread = np.asarray(result._metric(metric).of_table(drawn)).var() * n
    assert result._quantity(metric).variance == pytest.approx(spread, rel=0.1)  # 4 standard errors


def test_answers_carry_their_own_dists():
    labels = LABELS.with_names(classes=CLASSES)
    shares = jt.prevalence(labels, gold=GOLD)
    low = shares.shares["pass"].equal_tails(0.9).low
    gate = shares.require(f"pass >= {low - 1e-6}", "fail > .5", confidence=0.9)
    assert isinstance(gate, Gate) and gate.exit_code == 3 and gate.worst["requirement"] == "fail > .5"
    assert gate.rows[0]["probability"] == pytest.approx(0.95, abs=0.01) and gate.rows[0]["verdict"] == "met"
    with pytest.raises(ValueError, match="no class 'x'; classes: 'fail', 'pass'"):
        shares.require("x > .5")
    both = jt.compare_classifiers({"new-1": GOOD, "old": BAD}, labels, gold=GOLD)
    one, other = both.require("new-1 > old").probability, both.require("old - new-1 <= -0.05").probability
    assert one == both.p_better("new-1", "old") == both.require("old < new-1").probability
    assert other == pytest.approx(np.mean(both.difference("new-1", "old") >= 0.05), abs=1e-9)
    assert both.require("new-1 accuracy - old accuracy > -.02").exit_code == 0
    with pytest.raises(ValueError, match=r"neither a classifier .* new-1, old; the metric is accuracy"):
        both.require("new-1 recall > .5")
    alone = jt.compare_classifiers({"a": GOOD, "b": np.where(np.arange(N) < 2, 1 - GOOD, GOOD)}, labels)
    gate = alone.require("a > b", confidence=0.51)  # labels alone: no probability below .95 is believed
    assert alone.unclear and (gate.probability, gate.exit_code) == (None, 4) and "labels alone" in str(gate)
    assert alone.require("a >= .001").exit_code == 0
    with pytest.raises(ValueError, match="gives no uncertainty"):
        jt.evaluate(GOOD, labels, method="majority_vote").require("accuracy > .5")
    voted = jt.prevalence(labels, gold=LABELS.counts().argmax(axis=1)).require("pass >= .5")
    assert voted.exit_code == 4 and voted.rows[0]["alarm"] and "before the problem above" in str(voted)
    unknown = jt.prevalence(jt.Labels.from_matrix(np.eye(2, dtype=int), 2)).require("1 > .5")
    assert (unknown.probability, unknown.verdict) == (None, "cannot tell") and "do not determine" in str(
        unknown
    )


def test_where_all_is_known_the_posterior_is_that_of_jeffreys():
    labels, right = LABELS.with_names(classes=CLASSES), (GOOD == Y).sum()
    share, accuracy = (stats.beta(k + 0.5, N - k + 0.5) for k in (Y.sum(), right))
    gate = jt.prevalence(labels, gold=Y).require("pass >= .72")
    assert gate.probability == pytest.approx(share.sf(0.72), abs=1e-3) and "for new samples" in str(gate)
    graded = jt.evaluate(GOOD, labels, gold=Y)
    assert graded.require("accuracy < .96").probability == pytest.approx(accuracy.cdf(0.96), abs=1e-3)
    assert "in these samples" in str(graded.in_sample.require(f"accuracy >= {right / N}", "accuracy < .9"))
    assert graded.in_sample.require(f"accuracy >= {right / N}").verdict == "met"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    place, names = tmp_path_factory.mktemp("gate"), np.array(CLASSES)
    rows = [(f"t{i}", f"w{t}", names[z]) for (i, t), z in np.ndenumerate(LABELS.to_matrix())]
    write(place / "labels.csv", ("task", "worker", "label"), rows)
    for name, codes in (("gold", GOLD), ("good", GOOD), ("bad", BAD)):
        write(
            place / f"{name}.csv",
            ("task", "label"),
            [(f"t{i}", names[c]) for i, c in enumerate(codes) if c >= 0],
        )
    return place


@pytest.mark.parametrize(
    ("command", "requirements", "code", "says"),
    [
        (("prevalence",), ["pass >= .5"], 0, "Requirement 'pass >= .5' is met: probability above 0.999"),
        (("prevalence",), ["pass >= .5", "fail > 60%"], 3, "'fail > 60%' is not met: probability below"),
        (("prevalence",), ["pass >= .5", "pass >= .7"], 4, "'pass >= .7' cannot be decided yet: probability"),
        (("prevalence",), ["pas >= .5"], 2, "no class 'pas'; classes: 'fail', 'pass'"),
        (("evaluate", "--predictions", "good.csv"), ["accuracy >= .8", "recall[pass] > .6"], 0, "is met"),
        (("evaluate", "--predictions", "bad.csv"), ["accuracy >= .9"], 3, "is not met"),
        (("evaluate", "--predictions", "bad.csv"), ["recall[disease] > .9"], 2, "classes: ['fail', 'pass']"),
        (("compare", "good.csv", "bad.csv"), ["good > bad", "good - bad >= -.02"], 0, "is met"),
        (("compare", "bad.csv", "good.csv"), ["bad > good"], 3, "is not met"),
        (("compare", "bad.csv", "good.csv"), ["good > best"], 2, "classifiers: bad, good"),
    ],
)  # fmt: skip
def test_exit_codes(run, files, command, requirements, code, says):
    name, *more = command
    asked = [word for text in requirements for word in ("--require", text)]
    found, out, err = run(name, "labels.csv", *more, "--gold", "gold.csv", *asked, folder=files, full=False)
    assert found == code and says in " ".join((out + err).split())
    assert len(out.splitlines()) <= 20


def test_written_answers_say_the_verdict(run, files):
    import json

    asked = ("--gold", "gold.csv", "--require", "pass >= .7", "--require", "pass > .1", "--confidence", ".8")
    code, out, _ = run("prevalence", "labels.csv", *asked, "--json", "-", "--report", "a.html", folder=files)
    found = json.loads(out)
    assert (found["requirement"], found["verdict"], found["exit_code"]) == (
        "pass >= .7",
        "cannot tell",
        4,
    ) and code == 4
    assert 0.2 < found["probability"] < 0.8 and found["confidence"] == 0.8
    assert [row["verdict"] for row in found["requirements"]] == ["cannot tell", "met"]
    assert (
        found["requirements"][0]["gold_needed"] > 150
        and "cannot be decided yet" in (files / "a.html").read_text()
    )
