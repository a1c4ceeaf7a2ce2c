"""Fixtures: the reference case of three classes."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def multi3(golden):
    case = golden("su_multi3")
    data = case["input"]
    return case, np.array(case["lik"]), np.array(data["pi"]), np.array(data["yhat"], np.int32)
