"""The gate alone."""

from __future__ import annotations

import asyncio

import pytest

from pipelines.serving.gate import BusyError, Gate


def test_places_are_given_in_the_order_of_coming():
    async def run() -> list[int]:
        gate, served = Gate(1, 10), []

        async def one(number: int) -> None:
            async with gate.place():
                served.append(number)
                await asyncio.sleep(0)

        await asyncio.gather(*(one(number) for number in range(10)))
        return served

    assert asyncio.run(run()) == list(range(10))


def test_places_come_back_from_failures_and_from_those_who_gave_up_waiting():
    async def run() -> None:
        gate = Gate(1, 1)
        with pytest.raises(ZeroDivisionError):
            async with gate.place():
                _ = 1 / 0
        async with gate.place():
            waiting = asyncio.create_task(gate.place().__aenter__())
            await asyncio.sleep(0)
            assert gate.waiting == 1
            with pytest.raises(BusyError):
                async with gate.place():
                    pass
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            assert gate.waiting == 0
        assert gate.inside == 0
        async with gate.place():
            assert gate.inside == 1

    asyncio.run(run())
