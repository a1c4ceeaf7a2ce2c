"""Damaged files and wrong commands: does any end in a traceback or a hang?

Run: python benchmarks/fuzz.py files [NUMBER, 10000] [SEED]
     python benchmarks/fuzz.py commands [NUMBER, 2000] [SEED] [PROCESSES, 2]

Files as fifteen kinds of tools write them lose bytes, lines, fields and keys, get values that mean something
elsewhere ("NA", "1e400", "=1+1", nested brackets), are cut, packed and packed again; every reader must then
answer or refuse with a ValueError or OSError. Commands are drawn from all of them with options at random, on
such files and on whole ones, with short chains: they must end by themselves with exit code 0 or 2.

It prints a line for every other case, with the seed that reproduces it, and counts.

Measured: 2 shared cores, Python 3.11.7, jax 0.10.2. Files 0 to 9999: 17 of 10 000 ended in a KeyError (a packed file
in a zip), which is mended. Files 10 000 to 29 999: none; 3908 were answered, 16 092 refused. Commands
200 to 1999 of an older draw: 459 were answered, 1341 refused. Commands 20 000 to 21 999, two processes, three other
loads on the machine: 719 were answered, 1274 refused with a sentence, none ended in a traceback. Seven took more than
300 seconds by the clock (seconds of a processor are counted since): `plan` twice, `models`, `evaluate` and `compare`
end within 18 of a processor; `agreement` of 40 classes, twice, took a minute for every two labelers, which is mended.
"""

# ruff: noqa: E501
import contextlib
import gzip
import io
import json
import os
import signal
import sys
import tempfile
import traceback
import warnings
import zipfile
from pathlib import Path

import numpy as np

import jtruth as jt

SECONDS, SIZE = 120, 40
CELLS = ("", "NA", "nan", "null", "1e400", "-0", "=1+1", "0x1f", "\u202e", "a" * 5000, "1,5", '"', "\x00", "true",
         "\ud83d", "unsure", "2.0", " 1", "-1", "99999999999999999999", "[[1]]", "None")  # fmt: skip
VALUES = (None, True, 1e400, -1, 3.5, "", [], {}, [[]], {"a": []}, "x" * 3000, 10**30)
HARD = {"chains": 2, "burn_in": 10, "min_sweeps": 60, "max_sweeps": 120, "max_rhat": 9.0, "min_ess": 1.0}


class Hangs(BaseException):
    """More seconds of a processor than a person waits."""


def seeds():
    """By name: the bytes of whole files."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, SIZE)
    z = np.where(rng.random((SIZE, 3)) < 0.8, y[:, None], 1 - y[:, None])
    word, who = np.array(["no", "yes"]), ("ann", "bob", "cy")
    long = [(f"t{i}", w, word[z[i, t]]) for i in range(SIZE) for t, w in enumerate(who)]
    system = [(*row, ("base", "tuned")[int(row[0][1:]) % 2]) for row in long]
    lines = lambda rows, sep=",": "\n".join(sep.join(map(str, row)) for row in rows).encode()  # noqa: E731
    found = {
        "long.csv": lines([("task", "worker", "label"), *long]),
        "by.csv": lines([("task", "worker", "label", "system"), *system]),
        "semicolon.csv": lines([("item", "rater", "verdict"), *long], ";"),
        "wide.tsv": lines([("task", *who), *((f"t{i}", *word[z[i]]) for i in range(SIZE))], "\t"),
        "pred.csv": lines([("task", "label", "score"), *((f"t{i}", word[c], c * 0.5 + 0.2) for i, c in enumerate(y))]),
        "gold.csv": lines([("task", "label"), *((f"t{i}", word[y[i]]) for i in range(12))]),
        "features.csv": lines([("task", "a", "b"), *((f"t{i}", *rng.normal(size=2)) for i in range(SIZE))]),
        "records.json": json.dumps([{"task": t, "worker": w, "label": str(c)} for t, w, c in long]).encode(),
        "nested.jsonl": lines([(json.dumps({"id": i, "verdicts": dict(zip(who, word[z[i]].tolist(), strict=True))}),)
                               for i in range(SIZE)]),
        "studio.json": json.dumps([studio(i, word[z[i]]) for i in range(SIZE)]).encode(),
        "argilla.json": json.dumps([argilla(i, word[z[i]]) for i in range(SIZE)]).encode(),
        "prodigy.jsonl": lines([(json.dumps({"text": t, "_input_hash": 1, "_task_hash": hash_of(t), "answer": "accept",
                                             "accept": [str(c)], "_session_id": w}),) for t, w, c in long]),
        "mturk.csv": lines([("HITId", "WorkerId", "Answer.label", "AssignmentStatus"), *((*r, "Approved") for r in long)]),
        "noise.json": json.dumps({"symmetric": 0.2, "prior": [0.5, 0.5]}).encode(),
    }  # fmt: skip
    docs = {w: lines([(json.dumps({"id": i, "text": "x", "label": [str(word[z[i, t]])]}),) for i in range(SIZE)])
            for t, w in enumerate(who)}  # fmt: skip
    found["doccano.zip"] = zipped({f"{w}.jsonl": data for w, data in docs.items()})
    found["one.zip"] = zipped({"a/long.csv": found["long.csv"], "__MACOSX/._long.csv": b"x"})
    found["long.csv.gz"] = gzip.compress(found["long.csv"])
    with contextlib.suppress(ImportError):
        import pandas as pd

        frame = pd.DataFrame(long, columns=["task", "worker", "label"])
        for name, write in (("t.parquet", frame.to_parquet), ("t.xlsx", frame.to_excel)):
            with contextlib.suppress(ImportError):
                buffer = io.BytesIO()
                write(buffer, index=False)
                found[name] = buffer.getvalue()
    return found


def hash_of(text):
    return int(text[1:]) + 7


def studio(i, labels):
    value = lambda c: {"type": "choices", "from_name": "c", "to_name": "t", "value": {"choices": [str(c)]}}  # noqa: E731
    given = [
        {"id": k, "completed_by": k, "result": [value(c)], "ground_truth": False}
        for k, c in enumerate(labels)
    ]
    model = [{"model_version": "m", "score": 0.7, "result": [value(labels[0])]}]
    return {"id": i, "data": {"text": "x"}, "annotations": given, "predictions": model}


def argilla(i, labels):
    given = [{"user_id": f"u{k}", "value": str(c), "status": "submitted"} for k, c in enumerate(labels)]
    return {
        "id": str(i),
        "fields": {"t": "x"},
        "responses": {"q": given},
        "suggestions": {"q": {"value": str(labels[0])}},
    }


def zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def damaged(data, rng):
    """The bytes after one to three accidents."""
    for _ in range(rng.choice([1, 2, 3], p=[0.6, 0.3, 0.1])):
        data = ACCIDENTS[rng.integers(len(ACCIDENTS))](data, rng)
    return data


def flipped(data, rng):
    found = bytearray(data)
    for _ in range(rng.integers(1, 6)):
        if found:
            found[rng.integers(len(found))] = rng.integers(256)
    return bytes(found)


def cut(data, rng):
    return data[: rng.integers(len(data) + 1)]


def lines_moved(data, rng):
    lines = data.split(b"\n")
    a, b = rng.integers(len(lines), size=2)
    change = rng.integers(4)
    if change == 0:
        lines[a], lines[b] = lines[b], lines[a]
    elif change == 1:
        lines.insert(a, lines[b])
    elif change == 2:
        del lines[a]
    else:
        lines = lines[: 1 + a] if rng.random() < 0.3 else [*lines, b"", *lines[a:]]
    return b"\n".join(lines)


def cell(data, rng):
    sep = (b",", b";", b"\t", b":")[rng.integers(4)]
    fields = data.split(sep)
    fields[rng.integers(len(fields))] = CELLS[rng.integers(len(CELLS))].encode("utf-8", "surrogatepass")
    return sep.join(fields)


def column(data, rng):
    """One field of every line is another value, all the same or all different."""
    sep = (b",", b";", b"\t")[rng.integers(3)]
    lines, value = data.split(b"\n"), CELLS[rng.integers(len(CELLS))].encode("utf-8", "surrogatepass")
    where, each = rng.integers(4), rng.random() < 0.4
    for k, line in enumerate(lines[1:], 1):
        fields = line.split(sep)
        if where < len(fields):
            fields[where] = value + (str(k).encode() if each else b"")
        lines[k] = sep.join(fields)
    return b"\n".join(lines)


def tree(data, rng):
    """A value somewhere in JSON becomes another, or goes."""
    with contextlib.suppress(ValueError, UnicodeDecodeError, RecursionError):
        text = data.decode()
        alone = text.lstrip().startswith("[")
        found = json.loads(text) if alone else [json.loads(line) for line in text.split("\n") if line]
        for _ in range(rng.integers(1, 4)):
            at = found
            while isinstance(at, (dict, list)) and at:
                key = list(at)[rng.integers(len(at))] if isinstance(at, dict) else int(rng.integers(len(at)))
                if not isinstance(at[key], (dict, list)) or not at[key] or rng.random() < 0.3:
                    if rng.random() < 0.3:
                        del at[key]
                    else:
                        at[key] = VALUES[rng.integers(len(VALUES))]
                    break
                at = at[key]
        return (json.dumps(found) if alone else "\n".join(map(json.dumps, found))).encode()
    return data


def packed(data, rng):
    inside = {"a.csv": data, "b/a.csv": data, "c.json": data}
    names = [name for name in inside if rng.random() < 0.6] or ["a.csv"]
    return gzip.compress(data) if rng.random() < 0.5 else zipped({name: inside[name] for name in names})


ACCIDENTS = (flipped, cut, lines_moved, cell, cell, column, tree, tree, packed)


def watched(what, seed):
    """Run it; a line for what is neither an answer nor a refusal."""

    def stop(*_):
        raise Hangs

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of this processor: others may be at work
    try:
        what()
    except (ValueError, OSError):
        return "refused"
    except SystemExit as end:
        return {0: "answered", None: "answered", 2: "refused"}.get(end.code, "FAULT")
    except Hangs:
        print(f"{seed}: hangs", flush=True, file=sys.__stdout__)
        return "FAULT"
    except Exception as problem:
        at = traceback.extract_tb(problem.__traceback__)[-1]
        print(
            f"{seed}: {type(problem).__name__}: {problem!s:.150} ({at.filename}:{at.lineno})",
            flush=True,
            file=sys.__stdout__,
        )
        return "FAULT"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "answered"


def counted(numbers, one):
    """Run all of them in a folder of their own, and say how many ended how."""
    ends = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        for done, k in enumerate(numbers, 1):
            end = one(np.random.default_rng(k), k)
            ends[end] = ends.get(end, 0) + 1
            if done % max(len(numbers) // 20, 1) == 0:
                print(k + 1, ends, flush=True)


def files(number=10_000, seed=0):
    from jtruth.inspection import inspect_labels

    whole = seeds()
    labels = jt.Labels.from_long([f"t{i // 3}" for i in range(3 * SIZE)], ["ann", "bob", "cy"] * SIZE,
                                 ["no", "yes", "no"] * SIZE)  # fmt: skip
    readers = (
        jt.read_labels, jt.read_labels, inspect_labels,
        lambda path: jt.read_predictions(path, labels), lambda path: jt.read_gold(path, labels),
        lambda path: jt.io.read_noise(path, labels), lambda path: jt.io.read_features(path, labels),
    )  # fmt: skip

    def one(rng, k):
        name = list(whole)[rng.integers(len(whole))]
        path = Path(name)
        path.write_bytes(damaged(whole[name], rng))
        own = {"pred.csv": 3, "gold.csv": 4, "noise.json": 5, "features.csv": 6}.get(name, rng.integers(3))
        reader = readers[own if rng.random() < 0.9 else rng.integers(len(readers))]
        return watched(lambda: reader(path), k)

    counted(range(seed, seed + number), one)


COMMANDS = {  # what each is given, and how often
    "inspect": ("L",), "agreement": ("L",), "evaluate": ("L --predictions P", "L --rater ann", "L --predictions P --noise N"),
    "labelers": ("L --fast", "L"), "prevalence": ("L", "L --gold G", "L --by system"), "consensus": ("L",),
    "compare": ("L P P2",), "ask": ("L --predictions P", "L"),
    "clean": ("L --noise N", "L --features F --noise N", "L --features F", "L --features F --state queue.state"),
    "sensitivity": ("L --predictions P --noise N",), "correct": ("--called 680/1000 --sensitivity 45/50 --specificity 40/50",),
    "calibrate": ("L --predictions P",), "plan": ("--width 0.2 --labeler crowd:0.2:0.05:5",), "models": ("L --models one_coin,pooled --warmup 20 --samples 20",),
    "simulate": ("sim --samples 12 --labelers 3", "sim"),
}  # fmt: skip
SLOW = ("plan", "models", "ask", "sensitivity")  # NUTS and many fits: fewer of these
OPTIONS = (
    "--full", "--gold G", "--noise N", "--prior .8,.2", "--prior 2,1", "--prior x", "--level 0.9", "--level 2", "--level nan",
    "--seed 7", "--seed -1", "--positive yes", "--positive maybe", "--classes no,yes", "--classes yes", "--map yes=1,no=0",
    "--map =", "--abstain no", "--abstain unsure", "--pass-at 1", "--pass-at x", "--decimal ,", "--sep ;", "--sep ;;", "--wide",
    "--missing drop", "--repeats keep", "--repeats last", "--task item", "--label task", "--worker task", "--common-only",
    "--method majority_vote", "--method nothing", "--json out.json", "--json no/where.json", "--report out.html", "--by system",
    "--by nothing", "--assume independent", "--labelers-are llm_judges", "--metric recall", "--metric x", "--gold column:task",
    "--predictions column:label", "--predictions export:m", "--gold export:ground_truth", "--help", "--unknown",
    "--fast", "--features F", "--features column:label", "--scores score", "--method laplace", "--order label", "--order time",
    "--rater bob", "--rater nobody", "--state queue.state", "--out out.csv", "--consensus agreed.csv", "--save noise2.json",
    "--top 5", "--top 0", "--top -3", "--budget 10", "--budget x", "--weights quadratic", "--positive yes --threshold 0.5",
    "--threshold x", "--by worker", "--by label", "--plot out.png", "--help-reading", "--target F", "--target yes=.9,no=.1",
    "--target x", "--inclusion label", "--inclusion 0.5", "--cost yes=5", "--cost x", "--differences", "--ask 5", "--ask -1",
    "--ask-out ask.csv", "--update noise.json", "--update L", "--model asymmetric", "--model x", "--margin 0.1", "--margin -1",
    "--at-least 0.9", "--num 3", "--num 0", "--truth", "--strategy x", "--strategy uncertainty", "--costs 1,2",
    "--costs x", "--what prior", "--what x", "--fit-on G", "--folds 2", "--folds 0", "--bins 4", "--bins 0", "--merge-bins",
    "--drop ann", "--samples 30", "--samples 0", "--labelers 1", "--error .2", "--error 2", "--looks 2", "--classes 3",
    "--accuracy .8", "--accuracy x", "--differ 12/100", "--differ 5/0", "--mislabeling 3/40", "--mislabeling .1", "--called x",
    "--pred-label score", "--gold-task nothing", "--json -", "--json out.html", "--sets 3", "--cost-label x", "--width -1",
)  # fmt: skip


def options_of(name):
    """The words that a command knows."""
    import typer

    from jtruth.cli.app import app

    found = typer.main.get_command(app).commands[name].params
    return {word for one in found for word in (*one.opts, *one.secondary_opts)}


def prepared():
    """The command line, imported once, whose chains are short."""
    import inspect

    from jtruth import cli
    from jtruth.evaluation.assumptions import ranges, sensitivity
    from jtruth.latent import Effort
    from jtruth.learning.joint.posterior import fit_joint

    few = Effort(**HARD)
    ranges.ANSWER_EFFORT = ranges.EFFORT = sensitivity.EFFORT = few
    inspect.unwrap(fit_joint).__kwdefaults__["effort"] = few
    os.environ["JTRUTH_TRACEBACK"] = "1"
    return cli


def commands(number=2000, seed=0, processes=2):
    """Forks: each takes every so manieth command."""
    cli, whole = prepared(), seeds()
    known = {name: options_of(name) for name in COMMANDS}

    def one(rng, k):
        given = {"L": "long.csv" if rng.random() < 0.4 else list(whole)[rng.integers(len(whole))],
                 "P": "pred.csv", "P2": "pred2.csv", "G": "gold.csv", "N": "noise.json", "F": "features.csv"}  # fmt: skip
        for letter, name in given.items():
            data = whole["pred.csv" if letter == "P2" else name]
            Path(name).write_bytes(damaged(data, rng) if rng.random() < 0.15 else data)
        name = list(COMMANDS)[rng.integers(len(COMMANDS))]
        name = "inspect" if name in SLOW and rng.random() < 0.9 else name
        words = COMMANDS[name][rng.integers(len(COMMANDS[name]))].split()
        words += ["--method", "majority_vote"] if name == "evaluate" and rng.random() < 0.7 else []
        words += ["--fast"] if name == "labelers" and rng.random() < 0.7 else []
        fit = [words for words in OPTIONS if words.split()[0] in known[name]]
        for _ in range(rng.integers(0, 4)):
            pool = fit if rng.random() < 0.9 else OPTIONS
            words += pool[rng.integers(len(pool))].split()
        sys.argv = ["jtruth", name, *(given.get(word, word) for word in words)]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
            end = watched(cli.main, f"{k} {' '.join(sys.argv)}")
        if end == "FAULT" or (end == "refused" and len(said.getvalue().strip()) < 20):
            print(k, " ".join(sys.argv), said.getvalue()[:300], flush=True, file=sys.__stdout__)
        return end

    children = [os.fork()]
    while children[-1] and len(children) < processes:
        children.append(os.fork())
    if not children[-1]:
        counted(range(seed + len(children) - 1, seed + number, processes), one)
        os._exit(0)
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["files"]
    {"files": files, "commands": commands}[what](*map(int, rest))
