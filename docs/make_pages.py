"""Pages of the site that follow from the source: API, commands, benchmarks, changelog, tutorials, more.

`docs/conf.py` has them written when a build begins; git ignores them. Run `python docs/make_pages.py` to read
them without Sphinx.
"""

import ast
import importlib
import inspect
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import make_results

import jtruth

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
GENERATED = ("api", "commands.md", "benchmarks.md", "changelog.md", "tutorials", "more.md")
_SPECIAL = re.compile(r"([\\*_\[\]<>$#{}|~])")
_SECTIONS = ("Args", "Returns", "Raises", "Example", "Examples", "Source", "Yields", "Attributes")


def public_names() -> dict[str, list[tuple[str, Any]]]:
    """Page -> (dotted name, object): the root, every module's `__all__`, and public names of other files."""
    pages: dict[str, list[tuple[str, Any]]] = {"jtruth": []}
    for name in sorted(jtruth.__all__):
        value = getattr(jtruth, name)
        if not inspect.ismodule(value):
            pages["jtruth"].append((f"jtruth.{name}", value))
            continue
        inside = make_results.names_of(value)
        pages[name] = [(f"jtruth.{name}.{inner}", getattr(value, inner)) for inner in inside]
    for place in make_results.BESIDE:
        module, _, name = place.rpartition(".")
        found = getattr(importlib.import_module(f"jtruth.{module}"), name)
        pages[place.partition(".")[0]].append((f"jtruth.{place}", found))
    return {page: sorted(names, key=functions_first) for page, names in pages.items()}


def functions_first(named: tuple[str, Any]) -> tuple[bool, int, str]:
    """`evaluate`, other functions, classes, constants."""
    name, value = named
    kind = 0 if inspect.isroutine(value) else 1 if inspect.isclass(value) else 2
    return not name.endswith(".evaluate"), kind, name


def api_page(place: str, names: list[tuple[str, Any]], results: list[type]) -> str:
    """One module: its purpose, every name with its signature and text, and the results of its functions."""
    module = jtruth if place == "jtruth" else importlib.import_module(f"jtruth.{place}")
    parts = [
        f"# {'jtruth' if place == 'jtruth' else f'jtruth.{place}'}",
        as_markdown(inspect.getdoc(module) or ""),
    ]
    for name, value in names:
        parts += [f"## `{name}`", *entry(name, value)]
    told = {id(value) for _, value in names}
    for kind in results:
        if id(kind) not in told:
            parts += [f"## `{kind.__name__}`", f"Result type of `{kind.__module__}`.", *about_class(kind)]
    return "\n\n".join(part for part in parts if part) + "\n"


def entry(name: str, value: Any) -> Iterator[str]:
    """A function's signature and text; a class's purpose, fields and methods; a constant's value."""
    short = name.rpartition(".")[2]
    if inspect.isclass(value):
        yield from about_class(value)
        yield f"```text\n{signature(short, value)}\n```"
    elif callable(value):
        yield f"```text\n{signature(short, value)}\n```"
        yield as_markdown(inspect.getdoc(value) or "")
    else:
        yield f"```text\n{without_address(repr(value))[:600]}\n```"


def about_class(kind: type) -> Iterator[str]:
    """Purpose, then fields, then methods."""
    yield as_markdown(inspect.getdoc(kind) or "")
    lines = [f"- `{field}`: {escaped(text)}" for field, text in make_results.fields(kind).items()]
    for method, function in make_results.methods(kind):
        lines.append(
            f"- `{signature(method, function, 90)}`: {escaped(make_results.first_sentence(function))}"
        )
    yield "\n".join(lines)


def signature(name: str, value: Any, width: int | None = None) -> str:
    """name(parameters), one on a line where they are many; shortened to `width` where that is given."""
    try:
        found = inspect.signature(value)
    except (ValueError, TypeError):
        return name
    params = [without_address(str(p)) for p in found.parameters.values() if p.name not in ("self", "cls")]
    if width is not None:
        params = [p.split(":")[0].split("=")[0] for p in params]
        return without_address(f"{name}({', '.join(params)})")[:width]
    line = f"{name}({', '.join(params)})"
    return line if len(line) <= 100 else f"{name}(\n    " + ",\n    ".join(params) + ",\n)"


def without_address(text: str) -> str:
    """Texts of objects without where they lie in memory, which is another place in every build."""
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def escaped(text: str) -> str:
    """Markdown that shows these characters; code between backticks stays."""
    parts = re.split(r"(`[^`\n]*`)", text)
    return "".join(p if p.startswith("`") and len(p) > 1 else _SPECIAL.sub(r"\\\1", p) for p in parts)


def as_markdown(doc: str) -> str:
    """A docstring in Google style: sections become headings in bold, arguments a list, examples code."""
    out: list[str] = []
    section, fenced = "", False
    for line in doc.splitlines():
        text, indent = line.strip(), len(line) - len(line.lstrip())
        example = text.startswith((">>>", "...")) or (fenced and bool(text))
        aligned = indent == 0 and re.search(r"\S {3,}\S", line)  # two columns
        code = example or aligned or (indent >= 4 and not section)
        if fenced and not code:
            out.append("```")
            fenced = False
        if not fenced and code:
            out += ["", "```pycon" if example else "```text"]
            fenced = True
        if code:
            out.append(line.removeprefix("    ") if indent >= 4 else line)
        elif text.rstrip(":") in _SECTIONS and text.endswith(":"):
            section = text.rstrip(":")
            out += ["", f"**{section}**", ""]
        elif not text or indent == 0:
            section = "" if text else section
            out.append(escaped(text))
        elif section in ("Args", "Raises", "Attributes") and indent == 4:
            head, colon, rest = text.partition(":")
            out.append(f"- `{head}`{colon}{escaped(rest)}" if colon else f"  {escaped(text)}")
        else:
            out.append(f"  {escaped(text)}" if section in ("Args", "Raises") else escaped(text))
    return "\n".join([*out, "```"] if fenced else out)


def commands() -> str:
    """`--help` of every command."""
    import typer.main
    from typer.testing import CliRunner

    from jtruth.cli.app import app

    names = list(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    parts = ["# Commands", "What `jtruth COMMAND --help` prints."]
    for name in names:
        text = CliRunner().invoke(app, [name, "--help"], prog_name="jtruth", terminal_width=80).output
        parts += [f"## jtruth {name}", f"```text\n{text.strip()}\n```"]
    return "\n\n".join(parts) + "\n"


def benchmarks() -> str:
    """The head comment of every benchmark: what was asked, how, on which machine, and what came out."""
    parts = [
        "# Benchmarks",
        "Each script answers one question. The head comments follow: question, method, machine, results.",
    ]
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        head = ast.get_docstring(ast.parse(path.read_text())) or ""
        first, _, rest = head.partition("\n")
        parts += [f"## {path.name}", escaped(first), f"```text\n{rest.strip()}\n```"]
    return "\n\n".join(parts) + "\n"


def toctree(title: str, names: list[str], text: str = "") -> str:
    """A page that only leads to others."""
    listed = "\n".join(["```{toctree}", ":maxdepth: 1", "", *names, "```"]) if names else ""
    return "\n\n".join(part for part in (f"# {title}", text, listed) if part) + "\n"


def api_index(places: list[str]) -> str:
    """`evaluate`, then the modules, each with the first sentence of its docstring."""
    order = [*make_results.FIRST, "jtruth"]
    order += [place for place in places if place not in order]
    lines = [f"| [{place}]({place}.md) | {first_sentence_of(place)} |" for place in order]
    text = [
        "Most questions start with `jt.evaluate`. [Functions by question](../results.md) lists the others.",
        "## `jtruth.evaluate`",
        *entry("jtruth.evaluate", jtruth.evaluate),
        "## Modules",
        "\n".join(["| module | what it answers |", "|---|---|", *lines]),
    ]
    return toctree("API", order, "\n\n".join(text)).replace(":maxdepth: 1", ":hidden:")


def first_sentence_of(place: str) -> str:
    module = jtruth if place == "jtruth" else importlib.import_module(f"jtruth.{place}")
    return escaped(make_results.first_sentence(module))


def pages() -> dict[str, str]:
    """Path below docs/ -> text of every generated page that is no notebook."""
    names = public_names()
    results: dict[str, list[type]] = {}
    for kind in sorted(make_results.result_types(), key=lambda kind: kind.__name__):
        results.setdefault(kind.__module__.split(".")[1], []).append(kind)
    found = {
        f"api/{page}.md": api_page(page, listed, results.get(page, [])) for page, listed in names.items()
    }
    found["api/index.md"] = api_index(list(names))
    found["commands.md"], found["benchmarks.md"] = commands(), benchmarks()
    found["changelog.md"] = "```{include} ../CHANGELOG.md\n```\n"
    notebooks = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
    found["tutorials/index.md"] = toctree("Tutorials", notebooks, "Notebooks, which run from a plain clone.")
    named = (HERE / "index.md").read_text()
    rest = sorted(p.stem for p in HERE.glob("*.md") if p.name not in GENERATED and p.stem != "index")
    found["more.md"] = toctree("More", [name for name in rest if f"\n{name}\n" not in named], "Other pages.")
    return found


def write() -> None:
    """All of them, and copies of the notebooks, whose links to pages of docs/ are links beside them here."""
    for name in GENERATED:
        path = HERE / name
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    for name, text in pages().items():
        (HERE / name).parent.mkdir(exist_ok=True)
        (HERE / name).write_text(text)
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        (HERE / "tutorials" / notebook.name).write_text(notebook.read_text().replace("](../docs/", "](../"))


if __name__ == "__main__":
    write()
