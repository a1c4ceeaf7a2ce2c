"""HTML pages: valid whatever the names, self-contained, bounded in size, and consistent with the answer."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from jtruth.answers import Column, Curve, Document, Matrix, Note, Notes, Queue, Table, facts, how
from jtruth.answers.html import axis_of, axis_svg, bar_svg, curve_svg, page_html, ticks
from jtruth.answers.terminal import terminal_text

HOSTILE = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'; DROP TABLE", "&lt;b&gt;&amp;",
    "\u202eevil", "</style><svg onload=x>", "a\x00b\x1b[2J", "عربي", "]]>-->", "{{7*7}}${7*7}", "😀" * 40,
    "<" * 500, "%s%n", "", "javascript:alert(1)", "http://example.com/x.js", "line\nbreak",
)  # fmt: skip
VOID = {"meta", "circle", "rect", "path", "polygon", "br"}
KNOWN = VOID | {
    "html", "head", "title", "style", "body", "main", "h1", "h2", "p", "section", "div", "table", "thead",
    "tbody", "tr", "th", "td", "bdi", "svg", "text", "g", "ul", "li", "span",
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


LAW = {"mean": 0.7, "low": 0.6, "high": 0.8}
VALUE = Column("mean", "mean", ("low", "high"))


def dist_table(names, kind=Table, **options):
    return kind("laws", "Laws", "name", (VALUE, Column("other", "other")),
                [{"name": n, **LAW, "other": 0.75} for n in names], cross="other", **options)  # fmt: skip


def shown(names, size=None):
    """An answer whose names are all of these, with every kind of block."""
    some = names[:size]
    grid = np.arange(len(some) ** 2, dtype=float).reshape(len(some), -1)
    cells = {k: (grid + d).tolist() for k, d in (("mean", 0), ("low", -1), ("high", 1))}
    signs = ("good", "bad", "open", "warn", "look", "do", "say", "read")
    notes = [Note(signs[k % len(signs)], f"about {n}", n) for k, n in enumerate(names)]
    points = {"x": [0.0, 0.5, 1.0], "mean": [0.0, 0.6, 1.0], "low": [0.0, 0.5, 1.0], "high": [0.1, 0.7, 1.0]}
    blocks = (
        dist_table(names), dist_table(names, Queue),
        Table("wide", names[0], "name", tuple(Column((n, "mean"), n) for n in names),
              [{"name": "a", **{n: LAW for n in names}}]),
        Matrix("counts", names[1], tuple(some), tuple(some), cells), Notes("notes", names[2], notes),
        Curve("curve", names[0], names[1], names[2], {n: points for n in names[:3]}),
        how(*((n, n) for n in names)), facts(fact=names),
    )  # fmt: skip
    return Document(names[0], names[1], names[2], blocks, tuple(names[:3]), names[3], f"jtruth {names[0]}")


def test_hostile_names_stay_text():
    html = page_html(shown(HOSTILE), made=[(HOSTILE[0], HOSTILE[1])])
    found = read(html)
    said = "".join(found.texts)
    assert "<script>alert(1)</script>" in said and "'; DROP TABLE" in said and "عربي" in said
    assert "\u202e" not in html and "\x1b" not in html and "\x00" not in html and "\\u202eevil" in said
    assert "default-src 'none'" in html
    for full in (False, True):
        text = terminal_text(shown(HOSTILE), full=full, width=80)
        assert all(c.isprintable() for c in text.replace("\n", ""))


@pytest.mark.parametrize("name", ["plain", "<&\"'>" * 30, "😀" * 100])
def test_pages_are_bounded(name):
    html = page_html(shown([f"{k} {name}" for k in range(10_000)], 50))
    read(html)
    assert len(html.encode()) < 300_000
    assert "(9960 more rows left out)" in html and "smaller ones left out" in html
    assert "9988 columns left out" in html and "notes left out" in html
    gaps = 0
    for table in re.findall("<table.*?</table>", html, re.DOTALL):
        head = len(re.findall("<th[ >]", table.partition("</tr>")[0]))
        wide = re.findall(r'<td colspan="(\d+)">', table)
        assert set(map(int, wide)) <= {head}  # the row that stands for others is as wide as all
        gaps += len(wide)
    assert gaps


def test_bars_lie_where_their_numbers_are():
    rows = [{"name": "a", "mean": 0.5, "low": 0.2, "high": 0.6, "other": 0.9}, {"name": "b"}]
    block = Table("", "", "name", (VALUE,), rows, cross="other")
    assert axis_of(block) == (0.0, 1.0)
    near = Table("", "", "name", (VALUE,), [{"name": "a", "mean": 0.5, "low": 0.4, "high": 0.6}])
    assert axis_of(near) == pytest.approx((0.392, 0.608)) and "part of the range 0 to 1" in page_html(
        Document("", "", "", (near,))
    )
    low, high = axis_of(block._replace(unit=None))
    assert low == pytest.approx(0.2 - 0.028) and high == pytest.approx(0.9 + 0.028)
    place = lambda v: 14 + 260 * (v - low) / (high - low)  # noqa: E731
    drawn = bar_svg([0.5, 0.2, 0.6, 0.9], (low, high))
    left, width = map(
        float, re.search(r'<rect class="bar" x="([\d.]+)" y="8" width="([\d.]+)"', drawn).groups()
    )
    assert left == pytest.approx(place(0.2), abs=0.06)
    assert left + width == pytest.approx(place(0.6), abs=0.11)
    assert float(re.search(r'class="dot" cx="([\d.]+)"', drawn)[1]) == pytest.approx(place(0.5), abs=0.06)
    cross = float(re.search(r'class="cross" d="M([\d.]+)', drawn)[1])
    assert cross == pytest.approx(place(0.9) - 4, abs=0.06)
    assert "rect" not in bar_svg([None] * 4, (low, high))


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-3.0, 12.0), (0.8412, 0.8419), (0, 1e6), (1e-9, 2e-9)])
def test_ticks_are_round_and_inside(ends):
    found = np.array(ticks(*ends))
    assert 2 <= found.size <= 8 and (found >= ends[0] - 1e-12).all() and (found <= ends[1] + 1e-12).all()
    steps = np.diff(found)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)


def test_curves_leave_out_what_is_not_finite():
    nan = float("nan")
    points = {"x": [0, 1, 2], "mean": [0.0, nan, 1.0], "low": [0.0, nan, 0.5], "high": [0.5, nan, 1.0]}
    one = Curve("", "", "x", "y", {"one": points})
    lines, dots = curve_svg(one), curve_svg(one._replace(line=False))
    assert "nan" not in lines + dots and lines.count("<polygon") == 1 and dots.count("<circle") == 2
    none = Curve("", "", "x", "y", {"none": {"x": [nan], "mean": [nan]}}, diagonal=True)
    assert "nan" not in curve_svg(none)


def numbers(text):
    return np.array(re.findall(r"-?[\d.]+", text), float).reshape(-1, 2)


def test_curves_lie_where_their_numbers_are():
    """560 by 360, 56 and 42 for the axes, 12 at the other sides, a margin of 4 % around the numbers."""
    points = {"x": [0, 1, 2], "mean": [0.1, 0.5, 0.9], "low": [0.0, 0.4, 0.7], "high": [0.3, 0.6, 1.0]}
    place = lambda x, y: (56 + 492 * (x + 0.08) / 2.16, 318 - 306 * (y + 0.04) / 1.08)  # noqa: E731
    rows = lambda name: zip(points["x"], points[name], strict=True)  # noqa: E731
    at = lambda *names: [place(x, y) for name in names for x, y in rows(name)]  # noqa: E731
    drawn = curve_svg(Curve("", "", "x", "y", {"one": points}, diagonal=True))
    find = lambda mark: numbers(re.search(mark + r'"([^"]*)"', drawn)[1])  # noqa: E731
    np.testing.assert_allclose(find('class="line" d='), at("mean"), atol=0.06)
    np.testing.assert_allclose(find("polygon points="), [*at("low"), *at("high")[::-1]], atol=0.06)
    np.testing.assert_allclose(find('class="diagonal" d='), [place(0, 0), place(1, 1)], atol=0.06)
    assert "<circle" not in drawn and 'class="s0"' in drawn
    marks = dict(re.findall(r'x="([\d.]+)" y="334.0" text-anchor="middle">([^<]*)', drawn))
    assert [float(x) for x in marks] == pytest.approx(
        [place(float(t), 0)[0] for t in marks.values()], abs=0.06
    )
    marks = dict(re.findall(r'x="50.0" y="([\d.]+)" text-anchor="end">([^<]*)', drawn))
    assert [float(y) - 4 for y in marks] == pytest.approx(
        [place(0, float(t))[1] for t in marks.values()], abs=0.06
    )
    assert len(marks) == drawn.count("H548") == 3 and drawn.count("V12") == 5
    drawn = curve_svg(Curve("", "", "x", "y", {"one": points}, line=False))
    bars = numbers(re.search(r'<path d="([^"]*)"', drawn)[1])
    np.testing.assert_allclose(bars[::2], at("low"), atol=0.06)
    np.testing.assert_allclose(bars[1::2], at("high"), atol=0.06)
    dots = np.array(re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', drawn), float)
    np.testing.assert_allclose(dots, at("mean"), atol=0.06)
    assert "diagonal" not in drawn and "polygon" not in drawn and 'class="line"' not in drawn
    alone = curve_svg(Curve("", "", "x", "y", {"one": {"x": [1], "mean": [0.5]}}))
    assert '<circle cx="302.0" cy="165.0"' in alone  # in the middle of both


def test_axes_of_bars_hold_all_and_zoom_in():
    rows = lambda *ends: [{"name": "a", "mean": ends[0], "low": ends[1], "high": ends[2], "other": ends[3]}]  # noqa: E731
    block = Table("", "", "name", (VALUE,), rows(0.5, 0.2, 0.49, 0.4), cross="other")
    for ends, axis in {
        (0.35, 0.2, 0.49, 0.4): (0.2 - 0.0116, 0.49 + 0.0116),
        (0.35, 0.2, 0.5, 0.4): (0.0, 1.0),  # three tenths of the unit are no part
        (0.35, -0.2, 0.6, 0.4): (-0.2, 1.0),
        (0.99, 0.97, 1.0, 0.98): (0.97 - 0.0012, 1.0),
        (0.02, 0.0, 0.1, 1.5): (0.0, 1.5),
        (0.5, 0.5, 0.5, 0.5): (0.45, 0.55),
        (1.0, 1.0, 1.0, 1.0): (0.95, 1.0),
    }.items():
        assert axis_of(block._replace(rows=rows(*ends))) == pytest.approx(axis), ends
    assert axis_of(block._replace(rows=[])) == (0.0, 1.0)
    assert axis_of(block._replace(rows=[], unit=None)) == (0.0, 1.0)
    marks = re.findall(r'x="([\d.]+)" y="18" text-anchor="middle">([^<]*)', axis_svg((0.0, 1.0)))
    assert [(float(x), float(t)) for x, t in marks] == [(14 + 52 * k, k / 5) for k in range(6)]
    whole = page_html(Document("", "", "", (block._replace(rows=rows(0.35, 0.0, 0.5, 0.4)),)))
    assert "part of the range 0 to 1" not in whole
    assert re.search(r'width="1.5"', bar_svg([0.5, 0.5, 0.5, None], (0.0, 1.0)))
    assert "dot" not in bar_svg([None, 0.2, 0.4, None], (0.0, 1.0))
    assert "rect" not in bar_svg([0.3, None, 0.4, None], (0.0, 1.0))


def test_every_block_is_valid_when_it_is_empty():
    empty = {"mean": [], "low": [], "high": []}
    nothing = Table("", "", "a", (VALUE,), [])
    parts = (nothing, Matrix("", "", (), (), empty), Notes("", "", []), how(), facts(),
             Notes("", "", [Note("say", "text", "name")]))  # fmt: skip
    answer = Document("title", "", "", parts)
    assert "Name (worth knowing)" in "".join(read(page_html(answer)).texts)
    assert "Name (worth knowing): text." in terminal_text(answer, full=True)


def two_shares(name, *columns, **options):
    rows = [{"name": "a", **{c: {"mean": m, "low": m - 0.1, "high": m + 0.1} for c, m in columns}}]
    shares = tuple(Column((c, "mean"), c, ((c, "low"), (c, "high"))) for c, _ in columns)
    return Table(name, name, "name", shares, rows, **options)


def test_every_interval_has_its_bar_and_tables_of_a_unit_share_an_axis():
    one, two = two_shares("one", ("acc", 0.9)), two_shares("two", ("low", 0.2), ("high", 0.8))
    apart = two_shares("differences", ("gap", 0.05), unit=None)
    page = page_html(Document("", "", "", (one, two, apart)))
    first, second, third = re.findall("<table.*?</table>", page, re.DOTALL)
    assert first.count('class="bar"') == 1 and second.count('class="bar"') == 2
    marks = [re.findall(r"text-anchor=.middle.>([^<]*)", table) for table in (first, second, third)]
    assert marks[0] == ["0", "0.2", "0.4", "0.6", "0.8", "1"] and marks[1] == ["0", "0.5", "1"] * 2
    assert page.count("This table has an axis of its own.") == 1
    assert 'class="zero"' in third and 'class="zero"' not in first + second and "\u2212" in third
    assert second.index("<span>0.200&nbsp;[") < second.index('class="bar"') < second.index("<span>0.800")
    drawn = [c.title for c in two._replace(draw="high").bars()]
    assert drawn == ["high"] and [c.title for c in two.bars()] == ["low", "high"]
    assert not two._replace(rows=[{"name": "a"}]).bars()
    missing = page_html(Document("", "", "", (two._replace(rows=[{"name": "a"}, *two.rows]),)))
    assert missing.count('class="bar"') == 2 and '<span class="is">low</span>' in missing  # titles on a phone


def test_a_page_for_a_paper_has_a_reference_and_no_advice():
    notes = Notes("warnings", "Warnings", [
        Note("warn", "Gold is assumed to be random; if it is not, give --inclusion."),
        Note("read", "Read as a wide table."), Note("warn", "Labels share errors: give --gold."),
    ])  # fmt: skip
    advice = Notes("advice", "What would narrow the intervals", [Note("do", "Verify a.")])
    lines = ("Positive class: pass (to change: --positive fail).",)
    document = Document(
        "Q", "300 samples", "Accuracy 90 %.", (notes, advice), next="jtruth ask a", lines=lines
    )
    made = [("command", "jtruth evaluate"), ("seed", "0")]
    paper, whole = (page_html(document, made=made, paper=p) for p in (True, False))
    for text in ("--positive", "--inclusion", "jtruth ask", "jtruth evaluate", "narrow the intervals"):
        assert text in whole and text not in paper, text
    for text in (
        "300 samples",
        "Positive class: pass.",
        "assumed to be random.",
        "Reference:",
        "a Python package",
        "Seed:",
        "Input:",
    ):
        assert text in paper, text
    assert "Labels share errors" in paper and "Reference:" not in whole  # no warning is lost
