"""A site behind a password, and a page of another site that would use the reader's browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tiny_site
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route
from tiny_site import JOIN, on_a_port

from ui.server import build_server

pytestmark = pytest.mark.browser

READER = {"username": "élise", "password": "mot de passe é"}
ASKED: list[Any] = []


def answer(question: Any) -> str:
    ASKED.append(question)
    return f"<p class='answer'>{question}</p>"


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    passwords = [f"{READER['username']}:{READER['password']}"]
    pages = {"/": tiny_site.view(answer), "/fr": tiny_site.view(answer)}
    with on_a_port(build_server(pages, passwords=passwords)) as port:
        yield f"http://127.0.0.1:{port}"


ATTACK = """async ([site, join]) => {
  const body = '{"data": ["stolen", []], "fn_index": 0, "session_hash": "s"}';
  const attempt = async (path, options) => {
    try {
      const answer = await fetch(site + path, { credentials: "include", ...options });
      return answer.type === "opaque" ? "sent" : await answer.text();
    } catch {
      return "refused";
    }
  };
  await new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.onload = resolve;
    frame.src = site;
    document.body.append(frame);
    setTimeout(resolve, 2000);
  });
  const json = { "Content-Type": "application/json" };
  await attempt(join, { method: "POST", mode: "no-cors", body });
  return [
    await attempt(join, { method: "POST", body }),
    await attempt(join, { method: "POST", body, headers: json }),
    await attempt("/"),
    await attempt("/gradio_api/queue/data?session_hash=s"),
  ];
}"""


@pytest.mark.parametrize("with_password", [True, False])
def test_a_page_of_another_site_reads_and_asks_nothing(
    chromium: Any, guarded: str, with_password: bool
):
    ASKED.clear()
    page_of_another_site = Starlette(routes=[Route("/", lambda _: HTMLResponse("<p>Hello</p>"))])
    with (
        on_a_port(page_of_another_site) as elsewhere,
        on_a_port(build_server({"/": tiny_site.view(answer)})) as open_port,
    ):
        site = guarded if with_password else f"http://127.0.0.1:{open_port}"
        context = chromium.new_context(http_credentials=READER if with_password else None)
        page = context.new_page()
        page.goto(site)  # the browser knows the password from here on
        # Another port of this machine is as near as another site can come.
        for host in ("127.0.0.1", "localhost"):
            page.goto(f"http://{host}:{elsewhere}/")
            assert page.evaluate(ATTACK, [site, JOIN]) == ["refused"] * 4
            frames = [each for each in page.frames if each is not page.main_frame]
            assert all("Lexarbor" not in each.content() for each in frames)
        context.close()
    assert ASKED == []
