"""Safe XML, the layout of text, ids and tallies."""

import pytest

from components.statutes.sources import reading
from components.statutes.sources.markup import Layout, named, parse, root_name
from components.statutes.sources.reading import CorpusError, Tally

LAYOUT = Layout(
    paragraphs=("p", "item"),
    labels=("num",),
    rows=("tr",),
    cells=("td",),
    spaced=("raised",),
    left_out=("note",),
)


@pytest.fixture
def parsed(tmp_path):
    def parse_text(content):
        path = tmp_path / "law.xml"
        path.write_text(content)
        return parse(path)

    return parse_text


ENTITIES = "".join(f'<!ENTITY x{n} "{f"&x{n - 1};" * 10}">' for n in range(1, 10))


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("<law>\n <art>One</law>", 2, r"line 2, column \d+"),
        ("<law>\n <art>One", 2, r"line 2, column \d+"),
        ("", None, "empty"),
        ("no XML at all", 1, "line 1"),
        ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><a>&x;</a>', None, "entities"),
        ('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', None, "entities"),
        (f'<!DOCTYPE a [<!ENTITY x0 "boom">{ENTITIES}]><a b="&x9;">&x9;</a>', None, "XML"),
        ('<!DOCTYPE a SYSTEM "a.dtd">\n<a>must not&nbsp;pay</a>', 2, "&nbsp;"),
        (f"<a>{'<b>' * 400}{'</b>' * 400}</a>", 1, "depth"),
        (f"<law>{'x' * 20_000}</law>", None, "MB"),
    ],
)
def test_what_is_not_safe_xml_is_one_problem(parsed, monkeypatch, content, line, words):
    monkeypatch.setattr(reading, "LARGEST", 10_000)
    with pytest.raises(CorpusError, match=words) as raised:
        parsed(content)
    (problem,) = raised.value.problems
    assert (problem.notice, problem.left_out) == (False, 1)
    assert line in (None, problem.line)


def test_a_dtd_elsewhere_is_not_read(parsed):
    parsed('<!DOCTYPE law SYSTEM "http://example.invalid/law.dtd"><law><p>One</p></law>')


@pytest.mark.parametrize("space", ["", ' xmlns="urn:law"'])
def test_texts_have_paragraphs_labels_and_rows(parsed, space):
    root = parsed(
        f"""<law{space}><art><num>Art. <b>1</b><note>now 2</note></num>
        <p>A keeper <i>lends</i>
          boats<note>since 1990</note>.</p>
        <item><num>(a)</num> <p>by the day;</p></item>
        <item><num>(b)</num><p>by m<raised>2</raised></p></item>
        <tr><td><p>small</p><p>boat</p></td><td>1 crown</td></tr></art>
        <art><num>2</num>Plain.</art> outside</law>"""
    )
    articles = list(root.iter(*named(root, ["art"])))
    assert [LAYOUT.take(each, "num") for each in articles] == ["Art. 1", "2"]
    assert LAYOUT.texts(root, articles) == [
        "A keeper lends boats.\n(a) by the day;\n(b) by m 2\nsmall boat | 1 crown",
        "Plain.",
    ]


def test_noncharacters_in_a_text_do_not_cut_it(parsed):
    root = parsed(
        "<law><art><p>One&#xFDD0; boat</p></art><art><p>Two&#xFDD1; boats</p></art></law>"
    )
    assert LAYOUT.texts(root, list(root.iter("art"))) == ["One boat", "Two boats"]


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"<law>", "law"),
        (b'\xef\xbb\xbf\n<?xml version="1.0"?>\n<!-- <b> --><!DOCTYPE a:b><a:b x="">', "b"),
        (b'<!DOCTYPE a [<!ENTITY x "y">]><a/>', "a"),
        (b"The root is <law>", ""),
        (b"<!-- " + b"<!---->" * 500, ""),
    ],
)
def test_the_name_of_the_root(head, name):
    assert root_name(head) == name


def test_tallies_of_files_add_up():
    whole = Tally()
    for count in (1, 2):
        of_file = Tally()
        of_file.add("left out", "annex", count)
        of_file.add("left out", "signature", 0)
        for notice in of_file.notices("law.xml"):
            assert notice.notice
            whole.add_notice(notice)
    (notice,) = whole.notices("folder")
    assert (notice.counts, notice.left_out) == ({"annex": 3}, 0)
    assert "annex (3)" in notice.message
