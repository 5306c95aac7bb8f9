"""What a component is warmed up by in an event loop: its own warm-up, in a worker thread."""

import asyncio
from typing import Protocol


class Warmed(Protocol):
    """A component that loads a model or builds an index before it can run."""

    def warm_up(self) -> None: ...  # noqa: D102


class AsyncWarmUp:
    """`warm_up_async` for a component with `warm_up`.

    A pipeline in an event loop warms up before every question, and calls `warm_up` in the loop
    itself where there is no other. Loading a model or a law anew takes seconds.
    """

    async def warm_up_async(self: Warmed) -> None:
        """`warm_up` in a worker thread."""
        await asyncio.to_thread(self.warm_up)
