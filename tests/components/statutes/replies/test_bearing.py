"""The passages of an article that bear on a question."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from components.statutes.replies.bearing import SHORT_ARTICLE, bearing_passages

FILLER = "The registry holds a book of every lease, and anybody may read it on working days. "
ARTICLE = (
    FILLER * 4
    + "The landlord shall return the deposit within thirty days.\n"
    + FILLER * 4
    + "A deposit that is kept without reason bears double interest.\n"
    + FILLER * 2
)


def passages(question: str, article: str = ARTICLE) -> list[str]:
    return [article[start:end] for start, end in bearing_passages(question, article, "en")]


def test_sentences_that_share_words_are_taken_in_the_articles_order() -> None:
    found = passages("My landlord keeps my deposit")
    assert len(found) == 2
    assert found[0].endswith("The landlord shall return the deposit within thirty days.")
    assert "A deposit that is kept without reason bears double interest." in found[1]


def test_a_rare_word_counts_more_than_two_that_stand_everywhere() -> None:
    article = FILLER * 8 + "A kennel needs a permit."
    found = passages("Which lease does the registry ask of a kennel?", article)
    assert "A kennel needs a permit." in found[-1]


def test_a_short_article_is_one_passage() -> None:
    assert passages("anything", "  One. Two.\n") == ["One. Two."]
    assert passages("anything", " \n") == []


def test_where_no_word_is_shared_its_beginning_is_taken() -> None:
    (found,) = passages("zebra")
    assert found == FILLER.strip()


def test_a_sentence_without_end_is_cut_between_words() -> None:
    article = "deposit " * 400
    found = passages("deposit", article)
    assert all(len(each) <= 700 for each in found)
    assert set(" ".join(found).split()) == {"deposit"}


def test_chinese_is_cut_too() -> None:
    (found,) = passages("押金", "押金应当返还" * 300)
    assert 0 < len(found) <= 700


@given(
    st.text(st.sampled_from("ab .\n。押"), max_size=60).map(lambda text: text * 30),
    st.text(st.sampled_from("ab 押"), min_size=1, max_size=10),
)
def test_passages_stand_in_order_and_apart(article: str, question: str) -> None:
    spans = bearing_passages(question, article)
    assert all(0 <= start < end <= len(article) for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert bool(spans) == bool(article.strip())
    assert all(article[start:end] == article[start:end].strip() for start, end in spans)
    assert len(article) > SHORT_ARTICLE or len(spans) <= 1
