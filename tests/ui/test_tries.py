"""How often a client may send a wrong password."""

from __future__ import annotations

import pytest

from ui.tries import Tries


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_an_address_may_guess_slowly_only():
    clock = Clock()
    tries = Tries(clock)
    made = 0
    for _ in range(24 * 3600):
        if tries.seconds_to_wait("192.0.2.1") == 0:
            tries.count_wrong("192.0.2.1")
            made += 1
        clock.now += 1
    assert 14_000 < made <= 14_420


def test_ten_wrong_passwords_stop_nobody_and_time_forgives_them():
    clock = Clock()
    tries = Tries(clock)
    for _ in range(10):
        assert tries.seconds_to_wait("192.0.2.1") == 0
        tries.count_wrong("192.0.2.1")
    assert tries.seconds_to_wait("192.0.2.1") == pytest.approx(6)
    clock.now += 60
    for _ in range(10):
        assert tries.seconds_to_wait("192.0.2.1") == 0
        tries.count_wrong("192.0.2.1")


def test_one_address_stops_no_other_one():
    tries = Tries(Clock())
    for _ in range(100):
        tries.count_wrong("192.0.2.1")
        tries.count_wrong("2001:db8::1")
    assert tries.seconds_to_wait("192.0.2.1") > 0
    assert tries.seconds_to_wait("::ffff:192.0.2.1") > 0
    # What one household has of addresses of version 6 counts as one.
    assert tries.seconds_to_wait("2001:db8::ffff:2") > 0
    for other in ("192.0.2.2", "2001:db8:0:1::1", "fe80::1%eth0", ""):
        assert tries.seconds_to_wait(other) == 0


def test_a_great_many_addresses_take_no_more_memory():
    tries = Tries(Clock())
    for number in range(10_000):
        for _ in range(11):
            tries.count_wrong(f"10.0.{number // 256}.{number % 256}")
    assert len(tries._forgiven) == 4096
    assert tries.seconds_to_wait("10.0.39.15") > 0
