"""Files written by jtruth survive a kill, a full disk or a second process."""

import csv
import errno
import gzip
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import jtruth as jt
from jtruth import _files
from jtruth._checkpoint import Checkpoint
from jtruth.cleaning.loop import start
from jtruth.cleaning.state import read_state, write_state
from jtruth.io import read_labels, write_labels
from jtruth.learning import begin_stream, read_stream, update, write_stream

ROOT = Path(jt.__file__).parents[1]
HERE = os.environ | {"PYTHONPATH": str(ROOT)}


def day(k):
    """Labels of day k: six tasks by three workers."""
    tasks = [f"d{k}t{i}" for i in range(6) for _ in range(3)]
    return jt.Labels.from_long(
        tasks, list("xyz") * 6, [(i // 3 + (i == k)) % 2 for i in range(18)], num_classes=2
    )


def queue():
    """A cleaning of twelve samples."""
    z = np.array([0, 1] * 6)
    x = np.stack([z + 0.1, np.arange(12) / 12], axis=1)
    return start(x, jt.Labels.from_matrix(z[:, None], 2), jt.noise.Symmetric(0.2, 2), [0.5, 0.5], seed=1)


def test_a_full_disk_names_the_file_and_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    _files.write_table(path, ["a"], [[1]])

    def rows():
        yield [2]
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="nothing was changed") as caught:
        _files.write_table(path, ["a"], rows())
    assert caught.value.filename == str(path) and caught.value.errno == errno.ENOSPC
    assert path.read_text() == "a\n1\n" and os.listdir(tmp_path) == ["table.csv"]


def test_pipes_links_and_modes_stay_what_they_are(tmp_path):
    path, link = tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    _files.write_text(link, "new")
    assert link.is_symlink() and path.read_text() == "new" and path.stat().st_mode & 0o777 == 0o640
    _files.write_text("/dev/null", "gone")
    left = tmp_path / "a.txt.77-0123abcd.part"
    left.write_text("half")
    _files.write_text(path, "newer")
    assert left.exists()  # perhaps of a process that is at work
    os.utime(left, (0, 0))
    _files.write_text(path, "newest")
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.txt"]


def test_cells_that_a_spreadsheet_would_compute(tmp_path):
    names = ["=1+1", "+cmd", "-x", "@ann", "'-x", "-0.5", "it's", "plain", "''", "'"]
    _files.write_table(tmp_path / "t.csv", ["task", "n"], [[name, -0.5] for name in names])
    with (tmp_path / "t.csv").open(newline="") as file:
        cells = [row[0] for row in csv.reader(file)][1:]
    assert cells == ["' =1+1", "' +cmd", "' -x", "' @ann", "'-x", "-0.5", "it's", "plain", "''", "'"]
    assert ",-0.5\n" in (tmp_path / "t.csv").read_text()
    labels = jt.Labels.from_long(names, ["=w"] * len(names), [0, 1] * 5, num_classes=2)
    write_labels(tmp_path / "labels.csv.gz", labels)
    back = read_labels(tmp_path / "labels.csv.gz")
    assert back.tasks == labels.tasks and back.workers == ("=w",)


def test_of_two_processes_that_update_a_stream_one_is_refused(tmp_path):
    path = tmp_path / "state"
    write_stream(path, begin_stream(day(0)))
    states = [update(read_stream(path), day(k)) for k in (1, 2)]
    write_stream(path, states[0])
    with pytest.raises(ValueError, match=r"another process changed it.*Nothing was written"):
        write_stream(path, states[1])
    assert read_stream(path).batches == states[0].batches
    write_stream(path, update(read_stream(path), day(2)))
    assert len(read_stream(path).batches) == 3
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="not a checkpoint"):
        write_stream(tmp_path / "notes.txt", states[0])
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_state_of_a_cleaning_keeps_answers_and_requests(tmp_path):
    path, fresh = tmp_path / "queue.state", queue()
    one, two = (fresh._replace(answers=((k, 1),), pending=(4,)) for k in (2, 3))
    write_state(path, one)
    for worse in (two, one._replace(pending=(5,)), fresh):
        with pytest.raises(ValueError, match="Nothing was written"):
            write_state(path, worse)
    assert read_state(path, fresh).answers == one.answers
    write_state(path, one._replace(answers=((2, 1), (4, 0)), pending=()))
    arrays = dict(np.load(path))
    words = json.loads(str(arrays.pop("about")))
    words["words"]["answers"] = [[2, 0]]  # answers of one with the model of another
    with open(path, "wb") as file:
        np.savez(file, about=np.array(json.dumps(words)), **arrays)
    with pytest.raises(ValueError, match="its digest differs"):
        read_state(path, fresh)
    assert os.listdir(tmp_path) == ["queue.state"]


def test_who_waits_for_a_file_that_is_replaced_holds_the_new_one(tmp_path):
    """Not the old one, which nobody finds any more."""
    fcntl = pytest.importorskip("fcntl")
    path, new, entered, leave = tmp_path / "state", tmp_path / "new", threading.Event(), threading.Event()
    with _files.kept_still(path) as there:
        assert not there
    path.write_text("old")
    new.write_text("new")

    def wait():
        with _files.kept_still(path) as there:
            assert there
            entered.set()
            leave.wait(30)

    other = threading.Thread(target=wait)
    with _files.kept_still(path) as there:
        assert there
        other.start()
        assert not entered.wait(0.2)
        os.replace(new, path)
    assert entered.wait(30)
    with path.open("rb") as file:
        with pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        leave.set()
        other.join()
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def process(code, *arguments):
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, env=HERE, text=True, **pipes)


_WRITER = """
import os, sys
import numpy as np
from jtruth import _files
from jtruth.cleaning.state import write_state
from jtruth._checkpoint import Checkpoint
from jtruth.learning import begin_stream, write_stream
from tests.test_files import day, queue

def write_for_ever(stream, cleaning, folder):
    for k in range(1_000_000):
        stream = stream._replace(batches=(*stream.batches, f"set {k}"))
        write_stream(f"{folder}/stream", stream)
        cleaning = cleaning._replace(answers=(*cleaning.answers, (k % 12, k % 2)))
        write_state(f"{folder}/queue", cleaning)
        _files.write_text(f"{folder}/report.html", f"<p>{k}</p>" * 2000 + f"end {k}")
        Checkpoint(f"{folder}/run.npz", "a run", 0.0).write({"draws": np.full(4000, k)}, {"done": k})
        print(k, flush=True)

stream, cleaning = begin_stream(day(0)), queue()
for line in sys.stdin:
    child = os.fork()  # a process that need not import anything
    if not child:
        write_for_ever(stream, cleaning, sys.argv[1])
    print(child, flush=True)
    os.waitpid(child, 0)
    print("dead", flush=True)
"""


@pytest.mark.slow
def test_kills_at_ten_moments_lose_nothing(tmp_path):
    """Kill a process that writes all four again and again, and read what it left."""
    rng, nothing_yet = np.random.default_rng(1), queue()
    one = process(_WRITER, tmp_path)
    for _ in range(10):
        for old in tmp_path.iterdir():
            old.unlink()
        one.stdin.write("\n")
        one.stdin.flush()
        # The number of the child, and the round after which all four exist, in any order.
        first = {one.stdout.readline(), one.stdout.readline()}
        assert "0\n" in first, one.stderr.read()
        (child,) = first - {"0\n"}
        time.sleep(rng.uniform(0, 0.05))
        os.kill(int(child), signal.SIGKILL)
        told = 1  # rounds that were said to be done
        while one.stdout.readline() != "dead\n":
            told += 1
        assert len(read_stream(tmp_path / "stream").batches) - 1 >= told
        assert len(read_state(tmp_path / "queue", nothing_yet).answers) >= told
        text = (tmp_path / "report.html").read_text()
        k = int(text.rpartition("end ")[2])
        assert k >= told - 1 and text == f"<p>{k}</p>" * 2000 + f"end {k}"
        arrays, words = Checkpoint(tmp_path / "run.npz", "a run", 0.0).read()
        assert words["done"] >= told - 1 and (arrays["draws"] == words["done"]).all()
    one.communicate()


def test_a_packed_table_is_packed_and_the_same_bytes_whenever_it_is_written(tmp_path):
    _files.write_table(tmp_path / "a.csv.gz", ("task", "label"), [("1", "=x"), ("2", "no")])
    data = (tmp_path / "a.csv.gz").read_bytes()
    assert data[:2] == b"\x1f\x8b" and data[4:8] == bytes(4)  # no time of writing
    assert gzip.decompress(data).decode() == "task,label\n1,' =x\n2,no\n"
