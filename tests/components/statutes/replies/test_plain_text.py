"""Texts compared word for word, whatever their blanks, quotation marks and dashes."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reply_cases import cases

from components.statutes.replies.text import plain_text

ARTICLE = (
    "The landlord shall return the deposit within thirty (30) days — or, where the parties "
    "agree,\n  within sixty days — and shall not keep more than 1,000 crowns for what the "
    "“ordinary wear” clause calls the tenant’s use."
)


def of(article, span):
    return None if span is None else article[slice(*span)]


@pytest.mark.parametrize(
    "written",
    [
        "le taux est de 5 % : lequel ?",
        "le taux est de 5% : lequel?",
        "le taux est de 5\u00a0%: lequel\u202f?",
    ],
)
def test_a_blank_before_punctuation_is_a_matter_of_typesetting(written):
    for law in (
        "Où le taux est de 5\u00a0%\u202f: lequel\u00a0? Le sien.",
        "Où le taux est de 5%: lequel?",
    ):
        assert plain_text(law).find(plain_text(written).text) is not None
    assert plain_text("un taux de 15 % : lequel ?").find(plain_text("5 % : lequel ?").text) is None


@pytest.mark.parametrize(("words", "stands"), cases("words_stand_from_word_to_word"))
def test_words_stand_from_word_to_word(words, stands):
    assert of(ARTICLE, plain_text(ARTICLE).find(plain_text(words).text)) == stands


@pytest.mark.parametrize(("law", "words"), cases("no_word_or_number_is_cut"))
def test_no_word_or_number_is_cut(law, words):
    assert plain_text(law).find(plain_text(words).text) is None


@pytest.mark.parametrize(("law", "words"), cases("what_stands_by_itself_is_found"))
def test_what_stands_by_itself_is_found(law, words):
    assert of(law, plain_text(law).find(plain_text(words).text)) == words


def test_accents_may_be_written_apart_and_guillemets_with_blanks_inside():
    article = "Le bailleur restitue le « dépôt de garantie » dans un délai de deux mois."
    for form in ("NFC", "NFD"):
        text = unicodedata.normalize(form, article)
        found = of(text, plain_text(text).find(plain_text("le «dépôt de garantie» dans").text))
        assert unicodedata.normalize("NFC", found) == "le « dépôt de garantie » dans"


@given(st.lists(st.sampled_from([*"ab 1,.-—“'«»\n\u00ad中é", "e\u0301"])).map("".join))
def test_every_character_knows_its_place(text):
    plain = plain_text(text)
    assert len(plain.text) == len(plain.starts) == len(plain.ends)
    assert all(start < end for start, end in zip(plain.starts, plain.ends, strict=True))
    assert list(plain.starts) == sorted(plain.starts)
    assert plain.text == plain.text.strip()
    assert plain_text(plain.text).text == plain.text


@given(st.data())
def test_every_piece_between_words_is_found_where_it_stands(data):
    words = ARTICLE.split()
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    gaps = data.draw(
        st.lists(
            st.sampled_from([" ", "  ", "\n", "\u00a0", " \u200b"]),
            min_size=last - first,
            max_size=last - first,
        )
    )
    pieces = words[first : last + 1]
    quoted = pieces[0] + "".join(gap + word for gap, word in zip(gaps, pieces[1:], strict=True))
    quoted = quoted.translate(str.maketrans({"—": "-", "“": '"', "”": '"', "’": "'"}))
    found = of(ARTICLE, plain_text(ARTICLE).find(plain_text(quoted).text))
    if quoted == "-":
        assert found is None or found == "—"
    else:
        assert found is not None
        assert plain_text(found).text == plain_text(quoted).text
