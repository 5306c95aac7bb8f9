"""Tries: how often a client may send a wrong password."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

# How many wrong passwords an address may send at once, and seconds until it may send one more.
# That is 14,400 a day: too few to guess twelve characters that are not in a list.
_WRONG = 10
_SECONDS = 6.0
_ADDRESSES = 4096


class Tries:
    """Counts wrong passwords, so that an address can guess slowly only.

    Nobody else waits for it. Of a great many addresses those are forgotten that have been quiet for
    the longest time.

    Args:
        clock: seconds, as `time.monotonic` gives them.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # When all wrong passwords of an address will be forgiven.
        self._forgiven: OrderedDict[str, float] = OrderedDict()

    def seconds_to_wait(self, address: str) -> float:
        """Until this address may try again; 0: it may."""
        owed = self._forgiven.get(_network(address), 0.0) - self._clock()
        return max(0.0, owed - (_WRONG - 1) * _SECONDS)

    def count_wrong(self, address: str) -> None:
        """Remember one wrong password."""
        network = _network(address)
        now = self._clock()
        self._forgiven[network] = max(self._forgiven.get(network, 0.0), now) + _SECONDS
        self._forgiven.move_to_end(network)
        if len(self._forgiven) > _ADDRESSES:
            self._forgiven.popitem(last=False)


def _network(address: str) -> str:
    """What one client can have of addresses: of version 6, all that begin alike for 64 bits."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((found.packed[:8] + bytes(8), 64)))
