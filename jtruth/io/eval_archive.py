"""The archive that inspect_ai calls .eval: a zip with a header and a JSON file for each sample and epoch."""

import io
import json
import zipfile
import zlib
from typing import Any

from jtruth._validation.text import File, check_size, largest

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
_ZSTANDARD = 93  # a way of packing that Python's zipfile knows from 3.14 on


def eval_log(file: File) -> dict | None:
    """The log as its JSON would have it; None: another zip, or a damaged one."""
    try:
        with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
            entries = {one.filename: one for one in archive.infolist()}
            header = next((name for name in _HEADERS if name in entries), None)
            samples = [name for name in entries if name.startswith(_SAMPLES) and name.endswith(".json")]
            samples = samples or [name for name in _SUMMARIES if name in entries]
            if header is None or not (samples or "_journal/start.json" in entries):
                return None
            size = sum(one.file_size for one in entries.values())
            if size > largest(len(file.data)):
                check_size(size, file.name, len(file.data))
            if any(entries[name].compress_type == _ZSTANDARD for name in (header, *samples)):
                _with_zstandard(file.name)
            log = _read(archive, header, file.name)
            if not isinstance(log, dict) or "eval" not in log:
                return None
            read = [_read(archive, name, file.name) for name in samples]
    except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, OSError):
        return None
    listed = [sample for one in read for sample in (one if isinstance(one, list) else [one])]
    log["samples"] = [{key: one[key] for key in _KEPT & set(one)} for one in listed]
    return log


def _read(archive: zipfile.ZipFile, name: str, file: str) -> Any:
    try:
        return json.loads(archive.read(name))
    except ValueError as problem:
        raise ValueError(f"{file}/{name}: this is no JSON ({problem})") from None


def _with_zstandard(name: str) -> None:
    """Teaches zipfile this way of packing, where a package for it is there."""
    if hasattr(zipfile, "ZIP_ZSTANDARD"):
        return
    try:
        import zipfile_zstd  # noqa: F401  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ValueError(
            f"{name}: this inspect_ai log is packed with Zstandard. pip install zipfile-zstd, or convert it: "
            "inspect log convert --to json --output-dir logs " + name
        ) from None
