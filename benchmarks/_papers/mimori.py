"""Mimori et al. (2021), Diagnostic uncertainty calibration: Figures 1 to 6, Tables 1 to 6.

The paper's predictors are networks on MNIST, CIFAR-10 and blood cells. Labels and true class probabilities of
the two mixed sets are public and read here; images, networks and the medical data are not. What depends on
labels alone is compared with the paper; what depends on a network is shown for stand-ins.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks._papers.harness import DATA, Cell, Panel, Paper, Part, average
from jtruth import histograms as hist
from jtruth.histograms.concentration import log_dirichlet_multinomial

# Printed rows: method, then the columns of the table (NA: not printed).
DPES = """
Raw .0755 .0782 .0755 .0782 .1521 .2541 .1521 .2541 .1477 .0628
Raw+alpha .0724 .0524 .0724 .0531 .0880 .0357 .0877 .0322 .1454 .0406
Raw+ts .0775 .0933 .0773 .0923 .1968 .3310 .1978 .3324 .1482 .0663
Raw+ts+alpha .0699 .0344 .0702 .0379 .0863 .0208 .0861 .0164 .1445 .0261
MCDO .0749 .0728 .0749 .0728 .1518 .2539 .1518 .2539 .1470 .0562
MCDO+alpha .0700 .0277 .0700 .0285 .0873 .0275 .0870 .0241 .1450 .0346
MCDO+ts .0805 .1062 .0802 .1049 .1996 .3353 .2002 .3362 .1479 .0635
MCDO+ts+alpha .0690 .0155 .0691 .0188 .0863 .0196 .0861 .0167 .1442 .0186
TTA NA NA NA NA .1677 .2856 .1677 .2856 .1441 .0488
TTA+alpha NA NA NA NA .0860 .0245 .0857 .0231 .1428 .0334
TTA+ts NA NA NA NA .2421 .3957 .2430 .3968 .1448 .0553
TTA+ts+alpha NA NA NA NA .0872 .0467 .0870 .0398 .1422 .0197
"""
POSTERIORS = """
Raw+alpha .0388 .0292 .0388 .0292 .2504 .0709 .2504 .0693 .0435 .0354
Raw+ts+alpha .0379 .0293 .0379 .0298 .2423 .0682 .2423 .0676 .0430 .0352
MCDO .0395 .0391 .0395 .0391 .2473 .2471 .2473 .2471 .0437 .0440
MCDO+ts .0410 .0406 .0404 .0400 .2428 .2425 .2431 .2428 .0435 .0438
TTA NA NA NA NA .2216 .2184 .2216 .2184 .0378 .0382
TTA+ts NA NA NA NA .2452 .2428 .2451 .2427 .0379 .0383
"""
MNIST = """
Raw .9629 .1386 .0388 .0518 .9629 .1386 .0388 .0518
Raw+alpha .9629 .1386 .0388 .0518 .9629 .1386 .0388 .0518
Raw+ts .9629 .1376 .0379 .0473 .9629 .1376 .0379 .0475
Raw+ts+alpha .9629 .1376 .0379 .0473 .9629 .1376 .0379 .0475
MCDO .9635 .1392 .0395 .0425 .9635 .1392 .0395 .0425
MCDO+alpha .9621 .1391 .0394 .0442 .9644 .1387 .0389 .0463
MCDO+ts .9628 .1408 .0410 .0632 .9627 .1402 .0404 .0638
MCDO+ts+alpha .9624 .1412 .0415 .0653 .9629 .1407 .0409 .0631
"""
CIFAR = """
Raw .7965 .3518 .2504 .1093 .7965 .3518 .2504 .1093
Raw+alpha .7965 .3518 .2504 .1093 .7965 .3518 .2504 .1093
Raw+ts .7965 .3437 .2423 .0687 .7965 .3438 .2423 .0685
Raw+ts+alpha .7965 .3437 .2423 .0688 .7965 .3438 .2423 .0685
MCDO .7983 .3488 .2474 .0955 .7983 .3488 .2474 .0955
MCDO+alpha .7968 .3488 .2474 .0962 .7965 .3493 .2479 .0973
MCDO+ts .7972 .3442 .2428 .0684 .7977 .3446 .2431 .0675
MCDO+ts+alpha .7965 .3445 .2430 .0650 .7975 .3444 .2430 .0723
TTA .8221 .3230 .2216 .0877 .8221 .3230 .2216 .0877
TTA+alpha .8241 .3221 .2206 .0884 .8277 .3223 .2209 .0894
TTA+ts .8257 .3467 .2452 .1688 .8279 .3466 .2451 .1707
TTA+ts+alpha .8277 .3446 .2432 .1697 .8245 .3460 .2446 .1726
"""
MDS = """
Raw .9006 .2515 .0435 .0600 .1477 .0628 .8990 .2460 .0380 .0590 .1448 .0539
Raw+alpha .9006 .2515 .0435 .0600 .1454 .0406 .8990 .2460 .0380 .0590 .1430 .0320
Raw+ts .9006 .2509 .0430 .0575 .1482 .0663 .8990 .2459 .0379 .0587 .1449 .0545
Raw+ts+alpha .9006 .2509 .0430 .0575 .1445 .0261 .8990 .2459 .0379 .0587 .1427 .0269
Raw+vs .9010 .2515 .0435 .0579 .1489 .0696 .8996 .2461 .0381 .0602 .1452 .0563
Raw+vs+alpha .9010 .2515 .0435 .0579 .1449 .0318 .8996 .2461 .0381 .0602 .1431 .0310
Raw+ms .8992 .2532 .0453 .0656 .1484 .0663 .8978 .2480 .0400 .0710 .1451 .0563
Raw+ms+alpha .8992 .2532 .0453 .0656 .1453 .0355 .8978 .2480 .0400 .0710 .1428 .0274
MCDO .8983 .2517 .0437 .0586 .1470 .0562 .8989 .2460 .0380 .0561 .1446 .0505
MCDO+alpha .8996 .2518 .0438 .0610 .1450 .0346 .9003 .2458 .0378 .0568 .1426 .0237
MCDO+ts .8986 .2515 .0435 .0579 .1479 .0635 .8995 .2458 .0378 .0579 .1447 .0521
MCDO+ts+alpha .8991 .2515 .0435 .0586 .1442 .0186 .8997 .2460 .0380 .0581 .1423 .0180
MCDO+vs .8997 .2521 .0441 .0589 .1487 .0664 .9004 .2461 .0381 .0593 .1448 .0531
MCDO+vs+alpha .9009 .2519 .0439 .0575 .1446 .0244 .9002 .2460 .0380 .0579 .1426 .0228
MCDO+ms .8970 .2536 .0456 .0678 .1479 .0612 .8997 .2477 .0397 .0704 .1448 .0529
MCDO+ms+alpha .8986 .2534 .0454 .0667 .1449 .0279 .8986 .2478 .0399 .0695 .1424 .0188
TTA .9013 .2458 .0378 .0642 .1441 .0488 .9069 .2402 .0322 .0645 .1425 .0444
TTA+alpha .9025 .2456 .0376 .0684 .1428 .0334 .9077 .2402 .0322 .0650 .1413 .0277
TTA+ts .9012 .2459 .0379 .0646 .1448 .0553 .9074 .2401 .0321 .0636 .1425 .0456
TTA+ts+alpha .9011 .2458 .0378 .0632 .1422 .0197 .9055 .2403 .0323 .0633 .1410 .0204
TTA+vs .9031 .2471 .0392 .0671 .1458 .0598 .9078 .2409 .0329 .0666 .1431 .0483
TTA+vs+alpha .9025 .2470 .0391 .0657 .1428 .0247 .9068 .2409 .0329 .0664 .1416 .0252
TTA+ms .9001 .2489 .0410 .0756 .1456 .0561 .9034 .2429 .0349 .0778 .1431 .0481
TTA+ms+alpha .8991 .2487 .0407 .0750 .1431 .0268 .9030 .2432 .0352 .0766 .1414 .0213
"""

NETWORK = "needs the authors' trained networks and their images, which are not public with the labels"
MEDICAL = "the medical data are not public"
SETS = ("Mix-MNIST(2)", "Mix-MNIST(5)", "Mix-CIFAR-10(2)", "Mix-CIFAR-10(5)", "MDS")
PLACES = {"Mix-MNIST": "mixed_mnist", "Mix-CIFAR-10": "mixed_cifar10"}
# Epistemic losses that stand-ins are given. MDS is MDS-1, trained with one label an image; MDS-full with all.
RAW = {"Mix-MNIST": 0.0388, "Mix-CIFAR-10": 0.2504, "MDS": 0.0435, "MDS-full": 0.0380}
LOSSES = {
    "L": ("squared_loss", False),
    "EL": ("epistemic_loss", False),
    "CE": ("calibration_loss", True),  # the paper's CE is a root
    "L of DPE": ("disagreement_loss", False),
    "CE of DPE": ("disagreement_calibration_loss", True),
}


def printed(block, columns, missing=NETWORK):
    """The paper's numbers as cells that were not attempted."""
    cells = []
    for line in block.split("\n")[1:-1]:
        name, *values = line.split()
        for column, value in zip(columns, values, strict=True):
            if value != "NA":
                why = MEDICAL if "MDS" in column else missing
                cells.append(Cell(name, column, float(value), None, 0.0, 4, why))
    return cells


@cache
def labelled(name, number):
    """(validation, test) histograms and class probabilities of a mixed set; None where it is not here."""
    path = DATA / PLACES[name] / "histograms.npz"
    if not path.exists():
        return None
    data = np.load(path)
    part = data[f"t1_v{number}_partition"]
    counts, q = data[f"t1_v{number}_hist"], np.asarray(data[f"t1_v{number}_prob"], np.float64)
    q = q / q.sum(axis=1, keepdims=True)
    return [(hist.from_counts(counts[part == k].astype(np.int32)), q[part == k]) for k in (1, 2)]


@cache
def medical(seed=0):
    """A simulated stand-in of the medical data: its numbers of images, kinds and labels."""
    rng = np.random.default_rng(seed)
    found = []
    for size, mean in ((14_144, 5.79), (11_110, 7.58)):
        kind = rng.choice(22, size, p=rng.dirichlet(np.full(22, 1.0)))
        sure = np.where(rng.random(size) < 0.6, 60.0, 4.0)  # most cells are clear, some divide the experts
        q = np.stack([rng.dirichlet(0.05 + s * np.eye(22)[k]) for k, s in zip(kind, sure, strict=True)])
        n = 2 + rng.poisson(mean - 2, size)
        counts = np.stack(
            [rng.multinomial(m, p / p.sum()) for m, p in zip(n, q.astype(np.float64), strict=True)]
        )
        found.append((hist.from_counts(counts.astype(np.int32)), q))
    return found


def stand_in(q, target, seed, overconfidence=1.6):
    """Probabilities of a simulated classifier whose mean |f - q|^2 is the target: validation, test."""
    rng = np.random.default_rng(seed)
    noise = [rng.normal(size=one.shape) for one in q]

    def predict(one, e, spread):
        logits = overconfidence * (np.log(one + 0.01) + spread * e)
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)

    low, high = 0.0, 6.0
    for _ in range(40):
        middle = (low + high) / 2
        loss = ((predict(q[1], noise[1], middle) - q[1]) ** 2).sum(axis=1).mean()
        low, high = (middle, high) if loss < target else (low, middle)
    return [predict(one, e, middle) for one, e in zip(q, noise, strict=True)]


@cache
def calibrated(name, number, quick):
    """By method: (probabilities, concentration or None), with validation and test sets, of a stand-in."""
    parts = medical() if "MDS" in name else labelled(name, number)
    if parts is None:
        return None
    if quick:
        parts = [(h.take(np.arange(1500)), q[:1500]) for h, q in parts]
    (valid, q_valid), (test, q_test) = parts
    f_valid, f = stand_in([q_valid, q_test], RAW[name], 2 if name == "MDS-full" else 1)
    key, found = jax.random.key(0), {"Raw": (f, None)}
    scalings = {"alpha": "Raw", "temperature": "Raw+ts"}
    scalings |= {"vector": "Raw+vs", "matrix": "Raw+ms"} if "MDS" in name else {}
    for method, title in scalings.items():
        law = hist.fit_calibrator(key, valid, jnp.asarray(f_valid, jnp.float32), method=method)(
            jnp.asarray(f, jnp.float32)
        )
        found[title] = (np.asarray(law.probabilities), None)
        found[title + "+alpha"] = (np.asarray(law.probabilities), np.asarray(law.concentration))
    return found, test, q_test


def judged(probabilities, concentration, test):
    """The table of losses of one method."""
    return hist.loss_estimates(test, probabilities, bins=15, concentration=concentration)


@cache
def losses(name, number, quick):
    """By method: the table of losses."""
    found, test, _ = calibrated(name, number, quick)
    return {method: judged(*law, test) for method, law in found.items()}


STAND_IN = (
    "Rows *stand-in* are ours: a simulated classifier whose epistemic loss is that of the paper's "
    "Raw (one number is set, nothing else). It uses the public labels of the mixed sets. For "
    "MDS-1 and MDS-full it uses simulated labels of the same sizes, not the medical data: 22 "
    "kinds, 14 144 and 11 110 images, 5.79 and 7.58 labels on average."
)


def own_rows(quick, wanted):
    """Cells of the stand-ins: `wanted` is column -> function of (losses, name)."""
    cells = []
    for column in SETS:
        name, number = column.partition("(")[0], int((column.partition("(")[2] or "2)")[:-1])
        if calibrated(name, number, quick) is None:
            cells.append(Cell("stand-in", column, None, None, reason="the public labels are not here"))
            continue
        for method, table in losses(name, number, quick).items():
            for title, of in wanted.items():
                value, error = of(table, name, number, method)
                if value is not None:
                    cells.append(
                        Cell(f"stand-in: {method}", f"{column} {title}".strip(), None, value, error, 4)
                    )
    return cells


def _estimate(key, root=False):
    def of(table, *_):
        law = table.estimates[key]
        value = float(law.mean)
        if root:
            value = float(np.sqrt(max(value, 0.0)))
            return value, float(law.sd) / max(2 * value, 1e-6)
        return value, float(law.sd)

    return of


def table_1(quick):
    """Disagreement."""
    columns = [f"{s} {c}" for s in SETS for c in ("L", "CE")]
    cells = printed(DPES, columns)
    cells += own_rows(
        quick, {"L": _estimate("disagreement_loss"), "CE": _estimate("disagreement_calibration_loss", True)}
    )
    return Part(
        "Disagreement probability estimates",
        cells,
        says=STAND_IN + " What the paper finds holds for them: temperature scaling alone makes "
        "disagreement estimates worse, alpha-calibration makes them better by far, and "
        "best after temperature scaling.",
    )


def table_2(quick):
    """Epistemic loss before and after one more label."""
    columns = [f"{s} {c}" for s in SETS for c in ("prior", "posterior")]
    cells = printed(POSTERIORS, columns)
    for column in SETS:
        name, number = column.partition("(")[0], int((column.partition("(")[2] or "2)")[:-1])
        made = calibrated(name, number, quick)
        if made is None:
            continue
        found, _, q = made
        rng = np.random.default_rng(0)
        label = np.array([rng.choice(q.shape[1], p=row / row.sum()) for row in q])
        for method in ("Raw+alpha", "Raw+ts+alpha"):
            f, alpha = found[method]
            after = np.asarray(hist.posterior_probabilities(hist.one_label(label, q.shape[1]), f, alpha))
            for title, p in (("prior", f), ("posterior", after)):
                each = ((p - q) ** 2).sum(axis=1)
                cells.append(
                    Cell(
                        f"stand-in: {method}",
                        f"{column} {title}",
                        None,
                        each.mean(),
                        each.std() / np.sqrt(each.size),
                        4,
                    )
                )
    return Part(
        "Epistemic loss before and after one label",
        cells,
        says=STAND_IN + " The label is a new draw; losses are against the true probabilities, which the "
        "mixed sets have.",
    )


def _difference_cells(block, columns, name, numbers):
    """L - EL of a row does not depend on the predictor: the mean of 1 - sum q^2 over the test part."""
    cells = []
    width = len(columns)
    for k, number in enumerate(numbers):
        parts = labelled(name, number)
        if parts is None:
            cells.append(
                Cell("all", f"{name}({number}) L - EL", None, None, reason="the labels are not here")
            )
            continue
        test, q = parts[1]
        labels = np.asarray(hist.disagreement(test), np.float64)
        cells.append(
            Cell(
                "from ten labels an image",
                f"{name}({number}) L - EL",
                None,
                labels.mean(),
                labels.std() / np.sqrt(labels.size),
                4,
            )
        )
        spread = (1 - (q**2).sum(axis=1)).mean()
        for line in block.split("\n")[1:-1]:
            row, *values = line.split()
            loss, epistemic = (float(v) for v in values[k * width // 2 + 1 : k * width // 2 + 3])
            # two rounded numbers: their difference may be a unit off
            cells.append(Cell(row, f"{name}({number}) L - EL", loss - epistemic, float(spread), 5e-5, 4))
    return cells


def _order_1(block, name, quick):
    columns = [f"{name}({n}) {c}" for n in (2, 5) for c in ("Acc", "L", "EL", "CE")]
    cells = _difference_cells(block, columns, name, (2, 5)) + printed(block, columns)
    for number in (2, 5):
        if calibrated(name, number, quick) is None:
            continue
        for method, table in losses(name, number, quick).items():
            for title, key, root in (
                ("L", "squared_loss", False),
                ("EL", "epistemic_loss", False),
                ("CE", "calibration_loss", True),
            ):
                value, error = _estimate(key, root)(table)
                cells.append(Cell(f"stand-in: {method}", f"{name}({number}) {title}", None, value, error, 4))
    return Part(
        f"Class probability estimates, {name}",
        cells,
        says="L - EL is the same for all predictors, the mean of 1 - sum q² over test images. All "
        "rows agree with the published true probabilities q. They disagree with the estimate "
        "from ten published labels per image, so the paper's losses are against q. The rest "
        "needs the networks. " + STAND_IN,
        reason="a difference of two numbers printed with four decimals",
    )


def table_4(quick):
    """Mix-MNIST."""
    return _order_1(MNIST, "Mix-MNIST", quick)


def table_5(quick):
    """Mix-CIFAR-10."""
    return _order_1(CIFAR, "Mix-CIFAR-10", quick)


def table_6(quick):
    """The medical data."""
    columns = [
        f"{s} {c}" for s in ("MDS-1", "MDS-full") for c in ("Acc", "L", "EL", "CE", "L of DPE", "CE of DPE")
    ]
    cells = printed(MDS, columns)
    for name, column in (("MDS", "MDS-1"), ("MDS-full", "MDS-full")):
        for method, table in losses(name, 2, quick).items():
            for title, (key, root) in LOSSES.items():
                value, error = _estimate(key, root)(table)
                cells.append(Cell(f"stand-in: {method}", f"{column} {title}", None, value, error, 4))
    return Part("The medical data", cells, says=STAND_IN)


def figure_2(quick):
    """Debiasing."""
    runs, sizes, cells = 10, ((100, 10_000) if quick else (100, 1000, 10_000)), []
    series = {"EL": [], "CL": []}
    for n in (2, 5):
        found = {key: [] for key in ("EL", "EL plugin", "CL", "CL plugin")}
        for size in sizes:
            each = []
            for run in range(runs):
                rng = np.random.default_rng([n, size, run])
                p = rng.random(size)
                ones = rng.binomial(n, p)
                table = hist.loss_estimates(
                    hist.from_counts(np.stack([n - ones, ones], axis=1)),
                    np.stack([1 - p, p], axis=1),
                    bins=15,
                )
                # binary losses are of class 1: half of the sum over two classes
                each.append(
                    [
                        0.5 * float(v)
                        for v in (
                            table.estimates["epistemic_loss"].mean,
                            table.plugin["epistemic_loss"],
                            table.estimates["calibration_loss"].mean,
                            table.plugin["calibration_loss"],
                        )
                    ]
                )
            for key, values in zip(found, np.array(each).T, strict=True):
                found[key].append(values.mean())
                if size == 10_000:
                    known = 0.0 if "plugin" not in key else None
                    cells.append(average(f"{key}, {n} labels, 10 000 instances", "loss", values, 5, known))
        for what in series:
            series[what] += [
                (f"{what}, {n} labels", "line", np.log10(sizes), found[what]),
                (f"{what} plugin, {n} labels", "dashed", np.log10(sizes), found[what + " plugin"]),
            ]
    panels = [Panel("log10 instances", what, lines) for what, lines in series.items()]
    return Part(
        "Plugin and debiased estimators for a perfect predictor",
        cells,
        panels,
        "EL and CL of a predictor that is right, by the number of instances; dotted plugin estimators lie "
        "far above 0 (EL at 1/12 and 1/30 of class 1, 1/6 and 1/15 over both), solid debiased ones at 0.",
        "Ten runs, labels from U(0, 1), 15 equal bins, as in the paper. Its picture has no numbers but "
        "says what they are: 0 for the debiased ones; EL of the plugin is E[q(1 - q)]/n, 1/12 and 1/30.",
        "chance: one of twenty",
    )


def best_log_concentration(h, f, penalty):
    """The log alpha_0 of each sample by its own labels alone: the root of (51), by bisection."""

    def cost(t):
        log_p = log_dirichlet_multinomial(h, f, jnp.exp(t), coefficient=False)
        return (penalty * t**2 - log_p / h.n).sum()

    slope, low, high = jax.jit(jax.grad(cost)), np.full(len(f), -40.0), np.full(len(f), 40.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        falls = np.asarray(slope(middle)) < 0
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
    return middle


def figure_3(quick):
    """Optimal concentrations."""
    z = np.array([0.001, 0.01, *np.arange(0.1, 0.95, 0.1), 0.99, 0.999])
    cells, panels, widths = [], [], []
    for penalty in (0.001, 0.005, 0.05):
        low, high = np.inf, -np.inf
        series = []
        for n in (2, 5, 10):
            for ones in range(n + 1):
                h = hist.from_counts(np.tile([n - ones, ones], (z.size, 1)))
                best = best_log_concentration(h, np.stack([1 - z, z], axis=1), penalty)
                low, high = min(low, best.min()), max(high, best.max())
                if n == 2:
                    series.append((f"{ones} of {n}", "line", z, best))
        cells.append(Cell(f"penalty {penalty}", "least log alpha_0", None, float(low), 0.0, 2))
        cells.append(Cell(f"penalty {penalty}", "largest log alpha_0", None, float(high), 0.0, 2))
        widths.append(high - low)
        panels.append(Panel("z_1", "best log alpha_0", series, f"penalty {penalty}, two labels"))
    holds = float(widths == sorted(widths, reverse=True))
    cells.append(Cell("range holds 0 and narrows with the penalty (1: yes)", "claim", 1.0, holds, digits=0))
    return Part(
        "Best concentrations by penalty",
        cells,
        panels,
        "log alpha_0 over z_1 for all histograms of 2, 5 and 10 labels; the range holds 0 and narrows "
        "with lambda.",
        "The penalties of the paper's panels are lost with the picture; these are ours (its default is "
        ".005).",
    )


def _reliability(table, column=0):
    """Predicted and observed means of bins."""
    t = table.table
    count = np.asarray(t.count)[column]
    on = count > 0
    return np.asarray(t.predicted)[column][on], np.asarray(t.target)[column][on]


def _diagram(name, quick, title):
    series = [("calibrated", "dashed", [0.0, 1.0], [0.0, 1.0])]
    for method, table in losses(name, 2, quick).items():
        kind = "dashed" if "+ts" in method else "line"  # the two of a pair are nearly one curve
        series.append((method, kind, *_reliability(table.disagreement)))
    return Panel("predicted disagreement", "observed", series, title, (0, 1, 0, 1))


def figure_1(quick):
    """Reliability of disagreement."""
    return Part(
        "Reliability of disagreement probabilities, MDS",
        [Cell("curves", "", None, None, reason=MEDICAL)],
        [_diagram("MDS", quick, "simulated stand-in")],
        "diagrams by six methods: dotted without alpha-calibration below the diagonal, solid with it on it.",
        STAND_IN,
    )


def _map(quick, name, column):
    series, right, top = [], 0.0, 0.0
    for method, table in losses(name, 2, quick).items():
        if "+alpha" in method:  # concentrations leave the probabilities as they are, and so these two losses
            continue
        x, y = (table.estimates[f"{what}_loss"] for what in ("calibration", "dispersion"))
        half = [float(x.sd), float(x.sd), float(y.sd), float(y.sd)]
        series.append((method, "error", [float(x.mean)], [float(y.mean)], half))
        right, top = (max(end, float(v.mean + 4 * v.sd)) for end, v in ((right, x), (top, y)))
    return Part(
        f"Calibration-dispersion map and reliability, {column}",
        [Cell("points and curves", "", None, None, reason=MEDICAL)],
        [
            Panel("calibration loss", "dispersion loss", series, limits=(0, right, 0, top)),
            _diagram(name, quick, "simulated stand-in"),
        ],
        "(a) every method as a point, calibration against dispersion loss: ensembles with augmentation "
        "least; (b) reliability of disagreement as in Figure 1.",
        STAND_IN + " Bars are standard errors; alpha-calibration moves no point of (a).",
    )


def figure_5(quick):
    """MDS-1."""
    return _map(quick, "MDS", "MDS-1")


def figure_6(quick):
    """MDS-full."""
    return _map(quick, "MDS-full", "MDS-full")


def figure_4(quick):
    """What temperature scaling moves."""
    cells, panels = [], []
    for column, value in zip(SETS, (0.027, 0.025, 0.101, 0.103, 0.019), strict=True):
        name, number = column.partition("(")[0], int((column.partition("(")[2] or "2)")[:-1])
        cells.append(Cell("mean change of disagreement (text of F.2)", column, value, None,
                          reason=MEDICAL if name == "MDS" else NETWORK))  # fmt: skip
        made = calibrated(name, number, quick)
        if made is None:
            continue
        raw, scaled = made[0]["Raw"][0], made[0]["Raw+ts"][0]
        change = (raw**2).sum(axis=1) - (scaled**2).sum(axis=1)
        cells.append(
            Cell("stand-in: mean change", column, None, change.mean(), change.std() / np.sqrt(change.size))
        )
        if number == 2:
            some = slice(0, 120)
            panels.append(
                Panel(
                    "change of the largest probability",
                    "change of disagreement",
                    [("", "points", (scaled.max(axis=1) - raw.max(axis=1))[some], change[some])],
                    name,
                )
            )
    return Part(
        "What temperature scaling moves",
        cells,
        panels,
        "scatters: largest class probabilities fall and disagreement probabilities rise with temperature "
        "scaling.",
        STAND_IN,
    )


PAPER = Paper(
    "mimori",
    "Mimori et al. (2021), paper and jtruth side by side",
    "T. Mimori, K. Sasada, H. Matsui and I. Sato, *Diagnostic Uncertainty Calibration: Towards Reliable "
    "Machine Predictions in Medical Domain*, AISTATS 2021. Networks, images and medical data are "
    "not public. Results from public labels are compared; the rest is shown for simulated "
    "stand-ins. There is no Table 7: what the text calls Tables 7.2 and F.3 are Tables 1, 2 and 6. "
    "Estimates are for the population.",
    {
        "Figure 1": figure_1,
        "Figure 2": figure_2,
        "Table 1": table_1,
        "Table 2": table_2,
        "Table 3": Part(
            "Summary of metrics",
            says="A list of formulas, all of them in `jtruth.histograms`: squared, epistemic, calibration "
            "and dispersion loss of class probabilities, and of disagreement. "
            "`tests/histograms/test_histogram_losses.py` checks each by enumeration of all label "
            "vectors.",
        ),
        "Figure 3": figure_3,
        "Table 4": table_4,
        "Table 5": table_5,
        "Figure 4": figure_4,
        "Table 6": table_6,
        "Figure 5": figure_5,
        "Figure 6": figure_6,
    },
)
