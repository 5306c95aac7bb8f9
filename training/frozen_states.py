"""What frozen layers made of a text is kept: they make the same of it at every refresh."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn

from components.models.tower import Tower
from training.starting import stack_of

# Of states kept on the device, at most; batches that no longer fit in are computed each time.
MOST_BYTES = 2 << 30


class FrozenStates:
    """Replays the frozen layers of a tower for batches that it has encoded before.

    A batch is known again by its token ids and their mask, so that it does not matter which batches
    come in which order. States are kept as they are, in full precision: the vectors are the same
    bits with and without.

    Args:
        tower: Its embeddings and first layers are frozen.
        n_layers: How many layers.
        most_bytes: Of all states together.
    """

    def __init__(self, tower: Tower, n_layers: int, most_bytes: int = MOST_BYTES) -> None:
        self._tower = tower
        self._layers = list(stack_of(tower)[1])[:n_layers]
        self._most_bytes = most_bytes
        self._kept: dict[bytes, Any] = {}
        self._bytes = 0
        self._batch = b""

    @contextmanager
    def replaying(self) -> Iterator[None]:
        """In this block the tower's frozen layers compute nothing that is known; no gradients."""
        if not self._layers:
            yield
            return
        *lower, last = self._layers
        with ExitStack() as stack:
            hook = self._tower.register_forward_pre_hook(self._see)
            stack.callback(hook.remove)
            for layer in lower:
                stack.enter_context(_instead(layer, self._skipping(layer.forward)))
            stack.enter_context(_instead(last, self._replaying(last.forward)))
            yield

    def _see(self, _: nn.Module, inputs: tuple[Any, ...]) -> None:
        ids: Tensor = inputs[0]
        # A text may hold the padding's own token: ids alone do not say what is padding.
        mask: Tensor | None = inputs[1]
        digest = hashlib.sha256(str(tuple(ids.shape)).encode())
        for part in (ids, mask):
            digest.update(b"" if part is None else part.cpu().numpy().tobytes())
        self._batch = digest.digest()

    def _skipping(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        def skip(states: Tensor, *arguments: Any, **named: Any) -> Any:
            if self._batch not in self._kept:
                return forward(states, *arguments, **named)
            kept = self._kept[self._batch]
            # A layer that returns more than its states is given back what its kind returns.
            return (states, *kept[1:]) if isinstance(kept, tuple) else states

        return skip

    def _replaying(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        def replay(states: Tensor, *arguments: Any, **named: Any) -> Any:
            if self._batch in self._kept:
                return self._kept[self._batch]
            made = forward(states, *arguments, **named)
            tensors = [each for each in _flat(made) if isinstance(each, Tensor)]
            size = sum(each.element_size() * each.nelement() for each in tensors)
            if self._bytes + size <= self._most_bytes:
                self._kept[self._batch] = made
                self._bytes += size
            return made

        return replay


def _flat(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


@contextmanager
def _instead(layer: nn.Module, forward: Callable[..., Any]) -> Iterator[None]:
    layer.forward = forward
    try:
        yield
    finally:
        del layer.forward
