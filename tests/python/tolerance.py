"""When results count as equal."""

import numpy as np

RTOL = 1e-4
# Of the largest value of the tensor: an element near zero is a difference of such values, and
# carries their rounding errors.
ATOL_OF_LARGEST = 1e-5


def assert_close(actual: np.ndarray, expected: np.ndarray) -> None:
    """Float tensors agree within the tolerance of float32, others exactly."""
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    if actual.dtype.kind != "f":
        np.testing.assert_array_equal(actual, expected)
        return
    largest = np.abs(expected).max(initial=0)
    np.testing.assert_allclose(actual, expected, rtol=RTOL, atol=ATOL_OF_LARGEST * largest)
