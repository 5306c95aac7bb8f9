"""Under which names the site may be read, and from which pages asked."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from pipelines.serving.origins import LOOPBACK, is_from_elsewhere, is_named


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:7860", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:80", "[::1]:7860"],
)
def test_this_machine_is_known_by_its_names(host: str):
    assert is_named(Headers({"host": host}), LOOPBACK)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "example.com",
        "example.com:7860",
        "localhost.example.com",
        "localhost:7860.example.com",
        "localhost@example.com",
        "localhost:x",
        "localhost:7860:7860",
        "127.0.0.1.nip.io",
        "127.0.0.2",
        "0.0.0.0",
        "::1",
        "[::1",
        "[::2]",
        " localhost",
        "localhost, example.com",
        "local\x00host",
    ],
)
def test_any_other_name_is_not_ours(host: str):
    assert not is_named(Headers({"host": host}), LOOPBACK)


def test_no_name_and_two_names_are_not_ours():
    assert not is_named(Headers({}), LOOPBACK)
    twice = [(b"host", b"localhost"), (b"host", b"example.com")]
    assert not is_named(Headers(raw=twice), LOOPBACK)


@pytest.mark.parametrize(
    ("headers", "elsewhere"),
    [
        ({}, False),
        ({"sec-fetch-site": "same-origin"}, False),
        ({"sec-fetch-site": "none"}, False),
        # Another port of this machine is of the same site, and none of ours.
        ({"sec-fetch-site": "same-site"}, True),
        ({"sec-fetch-site": "cross-site"}, True),
        ({"sec-fetch-site": ""}, True),
        ({"origin": "http://localhost:7860"}, False),
        ({"origin": "http://LOCALHOST:7860"}, False),
        ({"origin": "http://localhost:7861"}, True),
        ({"origin": "https://example.com"}, True),
        ({"origin": "null"}, True),
        ({"origin": ""}, True),
        ({"origin": "http://[::1"}, True),
        ({"origin": "http://localhost:7860@example.com"}, True),
        # A proxy gives the site another name; the browser has compared them itself.
        ({"sec-fetch-site": "same-origin", "origin": "https://law.example.org"}, False),
        ({"sec-fetch-site": "cross-site", "origin": "http://localhost:7860"}, True),
    ],
)
def test_a_page_of_another_site_is_told_by_its_browser(headers: dict[str, str], elsewhere: bool):
    assert is_from_elsewhere(Headers({"host": "localhost:7860", **headers})) is elsewhere
