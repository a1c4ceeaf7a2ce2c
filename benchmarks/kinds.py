"""Errors of models fitted to labels, by kind of labelers: the table of `model_error`, and its coverage.

Run: python benchmarks/kinds.py fit DATA CACHE [SEEDS, 3] [PART/PARTS]  estimates of every case, 40 CPU min
     Target of all: these samples ("in-sample"); new samples: benchmarks/new_samples.py.
     python benchmarks/kinds.py learn CACHE          the numbers of `model_error.ERRORS`
     python benchmarks/kinds.py judge CACHE          no gold: every source left out of the learning in turn
     python benchmarks/kinds.py gold CACHE [DRAWS]   3 to 300 gold answers: `gold_tables` beside PPI++; with a
                                                     third argument, votes: no model, sets with ties only
     python benchmarks/kinds.py pairs CACHE [DRAWS]  differences of two classifiers, P(better), with gold too
     python benchmarks/kinds.py corners [SETS]       simulated: cases that real sets do not have
     python benchmarks/kinds.py scores DATA [SEEDS, 2] [SETS, 100]   areas of scores, no gold; 10 CPU min

Cases: 400 samples (108 bluebirds) of 36 public sets of 21 sources, labels of all judges or of 3 or 5 of a
crowd; graded are up to four shipped classifiers, up to four labelers by the others, and the strongest
classifier or labeler by the weakest labelers, in two subsamples (one of each set of triviaqa); pairs of
classifiers and of labelers who are then left out: the best and the worst, the two best, two at random.
Sources are the units: every number is a mean over sources of means over cases, "least" is that of the worst
source. Errors are learned with sources, and both halves of the cases in each, with equal weights: classifiers
that are better than all their labelers and others; differences above .12 and others. pandalm_people is left
out (its truth is the vote), and bluebirds' best by its three worst labelers (wrong more often than right,
which every answer rules out). Monte Carlo error of a mean over ten sources: about .02 at .95, .05 at .9; of
one source .03 to .1. Slopes and the weights of the mixture were chosen on these sets, so the numbers are a
little too good; on 77 cases of 15 other sources the numbers before these covered accuracy in .91 (LLM judges,
said), .96 (not said), .91 and .94 (people), differences in .72 (LLM judges).

Measured: Intel Xeon, 2 shared cores, Python 3.11.7, jax 0.10, numpy 2.4. Covered (least) / width / error.

No gold, each source left out             kind of labelers given      kind of labelers unknown
    accuracy               LLM judges .949 (.75) / .551 / .118    .949 (.75) / .551 / .118
    accuracy               people     .984 (.86) / .373 / .054    1.00 (1.0) / .510 / .057
    labelers               LLM judges .947 (.67) / .546 / .108    .947 (.67) / .546 / .108
    labelers               people     .972 (.75) / .401 / .056    1.00 (1.0) / .526 / .060
    macro_f1               LLM judges .989 (.95) / .600 / .092    .989 (.95) / .600 / .092
    macro_f1               people     .982 (.93) / .376 / .051    1.00 (1.0) / .524 / .044
    macro_recall           LLM judges 1.00 (1.0) / .603 / .085    1.00 (1.0) / .603 / .085
    macro_recall           people     1.00 (1.0) / .375 / .049    1.00 (1.0) / .522 / .041
    precision              LLM judges .931 (.69) / .689 / .179    .931 (.69) / .689 / .179
    precision              people     .980 (.86) / .565 / .083    .995 (.96) / .687 / .089
    recall                 LLM judges .984 (.86) / .674 / .121    .984 (.86) / .674 / .121
    recall                 people     .995 (.96) / .544 / .071    1.00 (1.0) / .671 / .073
    f1                     LLM judges .979 (.86) / .706 / .131    .979 (.86) / .706 / .131
    f1                     people     1.00 (1.0) / .566 / .068    1.00 (1.0) / .695 / .073
    class shares           LLM judges .909 (.50) / .556 / .117    .909 (.50) / .556 / .117
    class shares           people     .929 (.50) / .341 / .049    1.00 (1.0) / .516 / .046
    difference of accuracy LLM judges .948 (.73) / .537 / .152    .948 (.73) / .537 / .152
    difference of accuracy people     1.00 (1.0) / .362 / .051    1.00 (1.0) / .461 / .050
    difference of f1       LLM judges .971 (.80) / .689 / .157    .971 (.80) / .689 / .157
    difference of f1       people     1.00 (1.0) / .494 / .053    1.00 (1.0) / .623 / .061
    difference of macro_f1 LLM judges .979 (.94) / .716 / .098    .979 (.94) / .716 / .098
    difference of macro_f1 people     1.00 (1.0) / .597 / .082    1.00 (1.0) / .773 / .081
    difference of labelers LLM judges .974 (.83) / .681 / .095    .974 (.83) / .681 / .095
    difference of labelers people     .994 (.95) / .553 / .076    .985 (.92) / .703 / .078
Intervals under independence (the draws of the same cases) cover accuracy in .116 (least .00) of the cases of
LLM judges and .465 (.00) of those of people.
By halves, kind given         better than all labelers, or far apart    others
    accuracy               LLM judges .967 (.64) / .552 / .093    .937 (.67) / .552 / .130
    accuracy               people     1.00 (1.0) / .368 / .072    .984 (.86) / .379 / .050
    precision              LLM judges .921 (.64) / .690 / .191    .934 (.71) / .687 / .171
    precision              people     1.00 (1.0) / .497 / .078    .980 (.86) / .584 / .081
    recall                 LLM judges .999 (.99) / .673 / .122    .978 (.82) / .672 / .122
    recall                 people     1.00 (1.0) / .497 / .072    .995 (.96) / .555 / .069
    f1                     LLM judges 1.00 (1.0) / .711 / .113    .968 (.79) / .704 / .142
    f1                     people     1.00 (1.0) / .500 / .076    1.00 (1.0) / .581 / .066
    labelers               LLM judges .955 (.50) / .543 / .095    .948 (.60) / .547 / .112
    labelers               people     1.00 (1.0) / .368 / .065    .970 (.73) / .408 / .057
    difference of accuracy LLM judges .935 (.64) / .719 / .243    .989 (.89) / .380 / .070
    difference of accuracy people     1.00 (1.0) / .708 / .143    1.00 (1.0) / .341 / .032
    difference of f1       LLM judges .957 (.70) / .967 / .181    1.00 (1.0) / .502 / .079
    difference of f1       people     1.00 (1.0) / .615 / .097    1.00 (1.0) / .431 / .026
Errors of points: printed (median within the estimates), mean of the distribution, vote, independence.
    accuracy               LLM judges .118  .107  .118  .163
    accuracy               people     .054  .058  .060  .060
    labelers               LLM judges .108  .089  .107  .159
    labelers               people     .056  .062  .064  .070
    precision              LLM judges .179  .166  .180  .203
    precision              people     .083  .088  .107  .085
    recall                 LLM judges .121  .122  .116  .160
    recall                 people     .071  .079  .089  .078
    f1                     LLM judges .131  .127  .125  .177
    f1                     people     .068  .075  .087  .076
    class shares           LLM judges .117  .113  .120  .124
    class shares           people     .049  .048  .054  .048
P(better) of two labelers above .95: people 93, of which 93 right; else it is never that high.
P(better) of two classifiers, no gold: LLM judges said .55 .65 .73 .83 .92, right .50 .45 .72 .50 .75 (129 119
36 10 4): that is why none is printed; people said .54 .64 .75 .87 .93, right .57 .58 .85 .96 1.0 (90 in all).

Differences given gold                    tables of `gold_tables`     PPI++
     10 diff. accuracy     LLM judges .959 (.80) / .333 / .077    .968 (.87) / .684 / .104
     10 diff. accuracy     people     1.00 (1.0) / .269 / .050    .990 (.94) / .529 / .076
     10 diff. f1           LLM judges .939 (.83) / .352 / .081    .942 (.87) / .677 / .103
     10 diff. f1           people     1.00 (1.0) / .392 / .065    .988 (.94) / .544 / .088
     10 diff. macro_f1     LLM judges .969 (.91) / .341 / .060    .979 (.94) / .740 / .117
     10 diff. macro_f1     people     1.00 (1.0) / .385 / .070    1.00 (1.0) / .694 / .147
     30 diff. accuracy     LLM judges .962 (.93) / .235 / .049    .940 (.88) / .332 / .060
     30 diff. accuracy     people     .969 (.94) / .183 / .033    .969 (.88) / .230 / .044
     30 diff. f1           LLM judges .963 (.91) / .244 / .050    .968 (.91) / .333 / .063
     30 diff. f1           people     .988 (.94) / .285 / .048    .975 (.88) / .307 / .061
     30 diff. macro_f1     LLM judges .958 (.88) / .260 / .053    .917 (.88) / .370 / .080
     30 diff. macro_f1     people     .938 (.94) / .295 / .048    .875 (.88) / .338 / .080
    100 diff. accuracy     LLM judges .951 (.81) / .126 / .025    .951 (.88) / .159 / .032
    100 diff. accuracy     people     .988 (.94) / .096 / .016    .975 (.94) / .104 / .018
    100 diff. f1           LLM judges .973 (.93) / .128 / .024    .948 (.88) / .160 / .030
    100 diff. f1           people     .984 (.94) / .173 / .028    .911 (.83) / .158 / .025
    100 diff. macro_f1     LLM judges .885 (.78) / .153 / .032    .875 (.81) / .190 / .042
    100 diff. macro_f1     people     1.00 (1.0) / .170 / .019    1.00 (1.0) / .172 / .025
P(better) with 10 gold: said .55 .66 .74 .85 .96, right .64 .61 .74 .84 1.0 (56 72 93 69 93); 30 gold: said
.56 .64 .74 .86 .98, right .57 .52 .70 .87 .97 (30 44 63 71 176), of 84 above .99 none wrong; 100: said .55
.64 .76 .85 .99, right .57 .56 .69 .83 .99, of 188 above .99 none wrong. Before `predicted` allowed a
classifier to be better than the labels: accuracy of LLM judges with 10 and 30 gold .856 and .901, P of .8 to
.9 right in .67 and .73 (10 and 30).

Random gold, one draw a case              tables of `gold_tables`     PPI++
      3 accuracy           LLM judges .991 (.96) / .554 / .091    .997 (.97) / .846 / .131
      3 accuracy           people     .992 (.93) / .519 / .100    .992 (.93) / .809 / .155
     10 accuracy           LLM judges .981 (.94) / .399 / .070    .969 (.89) / .552 / .086
     10 accuracy           people     1.00 (1.0) / .332 / .051    .931 (.67) / .366 / .066
     30 accuracy           LLM judges .975 (.83) / .253 / .050    .964 (.90) / .307 / .057
     30 accuracy           people     .992 (.93) / .186 / .034    .977 (.93) / .197 / .037
     30 precision          LLM judges .954 (.88) / .325 / .069    .963 (.90) / .373 / .076
     30 precision          people     .973 (.93) / .411 / .104    .900 (.67) / .503 / .139
     30 recall             LLM judges .950 (.87) / .256 / .056    .971 (.93) / .331 / .061
     30 recall             people     1.00 (1.0) / .374 / .080    .900 (.67) / .495 / .114
     30 f1                 LLM judges .947 (.87) / .261 / .049    .955 (.87) / .300 / .057
     30 f1                 people     1.00 (1.0) / .371 / .088    .917 (.67) / .425 / .100
     30 macro_f1           LLM judges 1.00 (1.0) / .266 / .049    .929 (.88) / .330 / .071
     30 macro_f1           people     .982 (.93) / .211 / .034    .943 (.86) / .215 / .037
    100 accuracy           LLM judges .968 (.91) / .131 / .025    .962 (.91) / .143 / .029
    100 accuracy           people     .990 (.92) / .091 / .020    .880 (.71) / .087 / .019
    100 precision          LLM judges .955 (.93) / .177 / .038    .924 (.88) / .188 / .040
    100 precision          people     .931 (.86) / .228 / .057    .876 (.71) / .289 / .078
    100 recall             LLM judges .948 (.91) / .141 / .032    .951 (.89) / .164 / .034
    100 recall             people     .984 (.94) / .216 / .048    .961 (.92) / .313 / .069
    100 f1                 LLM judges .965 (.93) / .137 / .028    .946 (.92) / .146 / .029
    100 f1                 people     .984 (.94) / .212 / .050    .843 (.71) / .244 / .057
    100 macro_f1           LLM judges .975 (.94) / .148 / .032    .887 (.79) / .155 / .037
    100 macro_f1           people     .979 (.92) / .102 / .022    .979 (.92) / .095 / .017
    300 accuracy           LLM judges .945 (.81) / .044 / .009    .951 (.81) / .047 / .009
    300 accuracy           people     .977 (.92) / .029 / .006    .960 (.80) / .029 / .005
Where votes are tied (more than 2 % of a set; guesses by vote shares alone, 15 draws of gold a case, 12
sources of judges, 6 of people, for F1 7 and 3) ties go to the class that labels name most in all:
                           LLM judges                    people
    10 gold  accuracy      .973 (.94) / .398 / .075      .983 (.96) / .351 / .071
    10 gold  f1            .964 (.94) / .409 / .078      .887 (.74) / .604 / .167
    30 gold  accuracy      .962 (.93) / .254 / .051      .972 (.93) / .202 / .041
    30 gold  f1            .952 (.93) / .254 / .053      .950 (.89) / .438 / .117
   100 gold  accuracy      .966 (.94) / .132 / .026      .970 (.93) / .094 / .020
   100 gold  f1            .957 (.93) / .131 / .026      .960 (.94) / .228 / .059
The rule was chosen before labels could name a class too often, on 13 sources. Its numbers then, and in
brackets those of ties that went to the first class, and to the last one, which is the same data with the
classes' names exchanged:
    10 accuracy  LLM judges .962 / .376 / .075 (.958 / .378 / .076, .964 / .372 / .072)
    10 accuracy  people     .956 / .310 / .067 (.951 / .311 / .068, .956 / .315 / .071)
    10 f1        LLM judges .967 / .403 / .078 (.965 / .402 / .079, .969 / .406 / .078)
    10 f1        people     .950 / .694 / .183 (.950 / .694 / .183, .833 / .717 / .210)
    30 accuracy  LLM judges .956 / .242 / .047 (.939 / .244 / .048, .953 / .240 / .047)
    30 accuracy  people     .954 / .181 / .040 (.954 / .180 / .039, .954 / .185 / .041)
    30 f1        LLM judges .956 / .252 / .052 (.942 / .255 / .054, .948 / .252 / .050)
    30 f1        people     .950 / .526 / .129 (.950 / .526 / .129, .958 / .557 / .145)
Other ways that do not go by names: ties a stratum of their own (10 gold: accuracy .951 / .364 / .074 and
.949 / .311 / .070, but F1 of people .825 / .679 / .206); ties to what the classifier says (.955 / .378 / .076
and .975 / .312 / .066, F1 of people .958 / .723 / .184).

Scores, no gold: are the areas of the scores themselves covered? People: 6 sources, 36 cases of two seeds;
LLM judges: dl23 and cebab, whose scores are 4 and 5 levels, 12 cases; simulated, 100 sets of each regime.
Twelve bins, half of their mass that of the positives by the votes.
    area under the ROC  people, said      1.00 (1.0) / .312 / .032
    area under the ROC  people, not said  1.00 (1.0) / .442 / .045
    area under the ROC  LLM               1.00 (1.0) / .361 / .072
    area under the ROC  simulated         1.00 (1.0) / .547 / .088
    average precision   people, said      .938 (.75) / .430 / .098
    average precision   people, not said  .979 (.88) / .552 / .100
    average precision   LLM               .938 (.88) / .475 / .099
    average precision   simulated         1.00 (1.0) / .598 / .093
Why not eight bins of equal numbers: where positives are few (restaurant .04, cifar10h .1) these have an
average precision of .36 where that of the scores is 1.0, which no widening knows. With the distributions
of an earlier version average precision of people was covered .604 (.00) at .463 by them, and .979 (.88) at
.397 by twelve bins. Also of that version: with gold areas of rare classes are too low (vote
shares alone as the guess, 30 and 100 gold): people .69 and .74 of the areas under the ROC were covered,
restaurant, cifar10h and labelme .4 to .7, rte and sentiment all; simulated, shares of .08 to .5, .91
and .87. A guess that may be worth more, or be sharper, and a smaller even part moved that to .81 at most.

Simulated corners, 40 sets each; covered / width accuracy      precision     recall        f1
    two labelers            no gold  1.00 / .574  1.00 / .753  1.00 / .738  1.00 / .742
    two labelers            30 gold  .975 / .198  .950 / .318  1.00 / .244  .975 / .248
    2 % positives           no gold  1.00 / .536  1.00 / .642  .975 / .858  1.00 / .700
    2 % positives           30 gold  1.00 / .120  1.00 / .384  1.00 / .818  1.00 / .502
    half adversaries        no gold  1.00 / .581  1.00 / .753  1.00 / .747  1.00 / .749
    half adversaries        30 gold  1.00 / .168  1.00 / .265  1.00 / .228  1.00 / .208
    missing by class        no gold  1.00 / .554  1.00 / .724  1.00 / .724  1.00 / .724
    missing by class        30 gold  1.00 / .173  1.00 / .290  1.00 / .238  1.00 / .227
    copies one labeler      no gold  1.00 / .505  1.00 / .669  1.00 / .651  1.00 / .661
    copies one labeler      30 gold  1.00 / .178  1.00 / .276  .975 / .226  1.00 / .211
    drift                   no gold  1.00 / .531  1.00 / .714  1.00 / .681  1.00 / .700
    drift                   30 gold  1.00 / .159  1.00 / .261  1.00 / .211  1.00 / .202
    two copying clusters    no gold  1.00 / .570  1.00 / .753  1.00 / .747  1.00 / .750
    two copying clusters    30 gold  .975 / .192  1.00 / .305  .975 / .250  .975 / .242
    difficulty felt by all  no gold  1.00 / .551  1.00 / .716  1.00 / .716  1.00 / .715
    difficulty felt by all  30 gold  1.00 / .229  .925 / .363  1.00 / .293  .975 / .294
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"

import csv  # noqa: E402
import gzip  # noqa: E402
import itertools  # noqa: E402
import sys  # noqa: E402
from collections import defaultdict  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import NamedTuple  # noqa: E402

import jax  # noqa: E402
import numpy as np  # noqa: E402
from scipy.optimize import minimize  # noqa: E402
from scipy.special import logit  # noqa: E402
from scipy.stats import norm  # noqa: E402
from scipy.stats import t as student  # noqa: E402
from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.metrics import average_precision_score, roc_auc_score  # noqa: E402

import jtruth as jt  # noqa: E402
from jtruth.evaluation import inputs  # noqa: E402
from jtruth.evaluation.assumptions import model_error as me  # noqa: E402
from jtruth.evaluation.assumptions.ranges import labeler_draws  # noqa: E402
from jtruth.evaluation.assumptions.registry import entries  # noqa: E402
from jtruth.evaluation.compare import parts_of  # noqa: E402
from jtruth.evaluation.gold.tables import gold_tables, ppi_metric  # noqa: E402
from jtruth.evaluation.parts import Assumption  # noqa: E402
from jtruth.latent import Effort  # noqa: E402
from jtruth.stats.ppi import gold_sample  # noqa: E402
from jtruth.tables.metrics import named_metric  # noqa: E402
from jtruth.tables.pairs import Tuples  # noqa: E402

SIZE, KEPT = 400, 300
EFFORT = Effort(max_rhat=1.05, min_ess=100, max_work=2.5e8, nuisance=False)
SOURCE = {  # of each set; its kind follows
    "cifar10h_a": "cifar10h", "cifar10h_b": "cifar10h", "alt_cebab_aspects": "cebab",
    "alt_cebab_stars": "cebab", "alt_lgbteen": "lgbteen", "alt_summeval_consistency": "summeval",
    "alt_summeval_cut": "summeval", "pandalm_judges": "pandalm", "autoj_pairwise": "autoj",
    "frank_cnn": "frank", "frank_xsum": "frank", "code_python": "code", "code_java": "code",
    "openqa_nq301": "openqa", "llmjudge_dl23": "dl23", "llmbar_weak": "llmbar", "llmbar_strong": "llmbar",
    "judgebench_a": "judgebench", "judgebench_b": "judgebench", "triviaqa_gpt-4t": "triviaqa",
    "triviaqa_llama2-13b-base": "triviaqa", "triviaqa_llama2-13b-chat": "triviaqa",
    "triviaqa_llama2-70b-base": "triviaqa", "triviaqa_llama2-70b-chat": "triviaqa",
    "triviaqa_llama2-7b-base": "triviaqa", "triviaqa_llama2-7b-chat": "triviaqa",
    "triviaqa_mistral-7b-chat": "triviaqa",
}  # fmt: skip
SETS = (*(s for s in me.SOURCES[me.PEOPLE] if s != "cifar10h"), *SOURCE)
LEVEL = 0.95


def source_of(name):
    """Source and kind of a set."""
    source = SOURCE.get(name, name)
    return source, next(kind for kind, known in me.SOURCES.items() if source in known)


# Cases


def rows_of(folder, name):
    """Rows of a table, header left out; none if there is no such file."""
    for path, opener in ((folder / f"{name}.csv", open), (folder / f"{name}.csv.gz", gzip.open)):
        if path.exists():
            with opener(path, "rt", newline="") as file:
                return list(csv.reader(file))[1:]
    return []


class Known(NamedTuple):
    """A public set."""

    truth: np.ndarray  # -1 unknown
    models: dict  # name: predictions, -1 where there is none
    labels: list  # of every sample (labeler, label)
    classes: int
    crowd: bool  # labelers are exchangeable


def load(folder):
    """A public set."""
    rows = [(int(task), int(label)) for task, label, *_ in rows_of(folder, "truth")]
    size = 1 + max(task for task, _ in rows)
    truth, labels = np.full(size, -1), [[] for _ in range(size)]
    for task, label in rows:
        truth[task] = label
    crowd = (folder / "histograms.npz").exists()
    if crowd:
        counts = np.load(folder / "histograms.npz")["counts"]
        labels = [[(0, c) for c in np.repeat(np.arange(len(row)), row)] for row in counts]
    else:
        for task, worker, label, *_ in rows_of(folder, "labels"):
            if int(task) < size:
                labels[int(task)].append((int(worker), int(label)))
    models = defaultdict(lambda: np.full(size, -1))
    for model, task, label, *_ in rows_of(folder, "predictions"):
        models[model][int(task)] = int(label)
    said = [c for row in labels for _, c in row]
    classes = 1 + max([truth.max(), *said, *(p.max() for p in models.values())])
    return Known(truth, dict(models), labels, int(classes), crowd)


def labels_of(rng, chosen, known, most, keep=None, without=None):
    """Labels of these samples, at most so many each, of labelers in `keep` and not `without`."""
    rows = []
    for k, i in enumerate(chosen):
        mine = [v for v in known.labels[i] if (keep is None or v[0] in keep) and v[0] != without]
        for j, p in enumerate(rng.permutation(len(mine))[:most]):
            rows.append((k, j if known.crowd else mine[p][0], mine[p][1]))
    sample, worker, label = (np.array(v) for v in zip(*rows, strict=True))
    worker = np.unique(worker, return_inverse=True)[1]
    return jt.Labels.from_long(sample, worker, label, num_classes=known.classes, repeats="keep")


def cases(name, folder, seed):
    """(case, truth, labels, predictions) of one subsample."""
    known, rng = load(folder / name), np.random.default_rng([seed, 28])
    panel = source_of(name)[1] == me.LLM_JUDGES
    usable = np.array([i for i in np.flatnonzero(known.truth >= 0) if len(known.labels[i]) >= 2])
    workers, count = np.unique([w for i in usable for w, _ in known.labels[i]], return_counts=True)
    dense = not known.crowd and workers.size <= 40 and count.min() > 0.5 * usable.size
    most = 99 if panel else 3 + 2 * (seed % 2)

    def right(w):
        return np.mean([c == known.truth[i] for i in usable for v, c in known.labels[i] if v == w])

    def sub(among):
        return np.sort(rng.choice(among, min(SIZE, len(among)), replace=False))

    weak = sorted(workers, key=right)[: max(2, min(3, workers.size - 1))] if dense or panel else ()
    order = sorted(known.models, key=lambda m: np.mean((known.models[m] == known.truth)[usable]))
    shown = order if len(order) <= 4 else [order[(k * 7 + seed * 3) % len(order)] for k in range(4)]
    for m in shown:
        chosen = sub([i for i in usable if known.models[m][i] >= 0])
        yield f"model {m}", known.truth[chosen], labels_of(rng, chosen, known, most), known.models[m][chosen]
    if dense and order and workers.size > 2:
        p = known.models[order[-1]]
        some = [i for i in usable if p[i] >= 0 and sum(w in weak for w, _ in known.labels[i]) > 1]
        if len(some) >= 100:
            chosen = sub(some)
            given = labels_of(rng, chosen, known, most, keep=weak)
            yield f"strong {order[-1]} by weak", known.truth[chosen], given, p[chosen]
    if known.crowd:
        chosen = sub([i for i in usable if len(known.labels[i]) >= 4])
        place = {i: rng.integers(len(known.labels[i])) for i in chosen}
        y_pred = np.array([known.labels[i][place[i]][1] for i in chosen])
        rest = [[v for k, v in enumerate(row) if k != place.get(i)] for i, row in enumerate(known.labels)]
        given = labels_of(rng, chosen, known._replace(labels=rest), most)
        yield "labeler of many", known.truth[chosen], given, y_pred
        return
    own = defaultdict(dict)
    for i in usable:
        if len(known.labels[i]) >= 3:
            for w, c in known.labels[i]:
                own[w][i] = c
    busy = sorted((w for w in own if len(own[w]) >= 80), key=lambda w: -len(own[w]))[:20]
    busy.sort(key=right)
    at = range(len(busy)) if len(busy) <= 4 else sorted({0, len(busy) - 1, *rng.integers(len(busy), size=2)})
    for w in (busy[k] for k in at):
        chosen = sub(sorted(own[w]))
        given = labels_of(rng, chosen, known, most, without=w)
        yield f"labeler {w}", known.truth[chosen], given, np.array([own[w][i] for i in chosen])
    if dense and workers.size >= 4:
        best = max(workers, key=right)
        some = [i for i in own[best] if sum(w in weak for w, _ in known.labels[i]) > 1]
        if len(some) >= 80:
            chosen = sub(some)
            given = labels_of(rng, chosen, known, most, keep=weak)
            y_pred = np.array([own[best][i] for i in chosen])
            yield f"strong labeler {best} by weak", known.truth[chosen], given, y_pred


def pairs(name, folder, seed):
    """(case, truth, labels, predictions of two) of one subsample, of shipped classifiers and labelers.

    Labelers who are compared label no more. The best against the worst, the two best, and two by chance.
    """
    known, rng = load(folder / name), np.random.default_rng([seed + 2000, 28])
    usable = np.array([i for i in np.flatnonzero(known.truth >= 0) if len(known.labels[i]) >= 2])
    panel = source_of(name)[1] == me.LLM_JUDGES
    found = {f"model {m}": codes for m, codes in known.models.items()}
    workers, count = np.unique([w for i in usable for w, _ in known.labels[i]], return_counts=True)
    for w in () if known.crowd else workers[count > 0.5 * usable.size]:
        found[f"labeler {w}"] = np.full(known.truth.size, -1)
        for i in usable:
            found[f"labeler {w}"][i] = dict(known.labels[i]).get(w, -1)

    def right(one):
        given = usable[found[one][usable] >= 0]
        return np.mean(found[one][given] == known.truth[given])

    order = sorted(found, key=right)
    asked = [(order[0], order[-1]), tuple(order[-2:])] if len(order) > 1 else []
    others = [two for two in itertools.combinations(order, 2) if two not in asked]
    asked += [others[k] for k in rng.permutation(len(others))[:2]]
    for two in dict.fromkeys(asked):
        out = {int(one.split()[1]) for one in two if one.startswith("labeler")}
        rest = [[v for v in row if v[0] not in out] for row in known.labels]
        codes = np.array([found[one] for one in two])
        some = [i for i in usable if len(rest[i]) > 1 and (codes[:, i] >= 0).all()]
        if len(some) >= 100:
            chosen = np.sort(rng.choice(some, min(SIZE, len(some)), replace=False))
            given = labels_of(rng, chosen, known._replace(labels=rest), 99 if panel else 3 + 2 * (seed % 2))
            yield " and ".join(two), known.truth[chosen], given, codes[:, chosen]


def fitted(data, key):
    """Draws of the table of every reading, its members, and what labels say of the classes."""
    out, found = {}, []
    for entry in (e for e in entries(data) if e.base):
        counts, fit = entry.fit(data, key, EFFORT)
        if counts is None or not (fit is None or fit.usable):
            continue
        out[f"tables {entry.name}"] = counts[np.linspace(0, len(counts) - 1, KEPT).astype(int)]
        found.append(Assumption(entry.name, entry.sentence, posterior=data.tables(counts), fit=fit))
        if fit is not None:
            out["posterior"] = fit.class_posterior.astype(np.float32)
    return out, found


def fit(data, cache, seeds=3, part="0/1"):
    """Every case once, into the folder `cache`."""
    cache.mkdir(exist_ok=True, parents=True)
    one, of = map(int, part.split("/"))
    jobs = list(itertools.product(range(int(seeds)), SETS))
    for seed, name in jobs[one::of]:
        if name.startswith("triviaqa") and SETS.index(name) % 2 != seed % 2:
            continue
        source, kind = source_of(name)
        about = {"set": name, "source": source, "kind": kind}
        if not (name == "bluebirds" and seed):
            for case, y, labels, y_pred in cases(name, data, seed):
                if y.size >= 60 and not (name == "bluebirds" and case.startswith("strong")):
                    given = inputs.read(y_pred, labels, None, None, None, None)
                    out, _ = fitted(given, jax.random.key(seed))
                    save(cache, f"case {name} {seed} {case}", out | about, y, labels, y_pred=y_pred)
        for case, y, labels, codes in pairs(name, data, seed):
            given = inputs.read(codes[0], labels, None, None, None, None)
            if len(given.classes) <= 5 and (codes[0] != codes[1]).any():
                _, part, what = parts_of(codes.astype(np.int64), given)[0]
                out, _ = fitted(part, jax.random.key(seed))
                out |= {"symbols": part.y_pred, "predicted": what.predicted}
                save(cache, f"pair {name} {seed} {case}", out | about, y, labels, codes=codes)
        alone(cache, data, name, seed, about)


def alone(cache, data, name, seed, about):
    """Labels without a classifier: how good labelers are, and shares of classes."""
    known, rng = load(data / name), np.random.default_rng([seed + 1000, 28])
    usable = np.array([i for i in np.flatnonzero(known.truth >= 0) if len(known.labels[i]) >= 3])
    if not usable.size:
        return
    chosen = np.sort(rng.choice(usable, min(SIZE, usable.size), replace=False))
    labels = labels_of(rng, chosen, known, 99 if about["kind"] == me.LLM_JUDGES else 5)
    asked, y = inputs.read_labels_alone(labels), known.truth[chosen]
    out, found = fitted(asked, jax.random.key(seed))
    for reading, draws in labeler_draws(found, labels, "in-sample", jax.random.key(seed)).items():
        out[f"labelers {reading}"] = draws[np.linspace(0, len(draws) - 1, KEPT).astype(int)]
    sample, worker, label = labels.arrays
    out["right"] = np.bincount(worker, label == y[sample], minlength=labels.num_labelers)
    out["number"] = np.bincount(worker, minlength=labels.num_labelers)
    save(cache, f"alone {name} {seed}", out | about, y, labels)


def save(cache, name, out, y, labels, **more):
    """One case as a file."""
    more |= dict(zip(("sample", "worker", "label"), labels.arrays, strict=True))
    np.savez_compressed(cache / f"{name.replace('/', '_')}.npz", **out, y=y, votes=labels.counts(), **more)
    print(name, flush=True)


# What readings missed


class Row(NamedTuple):
    """One number of one case."""

    group: str
    metric: str
    kind: str
    source: str
    half: bool  # the classifier is better than all its labelers; of a difference, whether it is large
    truth: float
    bounds: tuple
    size: float
    draws: dict  # by reading


def cached(cache, what):
    """Every case of a kind: its arrays."""
    for file in sorted(cache.glob(f"{what} *.npz")):
        yield dict(np.load(file))


def tables(case):
    """By name of the reading, draws of its table."""
    return {k.removeprefix("tables "): case[k].astype(float) for k in case if k.startswith("tables ")}


def row_of(case, group, metric, truth, draws, size, bounds=(0.0, 1.0), half=False):
    """A row, or None where nothing is defined."""
    known = {k: v for k, v in draws.items() if not np.isnan(v).all()}
    if np.isnan(truth) or not known:
        return None
    about = group, metric, str(case["kind"]), str(case["source"]), bool(half)
    return Row(*about, float(truth), bounds, float(size), known)


def right_of(case):
    """Labels of each labeler, and how many are right."""
    right = case["label"] == case["y"][case["sample"]]
    return np.bincount(case["worker"]), np.bincount(case["worker"], right)


def all_rows(cache):
    """Every number of every case."""
    found = []
    for case in cached(cache, "case"):
        size, classes = case["y"].size, case["votes"].shape[1]
        number, right = right_of(case)
        best = max((right / np.maximum(number, 1))[number >= MOSTLY], default=right.sum() / number.sum())
        table = np.zeros((classes, classes))
        np.add.at(table, (case["y"], case["y_pred"]), 1)
        names = [("accuracy", me.OVERALL)]
        names += [(n, me.OVERALL) for n in ("macro_recall", "macro_f1")] if classes > 2 else []
        if classes <= 5:
            each = itertools.product(("precision", "recall", "f1"), range(classes))
            names += [(f"{metric}[{c}]", me.CLASS) for metric, c in each]
        for name, group in names:
            metric = named_metric(name, range(classes), 1)
            draws = {k: np.asarray(metric.of_table(t)) for k, t in tables(case).items()}
            truth, better = float(metric.of_table(table)), np.trace(table) / size > best
            found.append(row_of(case, group, name.partition("[")[0], truth, draws, size, half=better))
    for case in cached(cache, "alone"):
        number, share = case["number"], case["right"] / np.maximum(case["number"], 1)
        busy = [t for t in np.argsort(-number)[:12] if number[t] >= MOSTLY]
        said = {k.removeprefix("labelers "): case[k] for k in case if k.startswith("labelers ")}
        for t in busy:
            draws = {k: v[:, t] for k, v in said.items()}
            half = share[t] >= share[busy].max()
            found.append(row_of(case, me.OVERALL, "labelers", share[t], draws, number[t], half=half))
        for s, t in itertools.combinations(busy, 2):
            draws, truth = {k: v[:, s] - v[:, t] for k, v in said.items()}, share[s] - share[t]
            size, half = min(number[s], number[t]), abs(truth) > LARGE
            found.append(row_of(case, me.LABELERS, me.LABELERS, truth, draws, size, (-1.0, 1.0), half))
        for c in range(case["votes"].shape[1] if case["votes"].shape[1] <= 5 else 0):
            draws = {k: t[:, c].sum(1) / t.sum((1, 2)) for k, t in tables(case).items()}
            share = float(np.mean(case["y"] == c))
            found.append(row_of(case, me.SHARE, "class shares", share, draws, case["y"].size))
    for case in cached(cache, "pair"):
        for metric, truth, draws, most in differences(case):
            if most > 0:
                found.append(row_of(case, me.DIFFERENCE, f"difference of {metric}", truth, draws,
                                    case["y"].size, (-most, most), abs(truth) > LARGE))  # fmt: skip
    return [row for row in found if row is not None]


def differences(case):
    """(metric, truth, draws by reading, most that it could be) of a pair."""
    classes = case["votes"].shape[1]
    what = Tuples(case["predicted"], classes)
    table = np.zeros((classes, what.num_symbols))
    np.add.at(table, (case["y"], case["symbols"]), 1)
    for name in ("accuracy", "f1" if classes == 2 else "macro_f1"):
        one = named_metric(name, range(classes), 1)
        metric, found = what.difference(one, 0, 1), tables(case)
        draws = {k: np.asarray(metric.of_table(t)) for k, t in found.items()}
        yield name, float(metric.of_table(table)), draws, what.most(one, 0, 1, table.sum(axis=0))


MOSTLY, LARGE = 20, 0.12  # labels, from which a labeler counts; a difference, above which it is large
TAUS = np.geomspace(0.02, 2.5, 20)
WEIGHT = 3.0  # so many independent cases a source is worth
# Chosen for coverage in both halves, not by likelihood: a source's cases hang together.
SLOPES = {
    (kind, group): slope
    for kind, slopes in {
        me.PEOPLE: (1.0, 1.0, 1.0, 0.75, 0.75),
        me.LLM_JUDGES: (0.5, 0.5, 0.75, 0.25, 0.25),
    }.items()
    for group, slope in zip((me.OVERALL, me.CLASS, me.SHARE, me.DIFFERENCE, me.LABELERS), slopes, strict=True)
}


def log_densities(rows, slope):
    """The log density of every row's truth under each tau, (rows, taus)."""
    each = []
    for row in rows:
        share = (row.truth - row.bounds[0]) / (row.bounds[1] - row.bounds[0])
        z = logit((np.clip(share, 0, 1) * row.size + 0.5) / (row.size + 1))
        said = [me.opinion(values[~np.isnan(values)], row.size, row.bounds) for values in row.draws.values()]
        scales = [np.hypot(slope * scale, TAUS) for _, scale in said]
        p = np.mean(
            [student.pdf((z - slope * c) / s, 3) / s for (c, _), s in zip(said, scales, strict=True)], 0
        )
        x = 1 / (1 + np.exp(-z))
        each.append(np.log((1 - me.FLAT) * p + me.FLAT * x * (1 - x)))
    return np.array(each)


def most_likely(rows, log_p, slope):
    """Errors (slope, log tau, spread): sources weigh alike, and in each both halves of its cases."""
    units = defaultdict(list)
    for row, one in zip(rows, log_p, strict=True):
        units[row.source, row.half].append(one)
    halves = defaultdict(int)
    for source, _ in units:
        halves[source] += 1
    weight = np.array([1 / halves[source] for source, _ in units])
    each = WEIGHT * np.array([np.mean(one, axis=0) for one in units.values()])
    top = each.max(axis=1, keepdims=True)

    def negative(q):
        w = norm.pdf(np.log(TAUS), q[0], np.exp(q[1])) + 1e-300
        value = np.log(np.exp(each - top) @ (w / w.sum())) + top[:, 0]
        return -weight @ value + 0.5 * ((q[1] - np.log(0.6)) / 0.4) ** 2

    found = minimize(negative, [np.log(0.3), np.log(0.6)], method="Nelder-Mead").x
    return slope, float(found[0]), float(np.exp(found[1]))


def learned(rows):
    """(errors by (kind, group), errors by (kind, group, source left out)) of all rows."""
    whole, without = {}, {}
    for (kind, group), slope in SLOPES.items():
        mine = [row for row in rows if (row.kind, row.group) == (kind, group)]
        log_p = log_densities(mine, slope)
        whole[kind, group] = most_likely(mine, log_p, slope)
        for source in {row.source for row in mine}:
            kept = [k for k, row in enumerate(mine) if row.source != source]
            found = most_likely([mine[k] for k in kept], log_p[kept], slope)
            without[kind, group, source] = found
    return whole, without


def learn(cache):
    """Print the table."""
    rows = all_rows(cache)
    for (kind, group), (slope, log_tau, spread) in learned(rows)[0].items():
        number = len({row.source for row in rows if (row.kind, row.group) == (kind, group)})
        print(f"{kind:<11}{group:<23} slope {slope:.2f}  log tau {log_tau:+.2f}  spread {spread:.2f}   "
              f"{number} sources")  # fmt: skip


def judge(cache):
    """Every source left out in turn: coverage, width, error; as its kind, and as of unknown kind."""
    rows = all_rows(cache)
    whole, without = learned(rows)
    told, points, better = Tally(), Tally(), defaultdict(list)
    for row in rows:
        me.ERRORS.update(whole)
        me.ERRORS[row.kind, row.group] = without[row.kind, row.group, row.source]
        half = HALVES["difference" in row.group][row.half]
        for said in (row.kind, me.UNKNOWN_KIND):
            one = me.dist_of(row.draws, row.group, said, row.size, row.bounds)
            for what in ((row.metric, row.kind, said), (row.metric, row.kind, said, half)):
                told.add(what, row, one.interval(LEVEL), one.mean)
            if "difference" in row.group and row.truth != 0:
                p = float((one.draws > 0).mean())
                better[row.group, row.kind, said].append((max(p, 1 - p), (p > 0.5) == (row.truth > 0)))
            if said == row.kind and "difference" not in row.group:
                means = {k: np.nanmean(v) for k, v in row.draws.items()}
                for name, point in {"printed": one.mean, "mean": one.draws.mean(), **means}.items():
                    points.add((row.metric, row.kind, "point", name), row, (0, 0), point)
    told.show()
    points.show()
    for what, found in better.items():
        print(*what)
        calibration(found)


HALVES = {False: ("not the best", "better than all labelers"), True: ("close", "far apart")}


class Tally:
    """Coverage, width and error by what and source."""

    def __init__(self):
        self.found = defaultdict(lambda: defaultdict(list))

    def add(self, what, row, ends, mean, width_of=None):
        """One interval."""
        low, high = ends
        held = low - 1e-9 <= row.truth <= high + 1e-9
        self.found[what][row.source].append((held, high - low, abs(mean - row.truth)))

    def show(self):
        """A line each: means over sources, and the sources."""
        for what, sources in sorted(self.found.items(), key=str):
            each = {s: np.mean(v, axis=0) for s, v in sources.items()}
            held, width, error = np.mean(list(each.values()), axis=0)
            least = min(v[0] for v in each.values())
            names = " ".join(f"{s[:8]} {v[0]:.2f}/{v[1]:.2f}" for s, v in each.items())
            name = " | ".join(map(str, what))
            print(
                f"{name:<42} {held:.3f} (least {least:.2f}) / {width:.3f} / {error:.3f}   {names}", flush=True
            )


def calibration(found):
    """Shares that are right beside the probabilities that were said."""
    p, right = np.array(found, float).T
    for low in np.arange(0.5, 1.0, 0.1):
        here = (p >= low) & (p < low + 0.1 + 1e-9)
        if here.any():
            print(f"    P(better) {low:.1f} to {low + 0.1:.1f}: said {p[here].mean():.2f}, right "
                  f"{right[here].mean():.2f} ({here.sum()})")  # fmt: skip
    sure = p >= 0.99
    print(f"    P(better) of .99 and more: {int(sure.sum())}, wrong {int((~right[sure].astype(bool)).sum())}")


# Gold


def smoothed_vote_shares(votes):
    """Vote shares after one more vote, spread evenly over the classes."""
    return (votes + 1 / votes.shape[1]) / (votes.sum(axis=1, keepdims=True) + 1)


def guess_of(case):
    """What labels alone say of the classes, as answers with gold take it."""
    shares = smoothed_vote_shares(case["votes"])
    return 0.5 * (shares + case["posterior"]) if "posterior" in case else shares


def golds(y, number, seed):
    """Random gold."""
    gold = np.full(y.size, -1)
    chosen = np.random.default_rng(seed).choice(y.size, number, replace=False)
    gold[chosen] = y[chosen]
    return gold


def gold(cache, draws=3, guess_by="models"):
    """Gold answers, beside PPI++; of "votes": sets where more than 2 % of the votes are tied."""
    for number in (3, 10, 30, 100, 300):
        told = Tally()
        for k, case in enumerate(cached(cache, "case")):
            y, classes, guess = case["y"], case["votes"].shape[1], guess_of(case)
            if guess_by == "votes":
                guess = smoothed_vote_shares(case["votes"])
                tied = (guess == guess.max(axis=1, keepdims=True)).sum(axis=1) > 1
            if number > 0.8 * y.size or (guess_by == "votes" and tied.mean() <= 0.02):
                continue
            table = np.zeros((classes, classes))
            np.add.at(table, (y, case["y_pred"]), 1)
            names = ("accuracy", "precision", "recall", "f1") if classes == 2 else ("accuracy", "macro_f1")
            for r in range(int(draws)):
                known = golds(y, number, [k, r, number])
                found = gold_tables(case["y_pred"], classes, guess, known, gold_sample(known >= 0), r)
                for name in names:
                    metric = named_metric(name, range(classes), 1)
                    truth = float(metric.of_table(table))
                    row = row_of(case, "", name, truth, {"": np.array([0.5])}, 1.0)
                    if row is not None:
                        for what, one in (
                            ("tables", found.estimate(metric)),
                            ("PPI++", ppi_metric(metric, case["y_pred"], guess, known).dist),
                        ):
                            told.add((number, name, row.kind, what), row, one.interval(LEVEL), one.mean)
        told.show()


def gold_pairs(cache, draws=3):
    """Differences given gold, beside PPI++; P(better) with 30."""
    for number in (10, 30, 100):
        told, better = Tally(), []
        for k, case in enumerate(cached(cache, "pair")):
            y, guess, what = case["y"], guess_of(case), Tuples(case["predicted"], case["votes"].shape[1])
            if number > 0.8 * y.size:
                continue
            for r in range(int(draws)):
                known = golds(y, number, [k, r, number])
                sample = gold_sample(known >= 0)
                found = gold_tables(case["symbols"], what.num_symbols, guess, known, sample, r,
                                    predicted=what.predicted)  # fmt: skip
                for name, truth, _, _ in differences(case):
                    metric = what.difference(named_metric(name, range(what.num_classes), 1), 0, 1)
                    row = row_of(case, "", name, truth, {"": np.array([0.5])}, 1.0)
                    ppi = ppi_metric(metric, case["symbols"], guess, known)
                    for said, one in (("tables", found.estimate(metric)), ("PPI++", ppi.dist)):
                        told.add(
                            (number, f"difference of {name}", row.kind, said),
                            row,
                            one.interval(LEVEL),
                            one.mean,
                        )
                    if name == "accuracy" and truth != 0:
                        p = float((found.estimate(metric).draws > 0).mean())
                        better.append((max(p, 1 - p), (p > 0.5) == (truth > 0)))
        told.show()
        calibration(better)


# Simulated corners


def corner(name, seed, size=400):
    """(truth, labels (samples, labelers), predictions) of two classes with what public sets do not have."""
    rng = np.random.default_rng([CORNERS.index(name), seed])
    labelers = {"two labelers": 2, "two copying clusters": 6, "half adversaries": 6}.get(name, 5)
    share = 0.02 if name == "2 % positives" else rng.uniform(0.25, 0.6)
    y = (rng.random(size) < share).astype(int)
    right = np.clip(rng.uniform(0.75, 0.9) + 0.06 * rng.uniform(-1, 1, labelers + 1), 0.55, 0.97)
    chance = np.repeat(right[:, None], size, axis=1)
    ease = rng.standard_normal(size)
    if name == "difficulty felt by all":
        chance = 1 / (1 + np.exp(-(logit(chance) + 1.4 * ease)))
    if name == "half adversaries":
        chance[1 : 1 + labelers // 2 - 1] = 0.2  # two of six; three would exchange the classes
    if name == "drift":
        chance[1] = np.where(np.arange(size) < size // 2, 0.92, 0.55)
    z = np.where(rng.random(chance.shape) < chance, y, 1 - y)
    if name == "copies one labeler":
        z[0] = np.where(rng.random(size) < 0.6, z[1], z[0])
    if name == "two copying clusters":
        for first in (1, 4):
            for t in (first + 1, first + 2):
                z[t] = np.where(rng.random(size) < 0.8, z[first], z[t])
    given = z[1:].T.copy()
    if name == "missing by class":
        given[rng.random(given.shape) > np.where(y == 1, 0.85, 0.45)[:, None]] = -1
        given[(given < 0).all(axis=1), 0] = z[1][(given < 0).all(axis=1)]
    return y, given, z[0]


CORNERS = ("two labelers", "2 % positives", "half adversaries", "missing by class", "copies one labeler",
           "drift", "two copying clusters", "difficulty felt by all")  # fmt: skip


def corners(sets=40):
    """Coverage / width / error in corners, without gold (kind unknown) and with 30."""
    for name in CORNERS:
        told = Tally()
        for seed in range(int(sets)):
            y, z, y_pred = corner(name, seed)
            table = np.zeros((2, 2))
            np.add.at(table, (y, y_pred), 1)
            labels = jt.Labels.from_matrix(z, 2)
            for what, known in (("no gold", None), ("30 gold", golds(y, 30, seed))):
                found = jt.evaluate(y_pred, labels, gold=known, key=seed, target="in-sample")
                for metric in ("accuracy", "precision", "recall", "f1"):
                    truth = float(named_metric(metric, (0, 1), 1).of_table(table))
                    dist_ = found.metrics[metric]
                    if not np.isnan(truth) and not np.isnan(dist_.mean):
                        row = Row("", metric, "", name, False, truth, (0.0, 1.0), 1.0, {})
                        told.add((name, what, metric), row, dist_.interval(LEVEL), dist_.mean)
        told.show()


# Scores


def scores_of(folder, name, seed):
    """(case, scores of all samples, NaN where unknown; classes that are positive) of a public set."""
    known, rng = load(folder / name), np.random.default_rng([seed, 77])
    if (folder / name / "predictions.npz").exists():
        said = np.load(folder / name / "predictions.npz")
        classes = (1,) if known.classes == 2 else rng.choice(known.classes, 2, replace=False)
        for model, c in itertools.product((k[:-5] for k in said if k.endswith("_prob")), classes):
            value = np.full(known.truth.size, np.nan)
            value[said[f"{model}_task"]] = said[f"{model}_prob"][:, c]
            yield f"{model} {c}", value, (c,)
    elif name == "labelme":
        found = {k: v.astype(float) for k, v in np.load(folder / name / "X.npz").items()}
        for used in (512, 20):  # features: a strong model, a weak one
            model = LogisticRegression(C=0.1, max_iter=2000).fit(found["X_valid"][:, :used], found["y_valid"])
            for c in rng.choice(8, 2, replace=False):
                yield f"{used} features {c}", model.predict_proba(found["X"][:, :used])[:, c], (c,)
    elif name in ("product", "sentiment_polarity"):
        train = rng.choice(known.truth.size, 1000 if name == "product" else 2000, replace=False)
        if name == "product":
            found = np.load(folder / name / "X.npz")["X"].astype(float)
        else:
            with gzip.open(folder / name / "task_text.csv.gz", "rt", newline="") as file:
                text = {int(task): words for task, words in list(csv.reader(file))[1:]}
            found = TfidfVectorizer(min_df=2).fit_transform(text.get(i, "") for i in range(known.truth.size))
        for used in (8, 2) if name == "product" else (found.shape[1],):
            model = LogisticRegression(max_iter=2000).fit(found[train][:, :used], known.truth[train])
            value = model.predict_proba(found[:, :used])[:, 1]
            value[train] = np.nan
            yield f"{used} features", value, (1,)
    else:  # levels
        names = sorted(known.models)
        for k in rng.permutation(len(names))[:4]:
            value = known.models[names[k]].astype(float)
            yield names[k], np.where(value < 0, np.nan, value), LEVELS[name]


LEVELS = {"llmjudge_dl23": (2, 3), "alt_cebab_stars": (3, 4)}  # that count as positive
SCORED = (
    "restaurant",
    "rte",
    "labelme",
    "product",
    "sentiment_polarity",
    "cifar10h_a",
    "cifar10h_b",
    *LEVELS,
)


def simulated_scores(regime, seed, size=400):
    """(truth, scores, labels): calibrated scores, or a logistic model's that does not see everything."""
    rng = np.random.default_rng([REGIMES.index(regime), seed, 5])
    share = rng.uniform(0.08, 0.5)
    if regime == "calibrated":
        much = rng.uniform(0.5, 4)
        score = rng.beta(much * share, much * (1 - share), size)
        y = (rng.random(size) < score).astype(int)
    else:
        weight = rng.standard_normal(6) * rng.uniform(0.4, 1.2)
        z = (x := rng.standard_normal((size + 150, 6))) @ weight
        y = (rng.random(size + 150) < 1 / (1 + np.exp(-2 * (z - np.quantile(z, 1 - share))))).astype(int)
        model = LogisticRegression().fit(x[:150, :4], y[:150])
        score, y = model.predict_proba(x[150:, :4])[:, 1], y[150:]
    labelers = int(rng.integers(3, 7))
    right = rng.uniform(0.68, 0.92, (labelers, 2))
    given = np.where(rng.random((size, labelers)) < right[:, y].T, y[:, None], 1 - y[:, None])
    given[(rng.random(given.shape) > 0.8) & (np.arange(labelers) > 1)] = -1
    return y, score, jt.Labels.from_matrix(given, 2)


REGIMES = ("calibrated", "logistic")


def binary(known, value, cut, rng, most):
    """(truth, scores, labels) of a subsample, the classes of `cut` against the others."""
    two = known._replace(labels=[[(w, int(c in cut)) for w, c in row] for row in known.labels], classes=2)
    usable = (known.truth >= 0) & np.isfinite(value) & (np.array([len(row) for row in known.labels]) > 1)
    chosen = np.sort(rng.choice(np.flatnonzero(usable), min(SIZE, usable.sum()), replace=False))
    y = np.isin(known.truth[chosen], cut).astype(int)
    return y, value[chosen], labels_of(rng, chosen, two, most)


def scores(data, seeds=2, sets=100):
    """Areas of scores without gold, of public sets and simulated ones: do posteriors hold those of the
    scores?"""
    told, areas = Tally(), {"auc": roc_auc_score, "average_precision": average_precision_score}

    def judged(y, score, labels, kind, source, key):
        if min(y.sum(), (1 - y).sum()) < 5:
            return
        for who in (None, kind) if kind in me.SOURCES else (None,):
            found = jt.evaluate_scores(score, labels, key=key, labelers_are=who, target="in-sample")
            for what, area in areas.items():
                row, dist_ = (
                    Row("", what, kind, source, False, area(y, score), (), 1.0, {}),
                    getattr(found, what),
                )
                told.add((what, kind, who or "unknown"), row, dist_.interval(LEVEL), dist_.mean)

    for seed, name in itertools.product(range(int(seeds)), SCORED):
        known, (source, kind) = load(data / name), source_of(name)
        rng, most = np.random.default_rng([seed, 78]), 99 if kind == me.LLM_JUDGES else 3 + 2 * (seed % 2)
        for _, value, cut in scores_of(data, name, seed):
            judged(*binary(known, value, cut, rng, most), kind, source, seed)
    for seed, regime in itertools.product(range(int(sets)), REGIMES):
        judged(*simulated_scores(regime, seed), "simulated", regime, seed)
    told.show()


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    number = {"fit": 2, "corners": 0}.get(command, 1)  # arguments that are folders
    arguments = [Path(a) if k < number else a for k, a in enumerate(rest)]
    commands = {"fit": fit, "learn": learn, "judge": judge, "gold": gold, "pairs": gold_pairs,
                "scores": scores}  # fmt: skip
    (commands | {"corners": corners})[command](*arguments)
