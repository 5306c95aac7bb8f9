"""A vector without a direction is refused, with the name of what it stands for."""

import numpy as np
import pytest

from components.models.errors import ModelError
from pipelines.usable_vectors import check_usable

NAMES = ["article 'a'", "article 'b'", "article 'c'"]


@pytest.mark.parametrize("faulty", [[0.0, 0.0], [np.nan, 1.0], [1.0, np.inf], [-np.inf, 0.0]])
def test_the_first_without_a_direction_is_named(faulty: list[float]) -> None:
    vectors = np.array([[0.0, -1.0], faulty, faulty], dtype=np.float32)
    with pytest.raises(ModelError, match=r"^tiny gives NaN or zeros for article 'b'. Train it\.$"):
        check_usable(vectors, "tiny", NAMES.__getitem__, "Train it.")


def test_any_others_are_taken() -> None:
    for vectors in (np.eye(3, dtype=np.float32), np.empty((0, 3), dtype=np.float32)):
        check_usable(vectors, "tiny", NAMES.__getitem__, "Train it.")
