"""Fixtures: each model is fitted once to the same labels."""

from tests.shared_fits import fits_are_shared  # noqa: F401
