"""Noise models and priors from JSON files, as arrays in the order of the labels."""

import json
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from jtruth._validation import Source, quoted
from jtruth._validation.in_range import check_rows
from jtruth._validation.text import read_bytes
from jtruth._validation.words import number_of
from jtruth.io.parsing import strict_json
from jtruth.labels import Labels

_MODELS = ("confusion_matrices", "symmetric", "fallibility", "model")
_BESIDE = {"fallibility": {"difficulty"}, "confusion_matrices": {"draws"}}


def read_noise(path: str | PathLike, labels: Labels) -> dict[str, Any]:
    """A noise model from a JSON file, as plain numbers in the order of `labels`.

    The file holds one object with exactly one of

        {"confusion_matrices": {worker: [[...], ...]}}      rows: true class; columns: given class
        {"symmetric": 0.1}                                  one error probability for all
        {"fallibility": {worker: f}, "difficulty": {task: d}}   difficulty may be left out: all 0
        {"model": "SharedErrors", ...}                      any model, with the parameters of its `to_dict`

    and optionally "classes", the class names in the order of the rows and columns, and "prior", the class
    probabilities in that order. Beside confusion matrices "draws" may hold posterior draws of prior and
    matrices, as `jtruth labelers --save` writes them. Every worker (task) of `labels` must be there; others
    are ignored.

    Returns:
        The same keys with arrays: "confusion_matrices" (labelers, classes, classes), "fallibility"
        (labelers,), "difficulty" (samples,), "prior" (classes,); "symmetric" stays a number. "draws" is
        a pair: (draws, classes) and (draws, labelers, classes, classes).
    """
    file = read_bytes(path)
    source = Source(file.name)
    try:
        data = strict_json(file.data.decode("utf-8-sig"))
        tasks, workers = (tuple(map(str, ids)) for ids in (labels.task_names, labels.worker_names))
        return _parsed(data, tasks, workers, labels.class_names)
    except (json.JSONDecodeError, UnicodeDecodeError) as problem:
        raise ValueError(source.says(f"this is not JSON text: {problem}")) from None
    except ValueError as problem:
        raise ValueError(source.says(str(problem))) from None


def _parsed(
    data: Any, tasks: Sequence[str], workers: Sequence[str], classes: Sequence[str]
) -> dict[str, Any]:
    """The object that `read_noise` describes, checked."""
    models = [key for key in _MODELS if isinstance(data, dict) and key in data]
    if len(models) != 1:
        what = quoted(data, 8) if isinstance(data, dict) else type(data).__name__
        raise ValueError(f"expected an object with one of {quoted(_MODELS)}; got {what}")
    other = set(data) - {models[0], "classes", "prior"} - _BESIDE.get(models[0], set())
    if models[0] == "model":
        return _any_model(data, tasks, workers, classes)
    if other:
        raise ValueError(f"keys {quoted(sorted(other))} are not used with {models[0]!r}")
    order, parsed = _class_order(data.get("classes"), classes), {}
    if "prior" in data:
        parsed["prior"] = _distributions(data["prior"], (len(classes),), "prior")[order]
    if models[0] == "symmetric":
        parsed["symmetric"] = float(_array(data["symmetric"], (), "symmetric"))
    elif models[0] == "fallibility":
        parsed["fallibility"] = _by_name(data["fallibility"], workers, (), "fallibility")
        by_task = dict.fromkeys(tasks, 0.0) if data.get("difficulty") is None else data["difficulty"]
        parsed["difficulty"] = _by_name(by_task, tasks, (), "difficulty")
    else:
        shape = (len(classes), len(classes))
        matrices = _by_name(data["confusion_matrices"], workers, shape, "confusion_matrices")
        parsed["confusion_matrices"] = matrices[:, order][:, :, order]
        for worker, matrix in zip(workers, parsed["confusion_matrices"], strict=True):
            for name, row in zip(classes, matrix, strict=True):
                check_rows(row, f"row of class {name!r} in the confusion matrix of worker {worker!r}")
        if "draws" in data:
            parsed["draws"] = _draws(data["draws"], workers, order)
    return parsed


def _draws(draws: Any, workers: Sequence[str], order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(draws, dict) or set(draws) != {"prior", "confusion_matrices"} or not draws["prior"]:
        raise ValueError("draws must be an object with prior and confusion_matrices")
    size, number = order.size, len(draws["prior"])
    prior = _distributions(draws["prior"], (number, size), "prior of the draws")
    shape = (number, size, size)
    matrices = _by_name(draws["confusion_matrices"], workers, shape, "matrices of the draws")
    check_rows(matrices, "matrices of the draws")
    return prior[:, order], np.moveaxis(matrices[:, :, order][..., order], 0, 1)


def _any_model(data, tasks, workers, classes) -> dict[str, Any]:
    """What `NoiseModel.to_dict` wrote; a parameter may be an object with one entry per worker or per task."""
    if data.get("classes") not in (None, list(classes)):
        raise ValueError(
            f"classes of a {data['model']!r} must be in the order of the labels: {quoted(classes)}"
        )
    parsed = {name: value for name, value in data.items() if name != "classes"}
    for name, value in parsed.items():
        if isinstance(value, dict):
            names = workers if set(workers) <= set(value) else tasks
            shape = np.shape(next(iter(value.values()), 0.0))
            parsed[name] = _by_name(value, names, shape, name)
    if "prior" in parsed:
        parsed["prior"] = _distributions(parsed["prior"], (len(classes),), "prior")
    return parsed


def _class_order(names_there: Any, classes: Sequence[str]) -> np.ndarray:
    """Where each class stands in the file."""
    if names_there is None:
        return np.arange(len(classes))
    names = list(map(str, names_there)) if isinstance(names_there, list) else [str(names_there)]
    if sorted(names) != sorted(classes):
        raise ValueError(f"classes are {quoted(names, 8)}, but those of the labels are {quoted(classes, 8)}")
    return np.array([names.index(name) for name in classes])


def _by_name(entries: Any, names: Sequence[str], shape: tuple, what: str) -> np.ndarray:
    """Parameters from an object with one entry per worker or task, in the order of `names`."""
    if not isinstance(entries, dict):
        raise ValueError(f"{what} must be an object with one entry per name; got {entries!r:.60}")
    without = [name for name in names if name not in entries]
    if without:
        extra = [name for name in entries if name not in set(names)]
        raise ValueError(
            f"{what} has no entry for {len(without)} of {len(names)} ({quoted(without)}); "
            f"it has {number_of(len(extra), 'entry', 'entries')} for others ({quoted(extra)})"
        )
    return np.stack([_array(entries[name], shape, f"{what} of {name!r}") for name in names])


def _array(value: Any, shape: tuple, what: str) -> np.ndarray:
    """Numbers in [0, 1] of a known shape, float64."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    if array.dtype.kind not in "iuf" or array.shape != shape:
        kind = f"numbers of shape {shape}" if shape else "one number"
        raise ValueError(f"{what} must be {kind}; got {value!r:.80}")
    if not ((array >= 0) & (array <= 1)).all():
        raise ValueError(f"{what} must lie in [0, 1]; got {value!r:.80}")
    return array.astype(np.float64)


def _distributions(value: Any, shape: tuple, what: str) -> np.ndarray:
    rows = _array(value, shape, what)
    check_rows(rows, what)
    return rows
