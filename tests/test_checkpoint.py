"""Checkpoints: one format, a mark that another process reproduces, and atomic writing."""

import errno
import json
import os
import re
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import jtruth as jt
from jtruth._checkpoint import Checkpoint, digest
from jtruth.cleaning import start
from jtruth.cleaning.state import read_state, write_state
from jtruth.latent import Effort, Progress
from jtruth.learning import fit_joint
from tests import test_nuts
from tests.learning.crowds import from_votes

ROOT = Path(jt.__file__).parents[1]
EFFORT = Effort(chains=4, min_sweeps=400, max_sweeps=400, min_ess=1, max_rhat=9)


def a_function(x, *, width=1):
    return x + width


def small():
    z = np.array([[1, 1, 0], [0, 0, 0], [1, 0, 1], [0, 1, 0], [1, 1, 1], [0, 0, 0]] * 4)
    return jt.Labels.from_matrix(z, 2), z[:, 0]


def gibbs(path, key=0):
    labels, y_pred = small()
    effort, priors = EFFORT._replace(progress=Progress(checkpoint=path)), from_votes(labels)
    return fit_joint(labels, y_pred=y_pred, key=key, effort=effort, priors=priors)


def random_effect(path, key=0, **progress):
    labels, y_pred = small()
    effort = EFFORT._replace(progress=Progress(checkpoint=path, **progress))
    return fit_joint(labels, y_pred=y_pred, key=key, effort=effort, dependence="random_effect")


def run_nuts(path, key=0):
    return test_nuts.run([1.0, 2.0, 4.0], [1, 3, 0], seed=key, progress=Progress(checkpoint=path))


RUNS = {"gibbs": gibbs, "random effect": random_effect, "nuts": run_nuts}


@pytest.fixture(scope="module")
def fits(tmp_path_factory):
    """A run of every sampler, and its checkpoint."""
    folder = tmp_path_factory.mktemp("good")
    return {name: (run(folder / name), (folder / name).read_bytes()) for name, run in RUNS.items()}


@pytest.fixture(scope="module")
def files(fits):
    return {name: file for name, (_, file) in fits.items()}


@pytest.mark.parametrize(
    "kind", ["cut", "empty", "text", "zeros", "other npz", "other zip", "pickle", "folder"]
)
def test_damaged_files_are_named_in_one_sentence(tmp_path, files, kind):
    path, good = tmp_path / "run.npz", files["gibbs"]
    damaged = {"cut": good[: len(good) // 2], "empty": b"", "text": b"worker,task,label\n",
               "zeros": good[:200] + bytes(100) + good[300:]}  # fmt: skip
    if kind == "folder":
        path.mkdir()
    elif kind == "other zip":
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("a.txt", "text")
    elif kind in damaged:
        path.write_bytes(damaged[kind])
    else:
        with open(path, "wb") as file:
            np.savez(file, about=np.array(3 if kind == "other npz" else [None, {}]), done=np.array(1))
    with pytest.raises(ValueError, match="is not a checkpoint of a sampler, or it is damaged") as caught:
        gibbs(path)
    text = str(caught.value)
    assert text.startswith(str(path)) and "\n" not in text and "remove it" in text


@pytest.mark.parametrize("sampler", RUNS)
@pytest.mark.parametrize("other", RUNS)
def test_checkpoints_of_other_runs_are_refused(tmp_path, files, sampler, other):
    path = tmp_path / "run.npz"
    path.write_bytes(files[other])
    with pytest.raises(ValueError, match="belongs to another run") as caught:
        RUNS[sampler](path, key=1 if sampler == other else 0)
    assert str(caught.value).startswith(str(path))
    assert path.read_bytes() == files[other]


OLDER = {
    "checkpoint": lambda path: gibbs(path),
    "stream": lambda path: jt.learning.read_stream(path),
    "cleaning": lambda path: read_state(path, begun()),
}


def begun():
    labels, y = small()
    x = np.column_stack([y + np.arange(24) / 24, -y])
    return start(x, labels, jt.noise.Symmetric(0.2, 2), [0.5, 0.5])


@pytest.mark.parametrize("version", ["0.3.0", None])
@pytest.mark.parametrize("kind", OLDER)
def test_a_file_of_an_older_version_says_so(tmp_path, files, monkeypatch, kind, version):
    """Of another format; versions before that wrote none are older ones."""
    path = tmp_path / "old.npz"
    if kind == "checkpoint":
        path.write_bytes(files["gibbs"])
    elif kind == "stream":
        named = jt.Labels.from_long(["a", "b"], ["u", "u"], ["x", "y"])
        jt.learning.write_stream(path, jt.learning.begin_stream(named))
    else:
        write_state(path, begun())
    with np.load(path) as file:
        arrays = dict(file)
    about = json.loads(str(arrays.pop("about"))) | {"mark": "format 0", "jtruth": version}
    if version is None:
        del about["jtruth"]
    np.savez(path.with_name("new"), about=np.array(json.dumps(about)), **arrays)
    os.replace(tmp_path / "new.npz", path)
    was = f"was written by jtruth {version or 'of an older version'}, and {jt.__version__} cannot continue it"
    with pytest.raises(ValueError, match=re.escape(was)) as caught:
        OLDER[kind](path)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    file = Checkpoint(path, "mark")
    file.write({"a": np.arange(3)}, {"done": 1})
    before = path.read_bytes()

    def full(target, **arrays):
        target.write(b"half of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="No space left"):
        file.write({"a": np.arange(4)}, {"done": 2})
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["run.npz"]
    arrays, words = file.read()
    assert arrays["a"].tolist() == [0, 1, 2] and words == {"done": 1}


def test_the_random_effect_resumes_to_the_last_bit(tmp_path, fits):
    whole, _ = fits["random effect"]

    def kill(done, planned):
        if done > 400:
            raise KeyboardInterrupt

    path = tmp_path / "run.npz"
    with pytest.raises(KeyboardInterrupt):
        random_effect(path, report=kill, seconds=0)
    resumed = []
    again = random_effect(str(path), report=lambda done, planned: resumed.append(done))
    assert resumed[0] > 400
    for name in ("prior", "matrices", "mean_matrices", "classifier", "counts", "class_posterior"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))


def test_a_mark_depends_on_everything_and_on_no_address():
    base = (a_function, np.arange(3.0), {"width": 2}, None, "x")
    others = [
        (digest, *base[1:]),
        (partial(a_function, width=2), *base[1:]),
        (partial(a_function, width=3), *base[1:]),
        (base[0], np.arange(3.0) + 1e-12, *base[2:]),
        (base[0], np.arange(3.0, dtype=np.float32), *base[2:]),
        (*base[:2], {"width": 3}, *base[3:]),
        (*base[:4], "y"),
    ]
    marks = [digest(*things) for things in (base, *others)]
    assert len(set(marks)) == len(marks) and digest(*base) == marks[0]

    def with_cell(value):
        return lambda x: x + value

    assert digest(with_cell(1)) != digest(with_cell(2)) and digest(with_cell(1)) == digest(with_cell(1))
    assert len({digest(one) for one in (digest, day_of, hour_of, len, max)}) == 5


def day_of(x):
    return x // 24


def hour_of(x):
    return x % 24
