"""How commands end: an error in the words of the shell, in one line with a code; and suggested commands."""

import ast
import errno
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from jtruth.cli.words import shell_words

CARIES, ANESTHESIA = "examples/caries.csv", "examples/anesthesia.csv"


def test_no_message_to_the_shell_speaks_python():
    """Every sentence of the rooms that commands use, in the shell's words: no option=value is left.

    A sentence that names an option which the shell does not have says that it is about Python.
    """
    rooms = ["_validation", "evaluation", "learning", "planning", "io", "labels.py", "inspection.py"]
    rooms += ["histograms", "sampling", "comparison"]
    python = re.compile(
        r"(?<![\w.-])(?<!\w\()[a-z_]+=(True|'\w|\"\w|\.\.\.|\[)|`[a-z_]+`|num_classes\)|common_only"
    )
    others = ("jax.random", "pseudo_counts", "reset_index", "dependence=", "allow_unlabelled")
    others += (
        ".melt(",
        "no probability distribution",
        "assumption=...",
        "F_beta for",
        "a custom Spec",
        "differences=",
        "float32 cannot tell",
        "shares='by_number'",
        "the kernel is of",
        "a panel needs",
        "the start of chain",
        "chain_method=",
        "Arguments as for",  # a docstring made for a NumPyro model
    )
    seen, left = 0, []
    for path in sorted(p for r in rooms for p in [*Path("jtruth", r).rglob("*.py"), Path("jtruth", r)]):
        if path.suffix != ".py" or not path.is_file():
            continue
        for text in sentences(path):
            words = shell_words(text)
            seen += words != text
            if python.search(words) and not any(one in words for one in others):
                left.append(f"{path}: {words}")
    assert not left, "\n".join(left)
    assert seen >= 10


def sentences(path):
    """Text of a file that is no docstring and no `__repr__`, f-strings with 'x' for what is filled in."""
    tree = ast.parse(path.read_text())
    for owner in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        owner.body = [part for part in owner.body if getattr(part, "name", "") != "__repr__"]
    docs = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    formatted = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inside = {id(part) for node in formatted for part in ast.walk(node) if part is not node}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(v.value if isinstance(v, ast.Constant) else "'x'" for v in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs | inside:
            yield node.value


@pytest.mark.slow
def test_next_lines_run_as_printed(run, export, monkeypatch):
    """On cd70ba6 they forgot the columns, and what `#` and quotation marks are for."""
    monkeypatch.chdir(export)
    columns = ["--task", "HITId", "--worker", "WorkerId", "--label", "Answer", "--sep", ";"]
    code, out, _ = run("inspect", "my labels.csv", *columns)
    assert code == 0
    steps = [line.removeprefix("Tip: ") for line in out.splitlines() if line.startswith("Tip: jtruth")]
    assert len(steps) == 3
    for step in (step for step in steps if "PRED.csv" not in step):  # a file of one's own
        code, out, err = run(*shlex.split(step, comments=True)[1:], "--seed", "1")
        assert code == 0, err
    (after,) = [line.removeprefix("next: ") for line in out.splitlines() if line.startswith("next: ")]
    words = shlex.split(after, comments=True)
    assert {"--missing", "--task"} <= set(words), words
    code, out, err = run(*words[1:])
    assert code == 0, err


ENDS = {
    MemoryError("Unable to allocate 44.7 GiB"): (
        1,
        "not enough memory for this (Unable to allocate 44.7 GiB)",
    ),
    RuntimeError("RESOURCE_EXHAUSTED: Out of memory"): (1, "not enough memory"),
    TypeError("a\x1b[2Jb"): (1, "a bug in jtruth, please report it (TypeError: a\\x1b[2Jb)"),
    ValueError("one\nline \x1b[2J"): (2, "one line \\x1b[2J"),
    KeyboardInterrupt(): (130, "jtruth: stopped; nothing was written"),
}


@pytest.mark.parametrize("problem", ENDS, ids=repr)
def test_every_end_is_one_line_and_a_code(run, monkeypatch, problem):
    def fail(*_, **__):
        raise problem

    monkeypatch.setattr("jtruth.inspection.inspect_labels", fail)
    code, out, err = run("inspect", CARIES)
    assert (code, out) == (ENDS[problem][0], "") and ENDS[problem][1] in err
    assert len(err.splitlines()) <= 1 and "\x1b" not in err


def test_ctrl_c_while_libraries_load(pytestconfig):
    code = (
        "import sys\nclass Stop:\n    def find_spec(self, name, *_):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stop())\nsys.argv = ['jtruth', 'inspect', 'x.csv']\n"
        "from jtruth.cli import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=pytestconfig.rootpath
    )
    assert (done.returncode, done.stderr) == (130, "jtruth: stopped; nothing was written\n")


SLOWLY = "import sys, time\nfrom jtruth.cli import main\nprint('here', flush=True)\n"


@pytest.mark.parametrize("after", [0.0, 0.6, 1.5, pytest.param(2.5, marks=pytest.mark.slow),
                                   pytest.param(4.0, marks=pytest.mark.slow)])  # fmt: skip
def test_ctrl_c_ends_with_one_sentence_at_any_moment(pytestconfig, tmp_path, after):
    """A second and a third press change nothing; what was finished before is named."""
    import signal
    import time

    words = ["models", ANESTHESIA, "--repeats", "keep", "--json", str(tmp_path / "a.json")]
    code = f"{SLOWLY}sys.argv = {['jtruth', *words]!r}\nmain()"
    environment = os.environ | {"JTRUTH_CACHE": "off", "JAX_COMPILATION_CACHE_DIR": ""}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=pytestconfig.rootpath, env=environment,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "here\n"
        time.sleep(after)
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            time.sleep(0.01)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, "")
    assert err == "jtruth: stopped; nothing was written\n" and not os.listdir(tmp_path)


def test_ctrl_c_takes_what_is_half_written_away(pytestconfig, tmp_path):
    words = ["inspect", CARIES, "--json", str(tmp_path / "a.json")]
    code = (
        f"import os, signal, sys\nsys.argv = {['jtruth', *words]!r}\n"
        "os.fsync = lambda _: signal.raise_signal(signal.SIGINT)\nfrom jtruth.cli import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=pytestconfig.rootpath
    )
    assert (done.returncode, done.stderr) == (130, "jtruth: stopped; nothing was written\n")
    assert not os.listdir(tmp_path)


PIPED = (
    ("inspect - --json {0}/a.json", "5 labelers", 0),
    ("evaluate - --rater 5 --method majority_vote", "no intervals", 0),
    ("evaluate - --predictions -", "only one file can be '-'", 2),
    ("labelers - --task x", "standard input: no column 'x'", 2),
)


@pytest.mark.parametrize(("command", "part", "code"), PIPED, ids=[one[0] for one in PIPED])
def test_pipes(run, monkeypatch, pytestconfig, tmp_path, command, part, code):
    """On cd70ba6 "-" was a file that is not there."""
    with subprocess.Popen(["cat", CARIES], stdout=subprocess.PIPE, cwd=pytestconfig.rootpath) as pipe:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(pipe.stdout))
        found, out, err = run(*command.format(tmp_path).split())
    assert found == code and part in out + err, err


def test_json_to_standard_output_is_json_alone(run, tmp_path):
    import json

    code, out, err = run("inspect", CARIES, "--json", "-", full=False)
    assert code == 0 and json.loads(out) and "5 labelers" in err
    run("inspect", CARIES, "--json", tmp_path / "a.json", full=False)
    assert json.loads((tmp_path / "a.json").read_text()) == json.loads(out)


@pytest.mark.slow
def test_a_pipe_that_closes_early_is_no_fault_of_the_input(pytestconfig):
    command = f"{sys.executable} -m jtruth inspect {CARIES} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=pytestconfig.rootpath)
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr and "Errno" not in done.stderr


def test_a_file_that_is_not_there_is_named_in_words(run, tmp_path):
    missing = tmp_path / "labels.csv"
    code, _, err = run("inspect", missing)
    assert code == 2 and err.strip() == f"jtruth: {missing}: no such file or directory"
    code, _, err = run("inspect", tmp_path)
    assert code == 2 and err.strip() == f"jtruth: {tmp_path}: is a directory"


@pytest.mark.parametrize("option", ["--json", "--report", "--consensus", "--save", "--update"])
def test_a_full_disk_names_the_file_and_leaves_nothing_half_written(run, small, monkeypatch, option):
    """The last kilobyte does not fit: whatever was to be written is not there, and nothing beside it."""

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    before = sorted(os.listdir(small))
    monkeypatch.setattr(os, "fsync", full)
    out = small / ("out.csv" if option == "--consensus" else "out.x")
    code, _, err = run("labelers", small / "labels.csv", "--fast", option, out)
    assert code == 2 and f"{out}: no space left on device (nothing was changed)\n" in err
    assert err.count("\n") == 1 and sorted(os.listdir(small)) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize(
    "words", [["--json", "/dev/full"], ["--report", "/dev/full"], ["--json", "-"], ["--full"]], ids=" ".join
)
def test_a_full_device_or_pipe_is_named(pytestconfig, words):
    """Also where it is standard output, which has no name."""
    command, piped = [sys.executable, "-m", "jtruth", "inspect", CARIES, *words], "/dev/full" not in words
    with open("/dev/full" if piped else os.devnull, "w") as out:
        done = subprocess.run(
            command, stdout=out, stderr=subprocess.PIPE, text=True, cwd=pytestconfig.rootpath
        )
    said = [line for line in done.stderr.splitlines() if "no space left on device" in line]
    name = "standard output" if piped else "/dev/full"
    assert (done.returncode, said) == (2, [f"jtruth: {name}: no space left on device"])
    assert "Errno" not in done.stderr and "Traceback" not in done.stderr
