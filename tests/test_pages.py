"""Pages to forward: valid HTML whatever the names, nothing loaded, bounded, and true to the answer."""

import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest

from jtruth._page import Bar, Bars, Chart, Facts, Matrix, Note, Notes, Page, Series, Table, page_html
from jtruth._page.svg import axis_of, bar_svg, chart_svg, ticks
from jtruth.evaluation.page import evaluation_page, labelers_page
from jtruth.evaluation.text import loudest

HOSTILE = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'; DROP TABLE", "&lt;b&gt;&amp;",
    "\u202eevil", "</style><svg onload=x>", "a\x00b\x1b[2J", "عربي", "]]>-->", "{{7*7}}${7*7}", "😀" * 40,
    "<" * 500, "%s%n", "", "javascript:alert(1)", "http://example.com/x.js", "line\nbreak",
)  # fmt: skip
VOID = {"meta", "circle", "rect", "path", "polygon", "br"}
KNOWN = VOID | {
    "html", "head", "title", "style", "body", "main", "h1", "h2", "p", "section", "div", "table", "thead",
    "tbody", "tr", "th", "td", "bdi", "svg", "text", "g", "ul", "li", "span", "dl", "dt", "dd",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "colspan", "viewbox", "aria-hidden", "role",
    "d", "x", "y", "cx", "cy", "r", "width", "height", "text-anchor", "points",
}  # fmt: skip


class Reader(HTMLParser):
    """Every tag known, closed in order, with harmless attributes; keeps the text."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.texts, self.tags = [], [], []

    def handle_starttag(self, tag, attrs):
        assert tag in KNOWN, tag
        for name, value in attrs:
            assert name in ATTRIBUTES, name
            assert tag == "meta" or not re.search(r"[<>:]|script", value or ""), value
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in VOID
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        assert tag in VOID or self.open.pop() == tag  # a browser closes <path> by a tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    def handle_comment(self, data):
        raise AssertionError(data)


def read(html):
    found = Reader()
    found.feed(html)
    found.close()
    assert found.open == []
    assert "url(" not in html and "@import" not in html
    return found


def estimate(mean, low, high):
    return {"mean": mean, "mode": mean, "sd": 0.01, "low": low, "high": high, "probability_defined": 1.0}


def one_labeler(name):
    return {"worker": name, "num_labels": 3, "accuracy": 0.5, "low": 0.4, "high": 0.6}


def answer(classes, labelers, kind="sensitivity range"):
    """What `Evaluation.to_dict` returns, of any size."""
    names = [
        "accuracy",
        "precision",
        "recall",
        *(f"{m}[{c}]" for c in classes for m in ("precision", "recall", "f1")),
    ]
    metrics = {name: estimate(0.7, 0.6, 0.8) for name in names}
    grid = np.arange(len(classes) ** 2, dtype=float).reshape(len(classes), -1)
    verdicts = {"one": "fits", "two": "does not fit", "labelers alike": "worth knowing"}
    said = [{"name": n, "verdict": v, "message": f"about {classes[0]}"} for n, v in verdicts.items()]
    return {
        "headline": ["recall", "precision", "accuracy"],
        "method": "bayes", "level": 0.95, "num_samples": 10, "num_labels": 20, "num_gold": 0,
        "num_labelers": len(labelers), "classes": list(classes), "positive": classes[0], "metrics": metrics,
        "prior": [1 / len(classes)] * len(classes), "interval_kind": kind, "assumed": ["this"],
        "confusion_matrix": {k: (grid + d).tolist() for k, d in (("mean", 0), ("low", -1), ("high", 1))},
        "labelers": [one_labeler(w) for w in labelers],
        "baselines": {"majority_vote": {"accuracy": 0.75}}, "checks": said,
        "assumptions": [{"sentence": f"if {n}", "metrics": metrics} for n in classes[:3]],
        "warnings": [f"look at {classes[-1]}"] * 3, "advice": ["more gold"],
        "suspicious": [{"name": "copies", "message": f"{labelers[0]!r} copies"}],
    }  # fmt: skip


def test_hostile_names_stay_text():
    html = page_html(evaluation_page(answer(HOSTILE, HOSTILE)), facts=[(HOSTILE[0], HOSTILE[1])])
    found = read(html)
    said = "".join(found.texts)
    assert "<script>alert(1)</script>" in said and "'; DROP TABLE" in said and "عربي" in said
    assert "\u202e" not in html and "\x1b" not in html and "\x00" not in html and "\\u202eevil" in said
    assert "default-src 'none'" in html


@pytest.mark.parametrize("name", ["plain", "<&\"'>" * 30, "😀" * 100])
def test_pages_are_bounded(name):
    classes, labelers = [f"{k} {name}" for k in range(50)], [f"{k} {name}" for k in range(10_000)]
    html = page_html(evaluation_page(answer(classes, labelers)))
    read(html)
    assert len(html.encode()) < 300_000
    assert "9960 more between these are left out" in html and "smaller ones are left out here" in html

    matrix = {k: np.full((50, 50), 0.5).tolist() for k in ("mean", "low", "high")}
    rows = [one_labeler(w) | {"confusion_matrix": matrix} for w in labelers]
    d = {"labelers": rows, "classes": classes, "level": 0.9, "prior": [0.02] * 50, "checks": [],
         "estimand": "share right", "interval_kind": "sensitivity range", "target": "in-sample",
         "assumed": [], "warnings": [name * 1000] * 1000, "suspicious": []}  # fmt: skip
    html = page_html(labelers_page(d))
    read(html)
    assert len(html.encode()) < 300_000 and "970 more are left out here" in html


def test_the_page_says_what_the_answer_says():
    found = read(page_html(evaluation_page(answer(["no", "yes", "maybe"], ["ann"]))))
    said = " ".join(found.texts)
    assert "Recall .700 [.600, .800]" in said and "[0.600, 0.800]" in said and "0.750" in said
    assert "1 check speaks against what this rests on: two." in said
    assert "labelers alike: worth knowing" in said and "two: does not fit" in said
    assert "What recall depends on" in said and "not a likeliest value" in said
    assert "4 [3, 5]" in said  # the middle of the confusion matrix


def test_the_loudest_doubt_counts_misfits_only():
    check = lambda name, verdict: {"name": name, "verdict": verdict}  # noqa: E731
    assert loudest([check("a", "fits"), check("labelers alike", "worth knowing")]) == ""
    both = [check("a", "does not fit"), check("b", "does not fit"), check("c", "cannot be seen")]
    assert loudest(both) == "2 checks speak against what this rests on: a, b."


def test_bars_lie_where_their_numbers_are():
    block = Bars("", ("", ""), [Bar("a", 0.5, 0.2, 0.6, other=0.9), Bar("b", None, None, None)])
    low, high = axis_of(block)
    assert low == pytest.approx(0.2 - 0.028) and high == pytest.approx(0.9 + 0.028)
    place = lambda v: 14 + 260 * (v - low) / (high - low)  # noqa: E731
    drawn = bar_svg(block.rows[0], (low, high))
    left, width = map(
        float, re.search(r'<rect class="bar" x="([\d.]+)" y="8" width="([\d.]+)"', drawn).groups()
    )
    assert left == pytest.approx(place(0.2), abs=0.06)
    assert left + width == pytest.approx(place(0.6), abs=0.11)
    assert float(re.search(r'class="dot" cx="([\d.]+)"', drawn)[1]) == pytest.approx(place(0.5), abs=0.06)
    assert float(re.search(r'class="cross" d="M([\d.]+)', drawn)[1]) == pytest.approx(
        place(0.9) - 4, abs=0.06
    )
    assert "rect" not in bar_svg(block.rows[1], (low, high))
    assert "ring" in bar_svg(block.rows[0]._replace(middle=True), (low, high))


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-3.0, 12.0), (0.8412, 0.8419), (0, 1e6), (1e-9, 2e-9)])
def test_ticks_are_round_and_inside(ends):
    found = np.array(ticks(*ends))
    assert 2 <= found.size <= 8 and (found >= ends[0] - 1e-12).all() and (found <= ends[1] + 1e-12).all()
    steps = np.diff(found)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)


def test_charts_leave_out_what_is_not_finite():
    nan = float("nan")
    one = Series("one", [0, 1, 2], [0.0, nan, 1.0], [0.0, nan, 0.5], [0.5, nan, 1.0])
    drawn = chart_svg(Chart("", "x", "y", (one, one._replace(line=False))))
    assert "nan" not in drawn and drawn.count("<circle") == 2 and drawn.count("<polygon") == 1
    assert "nan" not in chart_svg(Chart("", "x", "y", (Series("none", [nan], [nan]),), diagonal=True))


def test_every_block_is_valid_when_it_is_empty():
    parts = (Bars("", ("", "", "c"), []), Table("", ("a",), []), Matrix("", (), (), [], []), Notes("", []),
             Facts("", []), Notes("", [Note("say", "text", "name")]))  # fmt: skip
    found = read(page_html(Page("title", "", "", "", parts)))
    assert "name: worth knowing" in "".join(found.texts)


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no headless Chromium is installed")
def test_a_browser_reads_it_as_it_was_meant(tmp_path):
    path = tmp_path / "page.html"
    html = page_html(evaluation_page(answer(HOSTILE, HOSTILE)))
    path.write_text(html, encoding="utf-8")
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
         "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    mine, browsers = read(html), read(done.stdout.replace("<!DOCTYPE html>", ""))
    assert browsers.tags == mine.tags
    assert "".join(browsers.texts).split() == "".join(mine.texts).split()
