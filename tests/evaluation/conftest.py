"""A model is fitted once to the same labels: tests look at many faces of one answer."""

from tests.shared_fits import fits_are_shared  # noqa: F401
