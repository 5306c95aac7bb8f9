"""Files of law read, and how many of their words the articles have."""

import re
from collections import Counter
from types import SimpleNamespace

import pytest

from components.statutes.sources import markup, opening
from components.statutes.sources.reading import TallyNotice

_WORD = re.compile(r"[^\W\d_]|\d+")
_LATIN_WORD = re.compile(r"[^\W\d_]+|\d+")


def _read(path):
    """The articles of a file and what was counted; a fault fails the test."""
    problems = []
    articles = [article for _, article in opening.open_articles(path, problems)]
    assert [each for each in problems if not each.notice] == []
    counted = {each.action: dict(each.counts) for each in problems if isinstance(each, TallyNotice)}
    return SimpleNamespace(articles=articles, counted=counted)


@pytest.fixture
def read_law(tmp_path):
    """Reads a law that is written into the test."""

    def read(content, name="law.xml"):
        path = tmp_path / name
        path.write_text(content, "utf-8")
        return _read(path)

    return read


@pytest.fixture
def read_sample(real_data):
    """Reads a real file: its articles, what was counted, and the share of words that they have.

    The words are those of the elements `law`, by local name, without the elements whose name, class
    or `tipo` is in `apart`.
    """

    def read(name, law, apart=()):
        folder, _, file = name.partition("/")
        path = real_data(folder) / file
        found = _read(path)
        word = _WORD if found.articles[0].language == "ja" else _LATIN_WORD
        kept = Counter()
        for each in found.articles:
            for printed in (each.text, each.number, *each.headings):
                kept.update(word.findall(printed.lower()))

        words = Counter()

        def count(element):
            words.update(word.findall((element.text or "").lower()))
            for each in element:
                if not {markup.local_name(each), each.get("class"), each.get("tipo")} & {*apart}:
                    count(each)
                words.update(word.findall((each.tail or "").lower()))

        for element in markup.outermost(markup.parse(path), *law):
            count(element)
        found.share = 1 - (words - kept).total() / words.total()
        return found

    return read
