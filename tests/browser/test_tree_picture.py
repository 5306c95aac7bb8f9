"""The picture of an article's place, as a browser draws it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from components.statutes.article import Article
from components.statutes.corpus import StatuteCorpus
from pipelines.tree_view.attention import Attention
from pipelines.tree_view.neighbourhood import Neighbourhood, neighbourhood
from pipelines.tree_view.picture import draw_picture

pytestmark = pytest.mark.browser

BOXES = """() => [...document.querySelectorAll('text')].map(text => {
  const box = text.getBoundingClientRect();
  return [text.textContent, box.left, box.top, box.right, box.bottom];
})"""
# The frame of an article, where a group starts with one, and the right end of every line in it.
FRAMES = """() => [...document.querySelectorAll('g > rect:nth-child(2)')].map(frame => [
  frame.getBoundingClientRect().right,
  [...frame.parentElement.querySelectorAll('text')].map(t => t.getBoundingClientRect().right),
])"""
MARGIN = 48


def shares_of(place: Neighbourhood) -> Attention:
    cited = {each.id: 0.1 / len(place.cites) for each in place.cites}
    citing = {each.id: 0.1 / len(place.cited_by) for each in place.cited_by}
    return Attention(0.3, 0.3, 0.1, 0.1, cited, citing)


def capitals() -> StatuteCorpus:
    """Fourteen levels of long headings in the broadest letters, long numbers, long words."""
    headings = [f"LEVEL {n} OF WWWWW MMMMM WITH MANY WORDS " * 5 for n in range(14)]
    words = "INTERNATIONALISATION WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW of article 3. "
    return StatuteCorpus(
        Article(
            f"a{n}",
            "AN ACT TO MEND THE LAW OF MMMMMMMM AND WWWWWWWW " * 4,
            f"APP{n}.A2.1.12.Guidance.Transfer of General Market Risk",
            tuple(headings),
            words * 40,
        )
        for n in range(40)
    )


@pytest.fixture
def opened(open_page: Callable[..., Any], tmp_path: Path) -> Callable[[StatuteCorpus, str], Any]:
    """`opened(corpus, id)`: the browser's page with the picture of an article."""

    def drawn(corpus: StatuteCorpus, article_id: str) -> Any:
        place = neighbourhood(corpus, corpus.position(article_id))
        (tmp_path / "tree.svg").write_text(draw_picture(place, shares_of(place), "Note. " * 60))
        return open_page((tmp_path / "tree.svg").as_uri(), wait=False)

    return drawn


@pytest.mark.parametrize(
    ("source", "article_id"),
    [
        ("aldermere", "housing-12"),
        ("aldermere", "family-40"),
        ("code_du_travail_fr", "code-du-travail/L5312-1"),
        ("code_du_travail_fr", "code-du-travail/R7122-9"),
        ("pdpa_en", "PDPA-48-5-157"),
        ("capitals", "a20"),
    ],
)
def test_no_line_leaves_its_frame_or_covers_another(
    opened: Callable[..., Any], real_data: Callable[[str], Path], source: str, article_id: str
) -> None:
    if source == "capitals":
        corpus = capitals()
    else:
        corpus = StatuteCorpus.read(source if source == "aldermere" else real_data(source))
    page = opened(corpus, article_id)
    lines = page.evaluate(BOXES)
    assert len(lines) > 15
    for text, left, top, right, _ in lines:
        assert MARGIN - 1 <= left < right <= 1200 - MARGIN + 1, text
        assert top > 0
    for number, (text, left, top, right, bottom) in enumerate(lines):
        for other, left2, top2, right2, bottom2 in lines[number + 1 :]:
            # Boxes of letters are higher than what is drawn of them.
            apart = right <= left2 or right2 <= left or bottom <= top2 + 4 or bottom2 <= top + 4
            assert apart, (text, other)
    frames = page.evaluate(FRAMES)
    assert frames
    for end, ends in frames:
        assert max(ends) <= end
