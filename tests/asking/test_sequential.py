"""Ask until the class is known: who is done, who is asked, what it costs, and what is refused."""

import numpy as np
import pytest

from jtruth.asking import StoppingRule, Whom, acquire, next_asks
from jtruth.asking.sequential import NOBODY_LOOKED
from tests.reference import dawid_skene as oracle

SIZE, LABELERS = 40, 6


@pytest.fixture(scope="module")
def crowd():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, SIZE)
    right = rng.random((SIZE, LABELERS)) < np.linspace(0.6, 0.95, LABELERS)
    return y, np.where(right, y[:, None], 1 - y[:, None])


def test_a_round_against_plain_loops(crowd):
    """Each sample by what all others say, risk, decision, who is open and who is asked, written out."""
    _, z = crowd
    z = np.where(np.arange(LABELERS) < 3, z, -1)
    z[:5] = -1
    loss = np.array([[0.0, 4.0], [1.0, 0.0]])
    prices = np.array([1, 1, 1, 3.0, 1, 1])
    found = next_asks(z, 2, limits=StoppingRule(0.1, 2, 4), loss=loss, whom=Whom("gain", prices=prices))
    counts = (z[:, :, None] == np.arange(2)).astype(int)
    psi, pi, rho = found.matrices, found.prior, found.posterior
    np.testing.assert_allclose(oracle.error_rates(counts, rho, [[2, 1], [1, 2]]), psi, atol=1e-5)
    np.testing.assert_allclose(oracle.class_shares(rho, 1.0), pi, atol=1e-5)
    asked = dict(zip(found.samples.tolist(), found.labelers.tolist(), strict=True))
    for i in range(SIZE):
        others = np.arange(SIZE) != i
        left = np.einsum("ntk,nc->tck", counts[others], rho[others])
        joint = [
            (rho[others, c].sum() + 1)
            * np.prod([
                (left[t, c, z[i, t]] + 1 + (z[i, t] == c)) / (left[t, c].sum() + 3)
                for t in range(LABELERS) if z[i, t] >= 0
            ])
            for c in (0, 1)
        ]  # fmt: skip
        p = np.array(joint) / sum(joint)
        np.testing.assert_allclose(rho[i], p, atol=1e-5)
        p = rho[i]
        expected = [p[1] * 4.0, p[0] * 1.0]
        assert found.risk[i] == pytest.approx(min(expected)) and found.decision[i] == int(np.argmin(expected))
        assert (i in asked) == ((z[i] >= 0).sum() < 2 or min(expected) > 0.1)
        gains = []
        for t in range(LABELERS):
            answer = p @ psi[t]
            after = sum(answer[k] * entropy(p * psi[t][:, k] / answer[k]) for k in (0, 1))
            gains.append(-1.0 if z[i, t] >= 0 else (entropy(p) - after) / prices[t])
        if i in asked:
            assert gains[asked[i]] == pytest.approx(max(gains), abs=1e-12)


def entropy(p):
    return -sum(x * np.log2(x) for x in p if x > 0)


def test_easy_samples_stop_early_and_the_price_adds_up(crowd):
    y, z = crowd
    prices = np.arange(1.0, 7.0)
    seen = []

    def ask(samples, labelers):
        seen.extend(zip(samples.tolist(), labelers.tolist(), strict=True))
        return z[samples, labelers]

    limits = StoppingRule(0.1, 2, 5)
    done = acquire(ask, z.shape, 2, limits=limits, whom=Whom(prices=prices), key=1)
    assert len(set(seen)) == len(seen) == done.num_labels.sum()  # nobody is asked twice
    assert done.cost == sum(prices[t] for _, t in seen)
    assert done.num_labels.min() >= 2 and done.num_labels.max() <= 5 and done.num_labels.mean() < 4.5
    finished = done.num_labels < 5
    assert (done.risk[finished] <= 0.1).all() and (done.decision == y).mean() > 0.8
    short = acquire(ask, z.shape, 2, limits=limits, budget=90, key=1)
    assert short.cost == 90 == short.num_labels.sum() and "budget" in short.warnings[0]
    assert done.warnings[-1] == short.warnings[-1] == NOBODY_LOOKED


def test_nobody_is_asked_who_cannot_be(crowd):
    _, z = crowd
    available = np.zeros(z.shape, bool)
    available[:, 2:5] = True
    limits = StoppingRule(0.0, 1, 6)
    done = acquire(lambda i, t: z[i, t], z.shape, 2, limits=limits, whom=Whom("gain", available), key=0)
    assert (done.num_labels == 3).all() and (done.labels.labels_per_labeler() > 0).tolist() == [
        False, False, True, True, True, False
    ]  # fmt: skip


@pytest.mark.parametrize(
    "options, said",
    [
        ({"limits": StoppingRule(risk=-1)}, "limits need risk >= 0"),
        ({"limits": StoppingRule(least=4, most=3)}, "1 <= least <= most"),
        ({"whom": Whom(prices=[1.0] * 5 + [0.0])}, "6 positive numbers"),
        ({"gold": np.full(SIZE, -1)}, "gold holds no class"),
        ({"gold": np.zeros(3, int)}, r"gold must have shape \(40,\)"),
        ({"loss": -np.eye(2)}, "finite numbers >= 0"),
        ({"whom": Whom("best")}, "gain"),
        ({"whom": Whom(available=np.ones((2, 2), bool))}, r"available has shape \(2, 2\)"),
    ],
)
def test_what_is_refused(options, said):
    with pytest.raises(ValueError, match=said):
        next_asks(np.full((SIZE, LABELERS), -1), 2, **options)


def test_gold_says_when_labelers_are_wrong_together():
    """Five copies of one labeler who is right in .7: labels say nobody errs, 60 known classes that many do.

    Of 60 gold samples 18 +- 3.5 are wrong, so the risk is said to be .1 to .5 but once in 10^5.
    """
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 200)
    z = np.tile(np.where(rng.random(200) < 0.7, y, 1 - y)[:, None], (1, 5))
    gold = np.where(np.arange(200) < 60, y, -1)
    alone = next_asks(z, 2, limits=StoppingRule(0.05, 2, 9))
    told = next_asks(z, 2, limits=StoppingRule(0.05, 2, 9), gold=gold)
    assert alone.risk.mean() < 0.01 and 0.1 < told.risk.mean() < 0.5
    assert alone.warnings == (NOBODY_LOOKED,) and told.warnings == ()
    assert np.abs(told.posterior.sum(axis=1) - 1).max() < 1e-9
    short = acquire(lambda i, t: z[i, t], z.shape, 2, limits=StoppingRule(0.05, 2, 4), gold=gold)
    assert NOBODY_LOOKED not in short.warnings and (short.num_labels[60:] == 4).mean() > 0.9
    assert (short.num_labels[:60] == 4).mean() > 0.9  # gold samples are labelled as all others are


def test_an_answer_that_is_no_class_is_refused():
    with pytest.raises(ValueError, match="ask must return 40 classes 0 to 1"):
        acquire(lambda i, t: np.full(i.size, 2), (SIZE, LABELERS), 2)
