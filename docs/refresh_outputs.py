"""Refresh the outputs that pages quote: a block of `text` right after one of `sh` or `python`.

Run: python docs/refresh_outputs.py [--check] [PAGE ...]       (a test runs it with --check)
"""

import contextlib
import difflib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def pages() -> list[Path]:
    """Pages that quote an output."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [page for page in found if any(match[3] is not None for match in BLOCK.finditer(page.read_text()))]


def printed(lines: str) -> str:
    """What the last command of a block prints on a terminal of 80 columns, notes on stderr included."""
    command = shlex.split(lines.strip().splitlines()[-1])
    env = {name: value for name, value in os.environ.items() if "XLA" not in name and "JAX" not in name}
    env |= {"COLUMNS": "80", "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    run = [sys.executable, "-m", *command]
    done = subprocess.run(run, cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout


def refreshed(page: Path) -> str:
    """The page with every output as it is printed now. Its Python runs from the top, in one namespace."""
    names: dict = {}

    def again(match: re.Match) -> str:
        kind, code, quoted = match.groups()
        if kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(code, names)
        if quoted is None:
            return match[0]
        text = out.getvalue() if kind == "python" else printed(code)
        text = "\n".join(line.rstrip() for line in text.rstrip().splitlines())
        return f"```{kind}\n{code}```\n\n```text\n{text}\n```\n"

    return BLOCK.sub(again, page.read_text())


if __name__ == "__main__":
    os.chdir(ROOT)
    os.environ["COLUMNS"] = "80"  # a width for Python's answers too
    sys.path.insert(0, str(ROOT))
    names = [name for name in sys.argv[1:] if name != "--check"]
    for page in [Path(name).resolve() for name in names] or pages():
        old, new = page.read_text(), refreshed(page)
        if "--check" not in sys.argv:
            page.write_text(new)
        elif old != new:
            sys.exit(
                "\n".join(
                    difflib.unified_diff(old.splitlines(), new.splitlines(), page.name, "now", "", "", 1)
                )
            )
