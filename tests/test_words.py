"""Texts for users: every literal of the package, and the screens, helps and errors of the commands.

Whole sentences in the words of the field; `BANNED` is the one list of words to avoid.
"""

import ast
import re
import shlex

import numpy as np
import pytest

from tests.cli.conftest import run  # noqa: F401
from tests.cli.files import write
from tests.source import ROOT, trees

BANNED = re.compile(
    r"\b(laws?|readings|rest(s|ed)? on|held(?!-)|ha(s|ve) (a|no) say|rooms?|waists?|twos|t(old|ell) apart"
    r"|hardly determined|nobody (said|gave|asked)|who labels|hand(ed)? (it |them )?over|taken (for|to be)"
    r"|says? (little|nothing) of|speaks? against|what is assumed|stands? (there|twice)|chances|give up on)\b",
    re.IGNORECASE,
)
ALLOWED = {"labelers stand twice"}  # literals that hold such a word in its plain sense
KEYS = {"stream", "streams", "host_rng", "present"}  # functions whose words nobody reads
# A count before a plural noun whose verb agrees with it, where the count may be 1: `number_of`, `part_of`.
COUNTED = re.compile(
    r"\{\} (of (its |their |the |\{\} )?)?([a-z]+ )?(answer|bin|column|comparison|entrie|file|item|judge"
    r"|label|labeler|pair|prediction|question|rater|row|sample|set|task|value|worker)s "
    r"(have|are|were|do|lack|repeat)\b|\(\{\} such [a-z]"
)
MANY = (  # never one, or a number that is not whole
    "{} bins were merged to {}", "{} numeric columns of the file", "({} labels are worth one",
    "all {} gold samples", "{} calibration items have the ids", ": {} of the samples are b",
    "at least {} samples are needed", "{} ratings of {} tasks", "the labels of {} samples are",
)  # fmt: skip
LONGEST = 30  # words of a sentence


def literals(tree):
    """(line, text) of literals but docstrings and shapes; an f-string is one, with {} for its values."""
    skip = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, False):
            skip.add(id(node.body[0].value))  # type: ignore
        if isinstance(node, ast.Subscript):
            skip |= {id(one) for one in ast.walk(node.slice)}
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in KEYS:
            skip |= {id(one) for one in ast.walk(node)}
        if isinstance(node, ast.JoinedStr) and id(node) not in skip:
            skip |= {id(part) for part in node.values}
            parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skip:
            yield node.lineno, node.value


def test_no_literal_has_a_word_of_the_house():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {word[0]!r} in {text[:90]!r}"
        for path, tree in trees().items()
        for line, text in literals(tree)
        if " " in text.strip() and text not in ALLOWED and (word := BANNED.search(text))
    ]
    assert not found, "\n".join(found)


def test_a_count_of_one_has_no_plural():
    assert COUNTED.search("{} of {} rows have no label") and COUNTED.search("({} such entries)")
    assert not COUNTED.search("the {} have no label")
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text[:90]!r}"
        for path, tree in trees().items()
        for line, text in literals(tree)
        if COUNTED.search(text) and not any(many in text for many in MANY)
    ]
    assert not found, "\n".join(found)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The judges of examples/, a classifier, and labels of three classes."""
    folder = tmp_path_factory.mktemp("words")
    (folder / "judges.csv").write_text((ROOT / "examples" / "judges.csv").read_text())
    rng = np.random.default_rng(3)
    y, names = rng.integers(0, 3, 60), ("Complaint", "Praise", "Question")
    seen = lambda right: np.where(rng.random(60) < right, y, rng.integers(0, 3, 60))  # noqa: E731
    rows = [(f"t{i}", who, names[c]) for who in ("ann", "bob", "cy", "dan")
            for i, c in enumerate(seen(0.8).tolist())]  # fmt: skip
    write(folder / "labels.csv", ("task", "worker", "label"), rows)
    for name, right in (("a", 0.9), ("b", 0.7), ("gold", 1.0)):
        table = [(f"t{i}", names[c]) for i, c in enumerate(seen(right).tolist())]
        write(folder / f"{name}.csv", ("task", "label"), table[: 20 if name == "gold" else 60])
    p = rng.dirichlet((1, 1, 1), 60) / 2 + np.eye(3)[y] / 2
    probabilities = [(f"t{i}", *row) for i, row in enumerate(p.round(4).tolist())]
    write(folder / "probs.csv", ("task", *(f"p_{name}" for name in names)), probabilities)
    winner = rng.choice(["model_a", "model_b", "tie"], 90).tolist()
    pairs = [(f"q{i % 30}", "alpha", "beta", won, f"j{i // 30}") for i, won in enumerate(winner)]
    write(folder / "pairs.csv", ("question", "model_a", "model_b", "winner", "judge"), pairs)
    return folder


SCREENS = (
    "evaluate judges.csv --rater judge_c --gold column:gold", "labelers labels.csv --fast",
    "evaluate labels.csv --predictions a.csv --method majority_vote", "consensus labels.csv",
    "prevalence judges.csv --gold column:gold", "ask judges.csv --truth --num 5", "inspect labels.csv",
    "inspect judges.csv --full", "agreement labels.csv",
    "correct --called 680/1000 --sensitivity 45/50 --specificity 40/50",
    "correct --differ 68/1000 --mislabeling 2/200", "compare labels.csv a.csv b.csv --gold gold.csv",
    "preferences pairs.csv", "calibrate labels.csv --predictions probs.csv", "simulate made --samples 30",
    "sensitivity judges.csv --rater judge_c --assume independent --what prior",
)  # fmt: skip
LONG = (
    "evaluate judges.csv --rater judge_c", "labelers labels.csv --gold gold.csv --full", "models labels.csv",
    "evaluate labels.csv --predictions a.csv --gold gold.csv --full", "prevalence judges.csv",
    "compare labels.csv a.csv b.csv", "labelers judges.csv", "plan labels.csv --sets 1",
    "clean labels.csv --budget 5", "evaluate labels.csv --predictions a.csv --positive Praise",
)  # fmt: skip
HELPS = ("", "evaluate", "labelers", "prevalence", "compare", "clean", "ask", "plan", "inspect", "agreement",
         "models", "consensus", "sensitivity", "preferences", "calibrate", "correct", "simulate")  # fmt: skip
ERRORS = ("evaluate labels.csv", "evaluate labels.csv --predictions none.csv", "ask labels.csv",
          "evaluate labels.csv --rater eve", "labelers none.csv", "evaluate labels.csv --rater ann --plot x",
          "prevalence labels.csv --gold a.csv --assume luck", "clean labels.csv --budget 999",
          "compare labels.csv a.csv", "evaluate labels.csv --rater ann --fast --method tars")  # fmt: skip


def sentences(text):
    """Sentences of a screen: paragraphs of wrapped lines, without tables and commands."""
    paragraphs, text = [], text.replace("\\\n", "")
    for line in re.sub(r"(?m)^(next|then): .*$|^Tip: jtruth .*$|^  # .*$", "", text).splitlines():
        if re.search(r"\S {2,}\S", line[3:]) or not line.strip():  # a row of a table
            paragraphs.append("")
        elif line[:1] in "!*>-?+" or not paragraphs or (paragraphs[-1][-1:] in ".?:" and line[:1] != " "):
            paragraphs.append(line[3:] if line[:1] in "!*>-?+" else line)
        else:
            paragraphs[-1] += " " + line.strip()
    return [one for part in paragraphs for one in re.split(r"(?<=[.?!]) +(?=[A-Z0-9'])", part.strip()) if one]


def faults(text, lower=()):
    """What is wrong with the sentences of a screen."""
    for one in sentences(text):
        said = re.sub(r"'[^']*'|\([^()]*\)|\[[^\]]*\]", "", one)
        if word := BANNED.search(one):
            yield f"word {word[0]!r}: {one}"
        if len(said.split()) > LONGEST and said.rstrip().endswith("."):
            yield f"{len(said.split())} words: {one}"
        if any(one.count(a) != one.count(b) for a, b in ("()", "[]")):
            yield f"brackets: {one}"
        if one.endswith(".") and re.match(r"[a-z]+ ", one) and not one.startswith(tuple(lower)):
            yield f"small letter: {one}"
    yield from unsupported(text)
    if cut := re.search(r"(?m)\w \.\.\.$|^next: .*\.\.\.", text.replace("\\\n", "")):
        yield f"cut: {cut[0]}"


INTERVAL = re.compile(r"[-+−]?(\d+(?:\.\d+)?)(?: %| points)? ?[\[(][^\])\d]*(?:95 % [a-z ]+)?"
                      r"[-+−]?(\d[.\d]*)(?:, | to )[-+−]?(\d[.\d]*)")  # fmt: skip


def unsupported(text):
    """Numbers with a last digit of less than a thousandth of their interval's width."""
    for found in INTERVAL.finditer(" ".join(text.split())):
        low, high = map(float, found.groups()[1:])
        unit = 10.0 ** -len(found[1].partition(".")[2])
        if unit * 1000 < abs(high - low):
            yield f"digits: {found[0]}"


def test_digits_beyond_the_interval_are_found():
    assert [*unsupported("0.8683 [0.7661, 0.9463] and 67.123 % (95 % interval 58.112 to 74.331 %)")]
    assert not [
        *unsupported("0.868 [0.766, 0.946], 67 % (95 % interval 58 to 74 %), +4.7 points (+0.1 to +9.9)")
    ]


NUMBER = re.compile(r"\d+(?:\.\d+)?")


def compared(shown, stored):
    """Two screens that are the same but for blanks and what differs between machines: draws, by rounding."""
    masked = [" ".join(NUMBER.sub("0", text).split()) for text in (shown, stored)]
    assert masked[0] == masked[1]
    for new, old in zip(NUMBER.findall(shown), NUMBER.findall(stored), strict=True):
        assert abs(float(new) - float(old)) <= (0.05 if "." in old else 5), (new, old, shown)


@pytest.mark.usefixtures("few_lineages")
@pytest.mark.parametrize("typed", [*SCREENS, *(pytest.param(one, marks=pytest.mark.slow) for one in LONG)])
def test_a_screen_has_whole_sentences(run, files, typed, monkeypatch, pytestconfig):  # noqa: F811
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = run(*shlex.split(typed), folder=files, full=False)
    assert code == 0, err
    assert "--full" in typed or len(out.splitlines()) <= 20, out
    assert not (found := list(faults(out, ("model", "a ", "b ", "ann", "bob", "cy", "dan", "judge_")))), found
    if "--full" not in typed:
        path = ROOT / "tests" / "cli" / "screens" / f"{re.sub(r'[^a-z0-9]+', '_', typed.lower())}.txt"
        if pytestconfig.getoption("--write-screens"):
            path.write_text(f"$ jtruth {typed}\n{out}")
        compared(f"$ jtruth {typed}\n{out}", path.read_text())


def test_every_command_has_a_first_screen():
    from jtruth.cli.app import SECTIONS  # not above: annotations are executed if tests alone import jtruth

    names = {one.__name__ for functions in SECTIONS.values() for one in functions}
    assert {one.split()[0] for one in (*SCREENS, *LONG)} == names


@pytest.mark.parametrize("name", HELPS)
def test_help_has_whole_sentences(run, name, monkeypatch):  # noqa: F811
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run(*name.split(), "--help")
    assert "..." not in out.replace("]...", "") and not re.search("[{}]", out) and not BANNED.search(out), out
    assert not name or len(re.findall(r"(?m)^  Example: jtruth .*\n\Z", out)) == 1  # in a line
    assert len(out.splitlines()) <= (50 if name in ("", "plan", "compare") else 42), out


@pytest.mark.parametrize("typed", ERRORS)
def test_an_error_says_what_to_do(run, files, typed):  # noqa: F811
    code, _, err = run(*shlex.split(typed), folder=files, full=False)
    assert code == 2 and not BANNED.search(err) and err.count("(") == err.count(")"), err
    said = re.split(r"(?<=[.?]) ", re.sub(r"'[^']*'", "", err.removeprefix("jtruth: ")))
    assert not [one for one in said[1:] if re.match("[a-z]+ ", one)], err  # the first is behind the program
    assert max(len(one.split()) for one in said) <= LONGEST, err
