"""Fixtures: files of a test."""

import pytest


@pytest.fixture
def write(tmp_path):
    """write(text, name="labels.csv"): a file with this text (or bytes)."""

    def make(content, name="labels.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make
