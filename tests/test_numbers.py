"""Numbers of README.md and of the pages are those that a benchmark measured, or that a command prints.

An entry names a sentence of a page and the row of a benchmark's head comment that it comes from, so that they
change together. Whatever can be computed here is computed.
"""

import ast
import importlib.util
import re
import runpy

import numpy as np
import pytest

import jtruth as jt
from tests.source import ROOT

BELIEF, NEXT, LARGE = "docs/what_can_be_known.md", "docs/which_label_next.md", "docs/large_data.md"
SCORES, JUDGES = "docs/scikit_learn.md", "docs/llm_judges.md"
SPEED = "10^7: 2.5, 12.6, 28.9, 40.3, 159 ms"
MEASURED = [  # page, what it says, benchmark, where it comes from
    ("README.md", "a million samples in less than a second", "speed", SPEED),
    ("README.md", "On public data with 30 verified labels, 95 % intervals of accuracy", "kinds",
     "30 accuracy LLM judges .975 (.83) / .253"),
    ("README.md", "the truth in 97 to 99 % of the cases", "kinds", "30 accuracy people .992 (.93) / .186"),
    (LARGE, "take less than a second", "speed", SPEED),
    (LARGE, "takes 5 seconds", "streaming", "update by 10^5 labels 0.7 s 4.6 s"),
    (BELIEF, "| accuracy | 95 % / 0.55 | 98 % / 0.37 | 100 % / 0.51", "kinds",
     "accuracy people .984 (.86) / .373 / .054 1.00 (1.0) / .510"),
    (BELIEF, "better than every labeler | 97 % / 0.55", "kinds", "accuracy LLM judges .967 (.64) / .552"),
    (BELIEF, "| precision | 93 % / 0.69 | 98 % / 0.57", "kinds", "precision LLM judges .931 (.69) / .689"),
    (BELIEF, "| class shares | 91 % / 0.56 | 93 % / 0.34", "kinds",
     "class shares LLM judges .909 (.50) / .556"),
    (BELIEF, "| accuracy | 95 % / 0.54 | 100 % / 0.36", "kinds", "difference of accuracy LLM judges .948"),
    (BELIEF, "93 of 93 pairs", "kinds", "people 93, of which 93 right"),
    (BELIEF, "| 30 | accuracy | 97 % / 0.25", "kinds",
     "30 accuracy LLM judges .975 (.83) / .253 / .050"),
    (BELIEF, "| accuracy, 30 gold | 96 % / 0.23", "kinds",
     "30 diff. accuracy LLM judges .962"),
    (BELIEF, "it covered the accuracy in 46 % of the cases. Where LLM judges label, it covered in 12 %",
     "kinds",
     "in .116 (least .00) of"),
    ("docs/papers/beyond.md", "PPI++ .964 at .307; for people .992 at .186 and .977 at .197", "kinds",
     "30 accuracy people .992 (.93) / .186 / .034 .977"),
    ("docs/papers/beyond.md", "by people .984 (.86) at .373", "kinds", "accuracy people .984 (.86) / .373"),
    (JUDGES, "| 30 | 97 % | 0.25 | 96 % | 0.31 |", "kinds", "30 accuracy LLM judges .975 (.83) / .253"),
    (JUDGES, "| 100 | 97 % | 0.13 | 96 % | 0.14 |", "kinds", "100 accuracy LLM judges .968 (.91) / .131"),
    (JUDGES, "differences of 16 summarizers (share of good summaries) | 100 % |", "groups",
     "llmjudge_dl23 no gold 0.920 / 0.635 0.970"),
    (JUDGES, "20 programs each (share of correct programs) | 90 to 91 %", "groups",
     "code_java no gold 0.850 / 0.663 0.901"),
    (JUDGES, "where judges were far too strict | 75 %", "groups",
     "alt_summeval_consistency no gold 0.750"),
    (JUDGES, "differences were covered in 92 to 99 %", "groups", "1 in 10 0.933 / 0.261 0.919"),
    (JUDGES, "at least 98 % had the right sign", "groups", "0.958 / 0.625 0.953 / 1.008 0.981"),
    (JUDGES, "300 found 70 % or more", "errs_on", "planted sharp n = 300 0.013 (0.003) 0.71 (0.03)"),
    (BELIEF, "drawn from the prior itself, 98 % were covered and a third got", "honesty",
     "in .33 of all sets"),
    (SCORES, "in 93 to 98 % of nine simulated settings", "curves", "(40, 0.5, 1, 400, 1.5, 0.2) 0.93"),
    (SCORES, "in 93 to 98 % of nine simulated settings", "curves", "(40, 0.5, 5, 400, 1.5, 0.2) 0.98"),
    (SCORES, "| the difference of two classifiers | 95 to 96 % |", "comparison", "accuracy, T=3, e=.2 .963"),
    (SCORES, "| the difference of two classifiers | 95 to 96 % |", "comparison", "recall, T=1, e=.2 .947"),
    (SCORES, "the interval is .62 to .81 as wide", "comparison",
     "precision of 10 %, T=5, e=.3 .950 .148 .62"),
    (SCORES, "| coefficients of agreement | 93 to 99 % |", "agreement", "3  125  .935 / .31  .927 / .31"),
    (SCORES, "88 real samples | in 18 of 22 draws only |", "training_ionosphere",
     "area of the bins in 18, 19, 21 and 21 of the 22"),
    (NEXT, "77.1 ± .6 | 94.0 ± .3 (clean labels give the same) | 92.6 ± .3", "tars_cleaning",
     "risk 77.1 +- 0.6 82.8 +- 0.5 88.0 +- 0.4 92.6 +- 0.3"),
    (NEXT,
     "2169 wrong labels (of 5,242). "
     "The model's interval was 1302 to 1750, and with 100 gold labels it was 1871",
     "label_issues",
     "2169 .915 [1513, 2786] .975 [1871, 2464]"),
    (NEXT, "| 68.9 ± 1.2 | 78.9 ± .8 |", "tars_cleaning", "ml risk 78.9 +- 0.8"),
    (NEXT, "leads by 1.2 ± .3 points on Gaussian at 40", "tars_cleaning", "Gaussian at 40 (-1.2 +- .3)"),
    (NEXT, "2.2 ± .7 on Cancer at 80", "tars_cleaning", "sort_noise Cancer at 80 (-2.2 +- .7)"),
    (NEXT, "by 1.9 ± .5 points at 40 answers", "cleaning_pools", "by 1.9 +- .5 points at 40 answers"),
    ("docs/what_can_be_known.md", "Newcombe's paired interval covered in 95.1 to 97.4 %",
     "comparison_new_samples",
     "20 .954 (.927) width .399 .974 (.948) width .440"),
]  # fmt: skip


def flat(text):
    return " ".join(text.split())


@pytest.mark.parametrize(("page", "said", "script", "row"), MEASURED, ids=lambda text: text[:30])
def test_a_number_of_a_page_stands_in_the_head_of_its_benchmark(page, said, script, row):
    head = ast.get_docstring(ast.parse((ROOT / "benchmarks" / f"{script}.py").read_text())) or ""
    assert flat(said) in flat((ROOT / page).read_text()), f"{page} does not say so any more: mend this list"
    assert flat(row) in flat(head), f"benchmarks/{script}.py measured something else: mend {page}"


def test_what_the_judges_page_says_of_counting():
    """Pass rates of the judges and of the truth, counted here from the file and from what made it."""
    _, passes = runpy.run_path(str(ROOT / "examples" / "make_examples.py"))["judges"]()
    page = flat((ROOT / "docs" / "judges_with_30_gold.md").read_text())
    said = re.search(r"pass (\d+) % of these answers; .*? is (\d+) %", page)
    labels = jt.read_labels(ROOT / "examples" / "judges.csv")
    at = labels.class_names.index("pass")
    assert float(said[1]) == pytest.approx(100 * np.mean(labels.label == at), abs=0.5)
    assert float(said[2]) == pytest.approx(100 * np.mean(passes), abs=0.5)


SAID = re.compile(
    r"(\d+) dental X-rays read for caries by five dentists .*? precision is (\d+) % if the dentists err "
    r"independently\. It is (\d+) to (\d+) % if hard X-rays fool all of them alike, and (\d+) % if they fool "
    r"only"
)


def test_what_the_readme_says_of_dentist_5():
    """The X-rays; and the precision of errors that are independent, which needs no long chains."""
    size, independent, *_ = SAID.search(flat((ROOT / "README.md").read_text())).groups()
    labels = jt.read_labels(ROOT / "examples" / "caries.csv")
    assert labels.num_samples == int(size) and labels.num_labelers == 5
    split = labels.split_rater("5")
    found = jt.evaluate(split.y_pred, split.labels, assume="independent", key=0)
    assert found.precision.mean == pytest.approx(
        float(independent) / 100, abs=0.006
    )  # two digits, and the chains


JUDGE = re.compile(
    r"right for (\d+) % \[(\d+), (\d+)\] of the answers\. A .*? vote would say (\d+) %\. The truth of this "
    r"simulation is (\d+) %"
)


def test_what_the_readme_says_of_judge_c():
    """As printed on the page of the judges, whose output another test keeps."""
    page = (ROOT / "docs" / "llm_judges.md").read_text()
    printed = re.search(r"^accuracy +([\d.]+) \[([\d.]+), ([\d.]+)\] +([\d.]+)$", page, re.MULTILINE)
    said = JUDGE.search(flat((ROOT / "README.md").read_text()))
    *numbers, truth = map(int, said.groups())
    assert numbers == [round(100 * float(text)) for text in printed.groups()]
    _, passes = runpy.run_path(str(ROOT / "examples" / "make_examples.py"))["judges"]()
    split = jt.read_labels(ROOT / "examples" / "judges.csv").split_rater("judge_c")
    right = (split.y_pred == split.labels.class_names.index("pass")) == passes
    assert truth == round(100 * float(np.mean(right)))


def of_jtruth(tree):
    """(line, module, name) of what a script takes from jtruth, by import or as an attribute of a module."""
    nodes = list(ast.walk(tree))
    rebound = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    modules = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "jtruth":
            for one in node.names:
                yield node.lineno, node.module, one.name
                modules[one.asname or one.name] = f"{node.module}.{one.name}"
        elif isinstance(node, ast.Import):
            modules |= {one.asname: one.name for one in node.names if one.name == "jtruth" and one.asname}
    for node in nodes:
        name = node.value.id if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) else ""
        if name in modules.keys() - rebound:
            yield node.lineno, modules[name], node.attr


SCRIPTS = [path for path in sorted((ROOT / "benchmarks").rglob("*.py")) if path.stem != "__main__"]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_benchmark_takes_public_names_that_exist(path):
    """No default test runs benchmarks; what they take from jtruth is looked up: a rename meets them here."""
    for line, module, name in of_jtruth(ast.parse(path.read_text())):
        where = f"{path.name}, line {line}: {module}.{name}"
        assert "._" not in f"{module}.{name}" or name.startswith("__"), f"{where} is private"
        try:
            home = importlib.import_module(module)
        except ModuleNotFoundError:
            continue  # an attribute of a class or function, not of a module
        assert hasattr(home, name) or importlib.util.find_spec(f"{module}.{name}"), f"{where} is not there"


OTHER = (  # numbers that nobody measured
    r"Python 3\.\d+", r"dentist 5", r"Exit code 2", r"Algorithms 1, 2 and 3", r"\(?(19|20)\d\d\)?", r"F1",
    r"JMLR 25:1-91", r"Su section 3", r"Apache-2\.0", r"\b20 lines", r"30 true answers",
    r"300 answers, and 30 of", r"Brackets hold 95 % intervals", r"3 to 8 minutes on two cores",
)  # fmt: skip


def test_every_number_of_the_readme_has_a_source():
    """What is left of its sentences without those above holds no digit; who adds a number adds its source."""
    text = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", "", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    text = flat(text)
    for said in (
        SAID.search(text)[0],
        JUDGE.search(text)[0],
        *(said for page, said, *_ in MEASURED if page == "README.md"),
    ):
        assert said in text
        text = text.replace(said, "")
    for pattern in OTHER:
        text = re.sub(pattern, "", text)
    assert re.findall(r".{0,40}\d.{0,40}", text) == []


@pytest.mark.slow
def test_every_precision_of_the_readme_is_what_its_command_says():
    _, *said = SAID.search(flat((ROOT / "README.md").read_text())).groups()
    split = jt.read_labels(ROOT / "examples" / "caries.csv").split_rater("5")
    found = jt.evaluate(split.y_pred, split.labels, key=0)
    means = {one.name: one.metrics["precision"].mean for one in found.assumptions}
    names = ("independent", "shared_strata", "random_effect", "labeler_strata")
    assert [means[name] for name in names] == pytest.approx([float(text) / 100 for text in said], abs=0.006)
