"""Origins: under which names site and service are asked, and from which pages."""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers

# The names under which a browser reaches its own machine.
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]/@]+)(?::\d{1,5})?", re.IGNORECASE)


def is_named(headers: Headers, names: Collection[str]) -> bool:
    """Whether the request is for one of these names, at any port.

    Whoever owns a name on the web can let it lead to 127.0.0.1 for a moment, and a page of theirs
    would then read what is served here as its own (DNS rebinding). Its name gives it away.
    """
    hosts = headers.getlist("host")
    named = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    return named is not None and named[1].lower() in names


def is_from_elsewhere(headers: Headers) -> bool:
    """Whether a page of another site, or of another port, has the browser send this.

    Browsers say so themselves (`Sec-Fetch-Site`) wherever the connection is private: over TLS and
    to localhost, also behind a proxy that changes the name. Elsewhere the page's origin is compared
    with the name that is asked. A program that is no browser says neither.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        return urlsplit(origin).netloc.lower() != headers.get("host", "").lower()
    except ValueError:
        return True
