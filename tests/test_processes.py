"""Two processes on this machine, each with a shard of the labels, against one process with all of them."""

import json
import os
import socket
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import jtruth as jt
from jtruth import _mesh
from jtruth.io import read_shard

SCRIPT = """
import json, sys
import jax
number, port, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3]
jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=2, process_id=number)
import numpy as np
import jtruth as jt
from jtruth.io import read_shard

def refused(work):
    try:
        work()
    except ValueError as problem:
        return str(problem)

def fitted(labels):
    mesh = jax.make_mesh((jax.device_count(),), ("samples",))
    fit = jt.learning.fit_dawid_skene(labels, mesh=mesh, tol=0.0, max_steps=25)
    rows = dict(zip(labels.tasks, fit.class_posterior.tolist(), strict=True))
    return {"prior": fit.prior.tolist(), "matrices": fit.matrices.tolist(), "rows": rows,
            "log_likelihood": fit.log_likelihood, "workers": labels.workers, "classes": labels.classes}

part = lambda name: f"{folder}/{name}{number}.csv"
out = {"devices": jax.device_count(), "labels": fitted(read_shard(part("labels"))),
       "uneven": fitted(read_shard(part("uneven"))), "empty": fitted(read_shard(part("empty")))}
other = ["no", "yes"] if number else ["yes", "no"]
out["classes"] = refused(lambda: read_shard(part("labels"), classes=other))
mine = jt.read_labels(part("labels"), classes=["no", "yes"])  # a table of labelers of its own
out["workers"] = refused(lambda: fitted(mine))
out["fault"] = refused(lambda: read_shard(part("fault")))
out["common"] = refused(lambda: read_shard(f"{folder}/labels0.csv"))
print(json.dumps(out))
"""


def write(folder, name, rows):
    """Rows of (task, worker, label) as a table."""
    (folder / name).write_text("task,worker,label\n" + "".join(f"{','.join(row)}\n" for row in rows))


def rows_of(seed, num_tasks, first):
    """Labels by three of five workers; the second shard has a worker whom the first has not."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=num_tasks)
    workers = [rng.permutation(5 if first else 4)[:3] for _ in y]
    wrong = rng.random((num_tasks, 3)) < 0.2
    return [
        (f"t{first + i}", f"w{w}", ("no", "yes")[y[i] ^ int(wrong[i, k])])
        for i, some in enumerate(workers)
        for k, w in enumerate(some)
    ]


def begun(folder, number, port, env):
    """One process, which writes to files: a full pipe would stop it, and the other with it."""
    command = [sys.executable, "-c", SCRIPT, str(number), port, str(folder)]
    with open(folder / f"out{number}", "w") as out, open(folder / f"err{number}", "w") as err:
        return subprocess.Popen(command, env=env, stdout=out, stderr=err)


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """(folder, what each of two processes with two devices each found)."""
    folder = tmp_path_factory.mktemp("shards")
    shards = rows_of(0, 61, 0), rows_of(1, 37, 61)
    busy = [(f"t{61 + i % 37}", f"v{i}", "yes") for i in range(0, 37 * 60, 37)]  # sixty labels of one task
    for number, some in enumerate(shards):
        write(folder, f"labels{number}.csv", some)
        write(folder, f"uneven{number}.csv", some + busy * number)
        write(folder, f"empty{number}.csv", [] if number else some)
        write(folder, f"fault{number}.csv", [*some, some[0]] if number else some)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    env = os.environ | {"XLA_FLAGS": flags, "JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"}
    running = [begun(folder, number, port, env) for number in range(2)]
    try:
        codes = [process.wait(timeout=240) for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()
    assert codes == [0, 0], [(folder / f"err{number}").read_text()[-2000:] for number in range(2)]
    return folder, [json.loads((folder / f"out{number}").read_text().splitlines()[-1]) for number in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["labels", "uneven", "empty"])
def test_two_processes_agree_with_one(answers, name, tmp_path):
    """Prior, matrices and class posterior, to 1e-9; also with split samples, and a shard without rows."""
    folder, found = answers
    assert [one["devices"] for one in found] == [4, 4]
    both = [(folder / f"{name}{number}.csv").read_text().splitlines() for number in range(2)]
    (tmp_path / "all.csv").write_text("\n".join([*both[0], *both[1][1:]]) + "\n")
    labels = jt.read_labels(tmp_path / "all.csv")
    whole = jt.learning.fit_dawid_skene(labels, tol=0.0, max_steps=25)  # jumps begin at step 20
    for one in (part[name] for part in found):
        assert tuple(one["workers"]) == labels.workers and tuple(one["classes"]) == labels.classes
        np.testing.assert_allclose(one["prior"], whole.prior, atol=1e-9)
        np.testing.assert_allclose(one["matrices"], whole.matrices, atol=1e-9)
        np.testing.assert_allclose(one["log_likelihood"], whole.log_likelihood, rtol=1e-12)
    rows = found[0][name]["rows"] | found[1][name]["rows"]
    np.testing.assert_allclose([rows[task] for task in labels.tasks], whole.class_posterior, atol=1e-9)


@pytest.mark.slow
def test_shards_that_do_not_fit_together_are_refused_by_both(answers):
    """Other classes, other labelers, a fault of one, a task in both: the same words everywhere."""
    first, second = answers[1]
    for name, words in {
        "classes": "the classes differ: process 0 has 2: 'yes', 'no' and process 1 has 2: 'no', 'yes'",
        "workers": "the labelers differ: process 0 has 4: ",
        "fault": "process 1: fault1.csv, lines 2, 113: worker 'w",
        "common": "processes 0 and 1 have tasks in common: 't0', 't1'",
    }.items():
        assert first[name].startswith(words), first[name]
        assert first[name] == second[name]


def test_one_process_reads_its_file_as_ever(tmp_path):
    """Without `jax.distributed`, a shard is all there is."""
    write(tmp_path, "labels.csv", rows_of(0, 30, 0))
    part, whole = read_shard(tmp_path / "labels.csv"), jt.read_labels(tmp_path / "labels.csv")
    assert [a.tolist() for a in part.arrays] == [a.tolist() for a in whole.arrays]
    assert (part.tasks, part.workers, part.classes) == (whole.tasks, whole.workers, whole.classes)
    with pytest.raises(ValueError, match=r"^labels\.csv, line 2: no label"):
        write(tmp_path, "labels.csv", [("a", "b", "")])
        read_shard(tmp_path / "labels.csv", classes=["no", "yes"])


def test_names_of_processes_are_compared(monkeypatch):
    """As told by three processes."""
    tables = [["a", "b"], ["a", "b"], ["a", "c"]]
    monkeypatch.setattr(_mesh, "gathered", lambda _: tables)
    with pytest.raises(ValueError, match="process 0 has 2: 'a', 'b' and process 2 has 2: 'a', 'c'"):
        _mesh.same_everywhere("classes", ["a", "b"])


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o770, 0o707])
def test_programs_are_kept_where_nobody_else_can_write(tmp_path, mode):
    """In a process of its own: the folder is JAX's setting for all of it."""
    folder = tmp_path / "above" / "programs"
    code = "import jax, jtruth\njtruth.use_compilation_cache(sys.argv[1])\n"
    code += "print(jax.config.jax_compilation_cache_dir)"
    if mode != 0o700:  # else it is made
        folder.mkdir(parents=True)
        folder.chmod(mode)
    run = [sys.executable, "-c", "import sys\n" + code, str(folder)]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    refused = bool(mode & 0o022)
    assert done.stdout.strip() == (str(None) if refused else str(folder))
    assert done.stderr.count("Compiled programs are not kept: others may write to") == refused
    assert (folder.stat().st_mode & 0o777) == mode
    assert not refused or not os.listdir(folder)


@pytest.mark.parametrize("kept", [0, 40])
def test_damaged_programs_are_compiled_again_without_a_word(tmp_path, kept):
    """JAX says of each entry that it cannot be read, and there may be hundreds."""
    folder = tmp_path / "programs"
    code = "import jax, jtruth, sys\njtruth.use_compilation_cache(sys.argv[1])\n"
    code += "print(jax.jit(lambda x: 3 * x + 1)(2.0))"
    run = [sys.executable, "-c", code, str(folder)]
    for _ in range(2):
        done = subprocess.run(run, capture_output=True, text=True, check=True)
        assert (done.stdout, done.stderr) == ("7.0\n", "")
        entries = [path for path in folder.iterdir() if path.name.endswith("-cache")]
        assert entries
        for path in entries:
            path.write_bytes(path.read_bytes()[:kept])


def test_a_folder_of_somebody_else_is_not_believed(tmp_path, monkeypatch):
    from jtruth import _cache

    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert "belongs to another user" in _cache._others(tmp_path)


@pytest.mark.parametrize(("system", "folder"), [("nt", "local"), ("posix", "xdg")])
def test_programs_are_kept_where_the_system_keeps_what_it_can_spare(tmp_path, monkeypatch, system, folder):
    """On Windows there is no uid to ask for and no mode: a folder of the user is his own."""
    from jtruth import _cache

    places = {"LOCALAPPDATA": str(tmp_path / "local"), "XDG_CACHE_HOME": str(tmp_path / "xdg")}
    said, config = {}, SimpleNamespace(jax_compilation_cache_dir=None)
    config.update = said.__setitem__
    such = SimpleNamespace(name=system, environ=places, access=os.access, W_OK=os.W_OK, X_OK=os.X_OK)
    if system == "posix":
        such.getuid = os.getuid
    monkeypatch.setattr(_cache, "os", such)
    monkeypatch.setattr(_cache, "jax", SimpleNamespace(config=config))
    monkeypatch.setattr(_cache, "_CHOSEN", [])
    _cache.keep_programs.__wrapped__()
    assert said["jax_compilation_cache_dir"] == str(tmp_path / folder / "jtruth" / "programs")
    assert os.listdir(tmp_path) == [folder]
    (tmp_path / folder / "jtruth" / "programs").chmod(0o777)
    assert (_cache._others(tmp_path / folder / "jtruth" / "programs") == "") == (system == "nt")
