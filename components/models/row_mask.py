"""RowMask: keys that a search may find, as a mask over an index's rows."""

import numpy as np
from numpy.typing import NDArray


class RowMask:
    """The mask of the keys that were allowed last.

    Most questions are asked of the same law, that of today: they come with the very same array of
    keys, and looking them up in an index of 57,755 rows would cost 2 ms each time.

    Args:
        keys: int64 `[n]`, the key of each row.
    """

    def __init__(self, keys: NDArray[np.int64]) -> None:
        self._keys = keys
        self._last: tuple[NDArray[np.int64] | None, NDArray[np.bool_]] = (
            None,
            np.ones(len(keys), dtype=np.bool_),
        )

    def of(self, allowed: NDArray[np.int64] | None) -> NDArray[np.bool_] | None:
        """Bool `[n]`: the rows whose keys are allowed; None where all are."""
        if allowed is None:
            return None
        last, mask = self._last
        if last is not allowed:
            mask = np.isin(self._keys, allowed)
            self._last = (allowed, mask)
        return mask
