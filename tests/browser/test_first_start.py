"""python -m ui on an empty machine: the demo store is built, and a lay question is answered."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ui.app import EXAMPLES

pytestmark = pytest.mark.browser

LAY_QUESTION = "The neighbours play loud music every night."

REPOSITORY = Path(__file__).parent.parent.parent


def start(home: Path) -> tuple[subprocess.Popen[str], str, str]:
    """The process, the page's address, and what the terminal said until then."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ui", "--port", "0"],
        cwd=REPOSITORY,
        env={**os.environ, "LEXARBOR_HOME": str(home)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if found := re.search(r"http://\S+", line):
            return process, found[0], said
    raise AssertionError(said)


@pytest.fixture(scope="module")
def first_start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str, str, Path]]:
    home = tmp_path_factory.mktemp("home") / "not made yet"
    process, address, said = start(home)
    yield process, address, said, home
    process.kill()
    process.wait()


def test_the_demo_store_is_built_and_its_progress_told(first_start: tuple[Any, str, str, Path]):
    _, _, said, home = first_start
    assert (home / "demo.db").is_file()
    assert "Building the demo store" in said
    assert "pipeline 'hybrid'" in said


def test_every_example_finds_its_article(
    open_page: Callable[..., Any], first_start: tuple[Any, str, str, Path]
):
    page = open_page(first_start[1])
    right = (
        "Article 14 Housing Code",
        "Article 30 Work Code",
        "Article 30 Family Code",
        "Article 20 Consumer Code",
        "Article 10 Code of Procedure",
        "Article 12 Housing Code",
    )
    for example, article in zip(EXAMPLES, right, strict=True):
        page.get_by_role("button", name=example, exact=True).click()
        page.locator(".asked q", has_text=example).wait_for()
        top = page.locator("#results h3").all_text_contents()[:3]
        assert f"{article} of Aldermere (invented)" in top
    assert "Citation rank 1" in page.locator(".ranks").first.text_content()
    page.get_by_label("Your question").fill(LAY_QUESTION)
    page.keyboard.press("Enter")
    page.locator(".asked q", has_text=LAY_QUESTION).wait_for()
    ranks = page.locator(".ranks").first.text_content()
    assert "BM25 rank" in ranks
    assert "Dense rank" in ranks


def test_it_ends_in_good_order_and_starts_again_without_building(
    first_start: tuple[Any, str, str, Path],
):
    process, _, _, home = first_start
    process.send_signal(signal.SIGINT)
    assert process.wait(15) == 0
    assert "Traceback" not in process.stderr.read()
    began = time.monotonic()
    again, _, said = start(home)
    again.terminate()
    again.wait(15)
    assert "Building" not in said
    assert time.monotonic() - began < 60
