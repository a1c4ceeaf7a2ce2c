"""Share of sentences above 25 words, words to avoid and Flesch reading ease of pages, notebooks, screens.

Run: python docs/readability.py FILE_OR_FOLDER ...

Places where readers who had never seen jtruth stopped, for each 1000 words (two readers a version with
one brief; one reader of docstrings of scikit-learn 1.9 and the help of git clone, pip install, ruff check):

                      before      926de916    c051cfa5    other texts
    eight pages       21.6, 19.1  13.2, 13.0  11.8, 9.3   18.2
    six help pages    35, 32      29, 28      22, 26      29
    twelve screens    45, 39      45, 28      35, 27
"""

import ast
import json
import re
import sys
from pathlib import Path

BANNED = next(  # the list that a test applies to the texts of the package
    ast.literal_eval(node.value.args[0])  # type: ignore
    for node in ast.parse((Path(__file__).parents[1] / "tests" / "test_words.py").read_text()).body
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "BANNED"
)
VOWELS = re.compile(r"[aeiouy]+(?!\b)|(?<=l)e\b|[aiouy]\b", re.IGNORECASE)
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*|[\d.,]*\d")


def prose(path: Path) -> str:
    """The sentences of a file, without code, tables, links' targets and formulas."""
    text = path.read_text()
    if path.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells)
    if path.suffix in (".md", ".ipynb"):
        text = re.sub(r"```.*?```|\$\$.*?\$\$|<!--.*?-->", "\n\n", text, flags=re.DOTALL)
        text = re.sub(r"^(\||:|    |#).*$", "\n", text, flags=re.MULTILINE)
        text = re.sub(r"`[^`]*`|\$[^$]*\$", "X", re.sub(r"\]\([^)]*\)", "]", text))
        text = re.sub(r"^\s*(?:[-*]|\d+\.) ", "\n\n", text, flags=re.MULTILINE)
    else:  # a screen: rows of tables and commands are no sentences; a note begins after its sign
        text = re.sub(r"^[>!-]  ", "\n", text, flags=re.MULTILINE)
        text = re.sub(r"^(?:.*\S {2,}\S.*|next:.*|\s+#.*|\$ .*)$", "\n", text, flags=re.MULTILINE)
    return text


def sentences(text: str) -> list[list[str]]:
    parts = re.split(r"\n\s*\n|(?<=[.?!:;])[\"')*]*\s+(?=[A-Z0-9*\"'(`]|jtruth)|(?<=[?!])\s", text)
    return [words for part in parts if len(words := WORD.findall(part)) > 2]


def measured(paths: list[Path]) -> str:
    text = "\n\n".join(prose(path) for path in paths)
    found = sentences(text)
    words = [word for sentence in found for word in sentence]
    long = sum(len(sentence) > 25 for sentence in found) / len(found)
    avoid = len(list(re.finditer(BANNED, text, re.IGNORECASE)))
    ease = (
        206.835
        - 1.015 * len(words) / len(found)
        - 84.6 * sum(max(1, len(VOWELS.findall(word))) for word in words) / len(words)
    )
    return f"{len(found):6d}  {100 * long:9.1f} %  {avoid:5d}  {1000 * avoid / len(words):8.1f}  {ease:6.1f}"


if __name__ == "__main__":
    found = [
        p for name in sys.argv[1:] for p in ([Path(name)] if Path(name).is_file() else Path(name).rglob("*"))
    ]
    paths = sorted(path for path in found if path.suffix in (".md", ".ipynb", ".txt"))
    print("sentences  > 25 words  avoid  per 1000  Flesch")
    for path in [*paths, None]:
        print(measured([path] if path else paths), path or "all")
