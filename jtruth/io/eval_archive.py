"""The archive that inspect_ai calls .eval: a zip with a header and a JSON file for each sample and epoch."""

import io
import json
import zipfile
import zlib
from contextlib import suppress
from typing import Any

from jtruth._validation.text import File, check_size

_HEADERS = (
    "header.json",
    "_journal/start.json",
    "start.json",
)  # the first that is there; older versions differ
_SAMPLES, _SUMMARIES = "samples/", ("summaries.json", "summary.json")
_KEPT = {
    "id",
    "epoch",
    "score",
    "scores",
    "metadata",
    "error",
    "invalidation",
}  # messages and events are large
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    RuntimeError,
    EOFError,
    OSError,
)  # NotImplementedError is a RuntimeError


def eval_log(file: File) -> dict | None:
    """The log as its JSON would have it; None: another zip, or a damaged one."""
    with suppress(ImportError):
        import zipfile_zstd  # noqa: F401  # pyright: ignore[reportMissingImports]  # teaches zipfile Zstandard
    try:
        with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
            names = archive.namelist()
            header = next((name for name in _HEADERS if name in names), None)
            samples = [name for name in names if name.startswith(_SAMPLES) and name.endswith(".json")]
            samples = samples or [name for name in _SUMMARIES if name in names]
            if header is None or not (samples or "_journal/start.json" in names):
                return None
            check_size(sum(one.file_size for one in archive.infolist()), file.name, len(file.data))
            log, *read = (_read(archive, name, file.name) for name in (header, *samples))
    except NotImplementedError:
        how = f"pip install zipfile-zstd, or inspect log convert {file.name} --to json --output-dir logs"
        raise ValueError(
            f"{file.name}: this inspect_ai log is packed by a newer method (Zstandard): {how}"
        ) from None
    except _DAMAGE:
        return None
    if not isinstance(log, dict) or "eval" not in log:
        return None
    listed = [sample for one in read for sample in (one if isinstance(one, list) else [one])]
    return log | {"samples": [{key: one[key] for key in _KEPT & set(one)} for one in listed]}


def _read(archive: zipfile.ZipFile, name: str, file: str) -> Any:
    try:
        return json.loads(archive.read(name))
    except ValueError as problem:
        raise ValueError(f"{file}/{name}: this is no JSON ({problem})") from None
