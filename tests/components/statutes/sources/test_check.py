"""The check after reading: numbers in order, gaps, repeats, articles within others, shares."""

import gc
import tracemalloc
from datetime import date

import pytest

from components.statutes import Article, CorpusError, StatuteCorpus, iter_articles
from components.statutes.sources.check import SHOWN_LAWS, ReadingCheck, number_of
from components.statutes.sources.reading import Place

AKN = """<akomaNtoso xmlns="http://docs.oasis-open.org/legaldocml/ns/akn/3.0"><act><meta>
<identification><FRBRWork><FRBRuri value="/akn/fi/act/{name}"/><FRBRcountry value="fi"/>
</FRBRWork><FRBRExpression><FRBRlanguage language="eng"/></FRBRExpression></identification></meta>
<body>{body}</body><attachments><attachment><doc name="Annex"><mainBody><p>{rest}</p></mainBody>
</doc></attachment></attachments></act></akomaNtoso>"""


def law(*numbers, texts=None, headings=None, name="Boats Act", **more):
    """Articles of one law at the lines 1, 2, ..."""
    for line, number in enumerate(numbers, start=1):
        text = (texts or {}).get(number, f"Boat {line} floats.")
        above = (headings or {}).get(line, ("Chapter 1",))
        article = Article(f"{name}-{line}", name, number, above, text, "en", **more)
        yield Place("boats.txt", line), article


def checked(placed):
    check, problems = ReadingCheck(), []
    assert list(check.watch(iter(list(placed)), problems))
    return check, problems


def warnings_of(*numbers, **options):
    _, problems = checked(law(*numbers, **options))
    assert all(each.notice and each.left_out == 0 for each in problems)
    return [(each.line, each.message.partition(": ")[2]) for each in problems]


@pytest.mark.parametrize(
    ("printed", "levels", "series"),
    [
        ("12a", "12", "a"),
        ("12 bis", "12", "bis"),
        ("L.121-4", "121 4", "l"),
        ("90.100", "90 100", ""),
        ("30.01.010", "30 01 010", ""),
        ("2-3", "2 3", ""),
        ("§ 87¹", "87 1", "§"),
        ("Section 5", "5", ""),
        ("Schedule 19, paragraph 406", "406", "schedule 19, paragraph "),
        ("第三百十二条の二", "312 2", ""),
        ("附則（平成五年法律第八八号）第三条", "3", "附則（平成五年法律第八八号）"),
        ("Annexe I à l'article R4312-1", "1", "annexe i à l'article r4312-"),
        ("8 SchlT", "8", "final title"),
        ("2 kap. 1 §", "2 1", "§"),
        ("primero", "1", ""),
    ],
)
def test_numbers_of_all_kinds(printed, levels, series):
    number = number_of(printed)
    assert number is not None
    assert (number.levels, number.series) == (tuple(levels.split()), series)


def test_what_is_no_number_and_what_is_a_range():
    assert number_of("Annex XIV") is None
    ranges = ("§§ 29 und 30", "第三十八条から第八十四条まで", "5", "1 to 999999999")
    assert [number_of(each).until for each in ranges] == [30, 84, 5, 1001]


@pytest.mark.parametrize(
    ("numbers", "gaps", "missing"),
    [
        (["1", "2", "2a", "3", "3 bis", "4"], [], 0),
        (["1", "2", "5", "6", "7", "8", "9"], ["3 to 4"], 2),
        (["Art. 1", "Art. 2", "Art. 4", "Art. 5", "Art. 6"], ["Art. 3"], 1),
        (["16", "16.1", "16.8", "16.9", "16.91", "16.92", "17", "17.05", "17.051"], [], 0),
        ([*map(str, range(1, 9)), *(f"{n} bis" for n in range(3, 9)), "9", "10"], [], 0),
        (["§ 1", "§§ 2 bis 4", "§ 5", "§ 6"], [], 0),
        (["90.100", "90.105", "90.110", "90.115"], [], 0),  # by fives
        (["L1-1", "L1-2", "R1-3", "L1-4", "L1-5", "L1-6"], [], 0),  # another series has it
        ([*map(str, range(990, 1000)), "1.000", "1.001"], [], 0),
        (["第一条", "第二条", "第三条", "第五条", "第六条"], ["4"], 1),
    ],
)
def test_gaps(numbers, gaps, missing):
    check, problems = checked(law(*numbers))
    assert (check.laws[0].gaps, check.missing, problems) == (gaps, missing, [])
    assert check.laws[0].numbers == f"{numbers[0]} to {numbers[-1]}"


def test_numbers_may_begin_again_in_each_division():
    above = {line: (f"Chapter {(line - 1) // 3}",) for line in range(1, 10)}
    check, problems = checked(law(*["1", "2", "3"] * 3, headings=above))
    assert (check.laws[0].restarts, problems) == (2, [])
    order, twice = warnings_of(*["1", "2", "3"] * 2)  # without a division
    assert "out of order" in order[1]
    assert "more than once" in twice[1]


def test_a_number_out_of_order_is_a_warning_with_its_place():
    found = warnings_of("1", "2", "86", "3", "4", "5", headings={3: ("Chapter 2",)})
    assert found == [(3, "numbers out of order (1): 86 (line 3)")]


def test_wordings_without_dates_are_repeats():
    [(line, message)] = warnings_of("1", "2", "2", "3")
    assert (line, "more than once" in message, "2 (line 3)" in message) == (3, True, True)
    days = [{"valid_from": date(2000, 1, 1), "valid_to": date(2001, 1, 1)}, {"valid_from": None}]
    dated = [next(law("2", name="Boats Act", **each)) for each in days]
    assert checked(dated)[1] == []


def test_a_repeat_behind_another_division_is_one():
    above = {1: ("A",), 2: ("A",), 3: ("B",), 4: ("A",)}
    [(line, message)] = warnings_of("1", "2", "3", "1", headings=above)
    assert (line, "more than once" in message) == (4, True)


def test_a_second_version_of_a_law_is_not_a_repeat():
    again = [(Place("boats2.txt", place.line), article) for place, article in law("1", "2", "3")]
    assert checked([*law("1", "2", "3"), *again])[0].n_warnings == 0


def test_an_article_that_holds_the_next_one():
    texts = {"2": "Oars are lent.\nArticle 3. Anchors\nAnchors are not, see art. 4 of this Act."}
    [(line, message)] = warnings_of("1", "2", "5", "6", texts=texts)
    assert (line, "2 (line 2) holds 3" in message, "holds 4" in message) == (2, True, False)
    [(line, message)] = warnings_of("1", "2", texts=texts)  # the last one, too
    assert (line, "holds 3" in message) == (2, True)


def test_a_text_that_begins_within_a_sentence():
    texts = {"3": "de esta ley, salvo pacto.", "4": "a) oars", "5": "(repealed)"}
    found = warnings_of(*map(str, range(1, 10)), texts=texts)
    assert [line for line, _ in found] == [3]
    every = {str(n): "the boats float." for n in range(1, 10)}  # the headings run on
    assert warnings_of(*map(str, range(1, 10)), texts=every) == []


def test_a_law_is_one_line():
    texts = {"2": "(repealed)", "5": "Boats float. " * 500}
    check, _ = checked(
        law("1", "2", "3", "4", "5", "7", texts=texts, name="Boats " + "and oars " * 20)
    )
    told = str(check.laws[0])
    assert told.startswith("Boats and oars") and len(told.splitlines()) == 1
    assert "6 articles; numbered 1 to 7; 1 missing number: 6; 1 repealed; longest" in told
    assert "longest (characters): 5 (6,500), 1 (14)" in told


def write(path, name, numbers, rest=""):
    article = "<article><num>Art. {0}</num><content><p>Boat {0} floats.</p></content></article>"
    body = "".join(article.format(n) for n in numbers)
    path.write_text(AKN.format(name=name, body=body, rest=rest), "utf-8")


def test_a_law_without_most_of_its_words_is_refused_when_strict(tmp_path):
    path = tmp_path / "law.xml"
    write(path, "a", range(1, 4), rest="The harbour is open to all boats. " * 500)
    [warning] = [each for each in StatuteCorpus.read(path).problems if "became" in each.message]
    assert (warning.file, warning.notice) == (str(path), True)
    for read in (StatuteCorpus.read, lambda *args, **more: list(iter_articles(*args, **more))):
        with pytest.raises(CorpusError) as error:
            read(path, strict=True)
        assert error.value.problems == [warning]
    write(path, "a", range(1, 4))
    corpus = StatuteCorpus.read(path, strict=True)
    assert corpus.check.laws[0].share > 0.5


def test_of_a_folder_the_totals_and_the_worst_are_kept(tmp_path):
    for n in range(60):
        write(tmp_path / f"{n:02}.xml", f"law{n}", [1, 2, 2, 3] if n % 2 else [1, 2, 4, 5, 6, 7])
    check, problems = ReadingCheck(), []
    for _ in iter_articles(tmp_path, check=check, problems=problems):
        pass
    assert (check.n_laws, check.n_articles, check.missing, check.n_warnings) == (60, 300, 30, 30)
    assert (len(check.laws), len(check.worst), len(str(check).splitlines())) == (SHOWN_LAWS, 10, 11)
    assert sum("more than once" in each.message for each in problems) == 10


def test_memory_does_not_grow_with_the_laws():
    def articles(n_laws):
        for n in range(n_laws):
            for place, article in law("1", "2", "2", "7", name=f"Act {n}"):
                yield Place(f"{n}.txt", place.line), article

    def held(n_laws):
        check = ReadingCheck()
        tracemalloc.start()
        for _ in check.watch(articles(n_laws), []):
            pass
        gc.collect()
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return size

    held(20)
    assert held(1_000) < 2 * held(100) + 20_000
