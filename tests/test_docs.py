"""The site's pages: code that runs, links and names that exist, every public name listed."""

import ast
import importlib
import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import jax
import pytest

from tests.source import ROOT, python_of

DOCS = ROOT / "docs"
MADE = {"benchmarks", "changelog", "commands", "more"}  # left by a build
PAGES = sorted(path for path in DOCS.glob("*.md") if path.stem not in MADE)
PAPERS = sorted((DOCS / "papers").glob("*.md"))
TEXTS = [
    *PAGES,
    *PAPERS,
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
]
TEXTS += [ROOT / folder / "README.md" for folder in ("notebooks", "examples", "benchmarks")]


def of_docs(name):
    """A script of docs/ as a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS)
        return importlib.import_module(name)


@pytest.fixture(scope="module")
def maker():
    """What writes the pages that follow from the source."""
    return of_docs("make_pages")


@pytest.fixture(scope="module")
def pages(maker):
    return maker.pages()


ELSEWHERE = ("your_own_model.md", "extending.md")  # run by test_datatree.py, and by a test for each recipe
WITH_CODE = [p for p in PAGES if python_of(p) and p.name not in ELSEWHERE]


@pytest.mark.slow
@pytest.mark.usefixtures("few_lineages")
@pytest.mark.parametrize("path", WITH_CODE, ids=lambda path: path.stem)
def test_the_python_of_a_page_runs(path, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):  # as a reader has it
        exec("\n".join(python_of(path)), {})
    assert capsys.readouterr().out


@pytest.fixture(scope="module")
def refresher():
    """What writes the outputs that pages quote."""
    return of_docs("refresh_outputs")


def test_most_pages_quote_an_output(refresher):
    names = {path.name for path in refresher.pages()}
    assert {"index.md", "judges_with_30_gold.md", "llm_judges.md", "gate.md"} <= names and len(names) > 8


@pytest.mark.slow
@pytest.mark.parametrize("path", [p for p in PAGES if "```text" in p.read_text()], ids=lambda path: path.stem)
def test_a_quoted_output_is_what_is_printed_now(path, refresher):
    """In a process without the settings of the tests, as a reader's."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
    check = [sys.executable, refresher.__file__, "--check", str(path)]
    done = subprocess.run(check, capture_output=True, text=True, env=env | {"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr


READ = [path for path in TEXTS if path.name != "CHANGELOG.md"] + sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", READ, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_page_has_no_banned_word_and_few_long_sentences(path):
    """Of prose: code, tables and formulas aside. Pages of the papers are made from stored results."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        readability = importlib.import_module("readability")
    text = readability.prose(path)
    found = [
        text[m.start() - 40 : m.end() + 40] for m in re.finditer(readability.BANNED, text, re.IGNORECASE)
    ]
    assert not found
    sentences = readability.sentences(text)
    long = [" ".join(words) for words in sentences if len(words) > 25]
    assert path in PAPERS or len(long) <= 1 + 0.1 * len(sentences), long


def anchors(path):
    """Headings as GitHub and MyST name them."""
    heads = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path, maker):
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        found = path if not name else (path.parent / name)
        made = path.parent == DOCS and Path(name).parts[:1] and Path(name).parts[0] in maker.GENERATED
        assert made or found.exists(), f"{path.name} links to {target}"
        assert not anchor or anchor in anchors(found), f"{path.name} links to {target}"


@pytest.mark.parametrize("path", [*PAGES, *PAPERS], ids=lambda path: path.stem)
def test_what_a_page_names_exists(path):
    """Files between backticks, and dotted names of the package."""
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    for name in re.findall(r"`((?:benchmarks|docs|examples|notebooks|tests|jtruth)/[\w./]+)`", text):
        assert (ROOT / name).exists(), f"{path.name} names {name}"
    for dotted in set(re.findall(r"`(?:jt|jtruth)((?:\.\w+)+)", text)):
        value, at = importlib.import_module("jtruth"), "jtruth"
        for part in dotted.split(".")[1:]:
            at = f"{at}.{part}"
            value = getattr(value, part, None) or importlib.import_module(at)


def test_what_docstrings_name_exists():
    """Benchmarks that stand behind a sentence of the source or of a test."""
    files = [path for folder in ("jtruth", "tests") for path in (ROOT / folder).rglob("*.py")]
    named = {name for path in files for name in re.findall(r"benchmarks/[a-z_]+\.py", path.read_text())}
    assert len(named) > 10 and [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_every_public_name_is_in_the_reference(pages):
    """Found another way: the `__all__` that every `__init__.py` writes down."""
    for init in sorted((ROOT / "jtruth").glob("*/__init__.py")):
        room = init.parent.name
        if room.startswith("_") or room == "cli":
            continue
        lists = [n.value for n in ast.parse(init.read_text()).body if isinstance(n, ast.Assign)]
        for name in ast.literal_eval(lists[-1]) if lists else []:
            assert f"## `jtruth.{room}.{name}`\n" in pages[f"api/{room}.md"]
    root = importlib.import_module("jtruth")
    rooms = {p.stem for p in (ROOT / "jtruth").iterdir()}
    for name in set(root.__all__) - rooms:
        assert f"## `jtruth.{name}`\n" in pages["api/jtruth.md"]
    for path in (ROOT / "benchmarks").glob("*.py"):
        assert f"## {path.name}\n" in pages["benchmarks.md"]
    assert all(f"## jtruth {name}\n" in pages["commands.md"] for name in ("evaluate", "prevalence", "ask"))


def test_every_page_is_reached_from_the_start(pages):
    named = pages["more.md"] + (DOCS / "index.md").read_text()
    assert all(f"\n{path.stem}\n" in named for path in PAGES if path.stem != "index")
    assert all(f"papers/{path.stem}\n" in named for path in PAPERS)


def test_docstrings_as_markdown(maker):
    said = maker.as_markdown(
        "First *line* of `a_b`.\n\n    x = a_1\n\nArgs:\n    one, two: what [it] is\n        and more\n\n"
        ">>> f(1)\n1\n\none    column\n"
    )
    assert "First \\*line\\* of `a_b`." in said and "```text\nx = a_1\n```" in said.replace("\n\n", "\n")
    assert "- `one, two`: what \\[it\\] is\n  and more" in said
    assert "```pycon\n>>> f(1)\n1\n```" in said.replace("\n\n", "\n") and "```text\none    column" in said


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_nb")
    build = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", str(DOCS), str(tmp_path / "html")]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "html" / "api" / "evaluation.html").is_file()
    dead = dead_links(tmp_path / "html")
    assert not dead, dead[:20]


def dead_links(site):
    """(page, link) of every internal link of the built site that leads to no file or no place in it."""
    texts = {path: path.read_text() for path in site.rglob("*.html")}
    places = {path: set(re.findall(r'id="([^"]+)"', text)) for path, text in texts.items()}
    dead = []
    for path, text in texts.items():
        for link in set(re.findall(r'(?:href|src)="([^"]*)"', text)):
            if re.match(r"[a-z]+:|//", link):
                continue
            name, _, anchor = unescape(link).partition("#")
            target = path if not name else (path.parent / unquote(name.partition("?")[0])).resolve()
            known = places.get(target)
            if not target.exists() or (anchor and known is not None and unquote(anchor) not in known):
                dead.append((path.relative_to(site).as_posix(), link))
    return dead
