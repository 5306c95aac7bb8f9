"""python -m ui on an empty machine, and what its examples find."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from browsing import ask
from law_files import housing_code

from components.retrievers.answered import recorded_questions
from components.stores.sqlite import StatuteDocumentStore
from ui.ask import EXAMPLES

pytestmark = [pytest.mark.browser, pytest.mark.slow]

REPOSITORY = Path(__file__).parent.parent.parent

# The command as it is, over a part of the demo law.
START = """
import sys
from pathlib import Path
from components.statutes.sources import opening
opening.articles_path = lambda: Path({law!r}, "articles.jsonl")
opening.questions_path = lambda: Path({law!r}, "questions.jsonl")
opening.guides_path = lambda: Path({law!r}, "guides.jsonl")
from ui.__main__ import main
sys.exit(main(["--port", "0"]))
"""


def test_every_example_finds_its_article(open_page, serve_store, demo_home):
    right = (
        "Article 14, Housing Code",
        "Article 30, Work Code",
        "Article 30, Family Code",
        "Article 20, Consumer Code",
        "Article 10, Code of Procedure",
        "Article 12, Housing Code",
    )
    page = open_page(serve_store(demo_home / "demo.db", "hybrid"))
    for example, article in zip(EXAMPLES, right, strict=True):
        ask(page, example)
        top = page.locator("#results .cite > span:first-child").all_text_contents()[:3]
        assert article in top
    assert "You named it rank 1" in page.locator(".ranks").first.text_content()
    ask(page, "The neighbours play loud music every night.")
    ranks = page.locator(".ranks").first.text_content()
    assert "Same words rank" in ranks
    assert "Similar meaning rank" in ranks


def test_the_page_answers_while_the_answered_questions_join_its_store(open_page, tmp_path):
    home, law = tmp_path / "not made yet", housing_code(tmp_path / "law")
    terminal = tmp_path / "terminal.txt"
    with terminal.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-c", START.format(law=str(law))],
            cwd=REPOSITORY,
            env={**os.environ, "LEXARBOR_HOME": str(home)},
            stderr=stream,
        )

    def wait_for(pattern: str) -> str:
        """What the terminal shows of this pattern, once it does."""
        end = time.monotonic() + 240
        while not (found := re.search(pattern, shown := terminal.read_text("utf-8"))):
            assert process.poll() is None, shown
            assert time.monotonic() < end, shown
            time.sleep(0.05)
        return found[0]

    try:
        page = open_page(wait_for(r"http://\S+"))
        wait_for("Building the demo store")
        wait_for("pipeline 'hybrid'")
        page.set_default_timeout(60_000)
        ask(page, "deposit")
        assert page.get_by_role("article").count() == 10
        store = StatuteDocumentStore(str(home / "demo.db"))
        end = time.monotonic() + 240
        while recorded_questions(store) is None:
            assert time.monotonic() < end
            time.sleep(0.05)
        store.close()
        ask(page, "deposit again")
        assert page.get_by_role("article").count() == 10
        page.context.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(15) == 0
    finally:
        process.kill()
        process.wait(60)
    assert "Traceback" not in terminal.read_text("utf-8")
    assert list(home.glob("demo-*")) == []
