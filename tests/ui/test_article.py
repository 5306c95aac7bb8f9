"""What is added to the text of law changes none of its words."""

from dataclasses import replace

from deposit import DEPOSIT, TERMS
from hypothesis import given
from hypothesis import strategies as st

from components.statutes.article import Article
from components.statutes.definitions import Glossary
from components.statutes.excerpts import excerpt, references_within
from components.statutes.lexical import analyzer
from components.statutes.provisions import Span, lines_of, provisions_of
from ui.article import Glossaries, Note, Step, shown_lines, steps_in


def test_the_points_of_a_list_within_a_line_stand_on_lines_of_their_own():
    text = (
        "(1) The landlord states: (a) a name; (b) a price, and (c) a day. This is free.\n"
        "(2) Rent is lower only where (a) it rains; or (b) it snows.\n"
        "(3) See points (a), (b) and (c) of paragraph (1)."
    )
    shown = [(each.marker, each.anchor) for each in shown_lines(text)]
    assert shown == [
        *(("(1)", "p1"), ("(a)", "p1a"), ("(b)", "p1b"), ("(c)", "p1c"), ("", "")),
        *(("(2)", "p2"), ("(a)", "p2a"), ("(b)", "p2b"), ("(3)", "p3")),
    ]
    assert len(shown_lines(text, run_on=True)) == 3
    words = "".join(
        each.marker + "".join(part.text for part in each.segments) for each in shown_lines(text)
    )
    assert words.replace(" ", "") == text.replace(" ", "").replace("\n", "")


def written(text: str, spans: tuple[Span, ...]) -> str:
    return "".join(
        segment.text or "…" for line in shown_lines(text, spans) for segment in line.segments
    )


def test_what_is_left_out_shows_as_a_gap():
    (first, *_) = provisions_of(DEPOSIT)
    shown = excerpt(DEPOSIT, first, "en", TERMS, words=5)
    assert written(DEPOSIT, shown) == "A deposit may not exceed two months' rent.…"
    # What follows the provision is not a gap in it.
    amended = "(1) One. Two.\n(As amended in 2018.)"
    assert written(amended, (Span(4, 13),)) == "One. Two."
    whole = excerpt(DEPOSIT, first, "en", TERMS)
    assert "kept by the Registry" in written(DEPOSIT, whole)


LAWLIKE = st.text(st.sampled_from("ab (1)2.;\n\u2028\té"), max_size=80)


@given(LAWLIKE, st.lists(st.tuples(st.integers(0, 80), st.integers(0, 20)), max_size=4))
def test_marks_and_links_change_no_word(text, places):
    notes = [
        Note(Span(start, start + length), kind)
        for (start, length), kind in zip(places, ["mark", "link", "mark", "link"], strict=False)
        if length and start + length <= len(text)
    ]
    lines = shown_lines(text, notes=notes)
    shown = [line.marker + "".join(each.text for each in line.segments) for line in lines]
    assert "".join("".join(shown).split()) == "".join(text.split())
    assert sum(map(len, (each.lines for each in provisions_of(text)))) == len(lines_of(text))


def test_a_reference_to_a_paragraph_of_the_article_leads_there():
    found = references_within(DEPOSIT, "en")
    assert [(DEPOSIT[start:end], anchor) for (start, end), anchor in found] == [
        ("Paragraph (2)", "p2")
    ]
    assert [line.anchor for line in shown_lines(DEPOSIT)][2:5] == ["p3", "p3a", "p3b"]


DEFINING = (
    'In this Code:\n(a) "dwelling" means a person\'s home;\n(b) "the Registry" means the Housing'
    " Registry, unless Article 9 says otherwise;"
)


def housing(text: str, number: str) -> Article:
    """An article of the Housing Code."""
    return Article(f"h{number}", "Housing Code", number, (), text, "en")


GLOSSARIES = Glossaries({"Housing Code": Glossary([housing(DEFINING, "2")])})


def test_a_defined_word_is_explained_at_its_first_use_and_not_where_it_is_defined():
    text = "Two dwellings. Each Dwelling. The Registry is not a registrar."
    notes = GLOSSARIES.notes(housing(text, "5"))
    assert [text[start:end] for (start, end), *_ in notes] == ["dwellings", "Registry"]
    assert notes[1].value.text.endswith("unless Article 9 says otherwise")
    assert GLOSSARIES.notes(housing(text, "2")) == []
    assert GLOSSARIES.notes(replace(housing(text, "5"), law="Work Code")) == []


ARTICLE = {"id": "h12", "law": "Housing Code", "number": "12", "language": "en"}


def steps(text: str, question: str, *places: int) -> list[Step]:
    """What the provisions of a text at these places name."""
    deciding = [provisions_of(text)[place] for place in places]
    terms = frozenset(analyzer("en")(question))
    return steps_in({**ARTICLE, "content": text}, deciding, terms, GLOSSARIES)


def test_deadlines_bodies_and_forms_are_those_of_the_deciding_paragraphs():
    text = DEPOSIT + "\n(5) The tenant fills in the claim form of the District Court."
    found = steps(text, "When does the landlord return my deposit?", 0, 1, 4)
    assert [(step.kind, step.name, step.anchor) for step in found] == [
        ("deadline", "", "p2"),
        ("body", "Housing Registry", "p1"),
        ("body", "District Court", "p5"),
        ("form", "claim form", "p5"),
    ]
    marked = [each.text for line in found[0].lines for each in line.segments if each.kind == "mark"]
    assert marked == ["within 30 days"]
    assert [step.name for step in steps(text, "deposit", 4)] == ["District Court", "claim form"]


def test_a_deadline_of_another_matter_is_not_named():
    text = "(1) The landlord objects within 14 days of the request. The dog may stay."
    assert [step.kind for step in steps(text, "May the landlord object?", 0)] == ["deadline"]
    assert steps(text, "Who feeds the dog of a neighbour in the holidays?", 0) == []


def test_a_deadline_stands_with_the_sentence_that_changes_it():
    text = (
        "(1) The consumer may withdraw within 14 days. After a visit at home it is 30 days, "
        "but not for food.\n"
        "(2) Paragraph (1) does not apply where the goods were opened.\n"
        "(3) The period of paragraph (1) ends only within one year where the trader was silent."
    )
    (deadline,) = steps(text, "until when may the consumer withdraw", 0)
    shown = [(line.marker, "".join(each.text for each in line.segments)) for line in deadline.lines]
    assert [marker for marker, _ in shown] == ["(1)", "(3)"]
    assert "it is 30 days, but not for food." in shown[0][1]


def test_law_in_a_language_without_patterns_names_no_step():
    text = "(1) Der Mieter widerspricht innerhalb von 14 Tagen."
    article = {**ARTICLE, "language": "de", "content": text}
    assert steps_in(article, provisions_of(text), frozenset({"mieter"}), GLOSSARIES) == []
    french = "(1) Le locataire conteste dans un délai de deux mois devant le tribunal."
    article = {**ARTICLE, "language": "fr", "content": french}
    terms = frozenset(analyzer("fr")("le locataire peut-il contester ?"))
    found = steps_in(article, provisions_of(french), terms, GLOSSARIES)
    assert [step.kind for step in found] == ["deadline"]
