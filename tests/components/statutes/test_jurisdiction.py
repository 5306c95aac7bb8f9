"""Places: how they are written, and what stands above them."""

import pytest

from components.statutes.jurisdiction import checked_place, place_and_above


@pytest.mark.parametrize("place", ["us", "us/or/portland", "de/by/münchen", "us/ny/new-york", "eu"])
def test_a_place_stands_below_those_before_it(place):
    names = checked_place(place).split("/")
    above = place_and_above(place)
    assert above[0] == place
    assert above == ["/".join(names[:n]) for n in range(len(names), 0, -1)]


@pytest.mark.parametrize(
    "place",
    [
        *("", "/", "/us", "us/", "us//or", "US/OR", "us / or", "us/or portland", "us\\or"),
        *("us/-or", "us" + "/a" * 100, 7),
    ],
)
def test_what_is_not_a_place_is_refused(place):
    with pytest.raises(ValueError, match="us/or/portland"):
        checked_place(place)
