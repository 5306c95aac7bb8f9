"""SVG as text: whatever words go in, what comes out is XML that says them."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.tree_view.svg import element, path, words

PAYLOADS = (
    (Path(__file__).parent.parent.parent / "browser" / "payloads.txt")
    .read_text("utf-8")
    .splitlines()
)


def test_attributes_are_written_plainly_and_left_out_when_none() -> None:
    drawn = element("text", words("a"), x=1, y=2.25, font_size=14.0, fill="#fff", lang=None)
    assert drawn == '<text x="1" y="2.2" font-size="14" fill="#fff">a</text>'
    assert element("rect", width=12345.6) == '<rect width="12345.6"/>'
    assert path("M", 0, 1.5, "H", 9) == '<path d="M 0 1.5 H 9" fill="none"/>'


@pytest.mark.parametrize("payload", PAYLOADS)
def test_markup_in_a_law_stays_words(payload: str) -> None:
    parsed = ElementTree.fromstring(element("text", words(payload), lang=payload))
    assert (parsed.tag, list(parsed)) == ("text", [])
    assert parsed.text == " ".join(payload.split())


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_well_formed(text: str) -> None:
    parsed = ElementTree.fromstring(element("text", words(text), lang=text))
    if text.isprintable():
        assert (parsed.text or "") == " ".join(text.split())


@pytest.mark.parametrize("forbidden", ["\x00", "\x1b", "\x0b", "\ud800", "\uffff"])
def test_what_xml_cannot_hold_is_replaced(forbidden: str) -> None:
    parsed = ElementTree.fromstring(element("text", words(f"a{forbidden}b")))
    assert parsed.text in ("a\ufffdb", "a b")
