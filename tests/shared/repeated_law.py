"""Laws and questions that repeat each other's words, and what they forbid as negatives."""

from __future__ import annotations

from hypothesis import strategies as st

from components.statutes import Article, Question

# So few texts, in several spellings, that articles are twins, and questions are asked twice.
WORDS = (
    "rent due",
    "Rent  due.",
    "RENT, due ",
    "notice",
    "No\u00adtice",
    "repair",
    "wage",
    "court",
)

Case = tuple[list[Article], list[Question]]


@st.composite
def repeated_laws(draw: st.DrawFn) -> Case:
    """Articles of two laws, and questions."""
    words = st.sampled_from(WORDS)
    articles = [
        Article(f"a{n}", f"Law {n % 2}", str(n), (f"Part {n % 3}",), text, "en")
        for n, text in enumerate(draw(st.lists(words, min_size=1, max_size=16)))
    ]
    ids = st.lists(
        st.sampled_from([each.id for each in articles]), min_size=1, max_size=3, unique=True
    )
    asked = draw(st.lists(st.tuples(words, ids.map(tuple)), min_size=1, max_size=6))
    return articles, [Question(f"q{n}", text, own) for n, (text, own) in enumerate(asked)]


def forbidden(case: Case, question: Question) -> list[int]:
    """Positions that may never be negatives of a question, from their definition."""

    def letters(text: str) -> str:
        return "".join(filter(str.isalnum, text.lower()))

    def same(one: str, other: str) -> bool:
        return letters(one) == letters(other)

    articles, questions = case
    texts = [
        articles[int(id_[1:])].text
        for other in questions
        if same(question.text, other.text)
        for id_ in other.relevant
    ]
    return [
        place
        for place, article in enumerate(articles)
        if any(same(article.text, text) for text in texts)
    ]
