"""The terms that a law defines, and where its articles use them.

A definition is found by its words: a term in quotation marks before "means", an entry of a list
below "In this Act:", a sentence such as "on entend par ...". The words are those of `words.tsv`, by
language; law in a language without such words has no definitions here. A term in brackets behind
its meaning is not found: brackets have too many other uses.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

from components.statutes.article import Article
from components.statutes.excerpts import LEFT_OUT
from components.statutes.languages import folded, known_language, words_of
from components.statutes.lexical import phrase_analyzer
from components.statutes.provisions import Line, Span, anchor_of, paragraphs_of
from components.statutes.sources.units import unit_pattern

MOST_DEFINITIONS = 5
"""How many definitions go with an answer."""
_MOST_ARTICLES = 3  # that an answer quotes, and whose terms are explained
_LONGEST_TEXT = 700  # characters of a definition
_SAMPLE = 100  # articles of a law in which uses are counted
_FEWEST_ARTICLES = 20
_SUBJECT = 0.4  # the share of them that use what the law is about


class Scope(NamedTuple):
    """Where a definition holds.

    Attributes:
        headings: of the divisions, from the top; empty for the whole law.
        number: of the one article for which it holds; empty for all of them.
    """

    headings: tuple[str, ...] = ()
    number: str = ""

    def covers(self, article: Article) -> bool:
        """Whether an article of the law lies within it."""
        if article.headings[: len(self.headings)] != self.headings:
            return False
        return not self.number or self.number in _numbers(article)

    @property
    def name(self) -> str:
        """The division, or the article's number; empty for the whole law."""
        return self.number or next(reversed(self.headings), "")

    @property
    def breadth(self) -> int:
        """The less, the shorter the scope: an article, then a section, a chapter, the law."""
        return -1_000 if self.number else -len(self.headings)


class Definition(NamedTuple):
    """A term and its meaning.

    Attributes:
        term: as defined, without "the" before it.
        text: term and meaning in the law's own words; a long one is cut.
        id: of the article that defines it.
        number: of that article, as printed.
        anchor: of the provision in that article's page; empty where it has no number.
        scope: where it holds.
        language: of that article.
    """

    term: str
    text: str
    id: str
    number: str
    anchor: str
    scope: Scope
    language: str | None


class Use(NamedTuple):
    """A place in a text where a defined term stands, and the share of articles that use it."""

    span: Span
    definition: Definition
    share: float


# Finding definitions.

_MOST_WORDS = 6  # of a term without quotation marks
_FEWEST_LETTERS = 3
_GLOSSARY = 3  # definitions from which on an article is one
_NEAR = 100  # characters around a word that announces a definition
_QUOTES = "\"“”„«»‘’'「」『』"
_OPENING = ('"', "“", "”", "„", "«", "‘", "「", "『", " '")
# Begins with the sign, which is quick to find.
_QUOTED = (
    r"[\"“”„«‘'「『](?<![\w'’].)(?:(?<=[\"“”„«])\s*[^\"“”„«»\n]{2,70}?\s*[\"“”»]"
    r"|(?<=[‘'「『])[^\"“”‘「『\n]{2,70}?['’」』])(?!\w)"
)
_MORE = rf"(?:\s*(?:,|and|or|et|ou|und|oder|y|o|e|、|和)\s*{_QUOTED})*"
# “disclose”, in relation to personal data, includes ...
_ASIDE = r"(?:,[^;:\n\"“”]{1,160}?,)?"
_WORD = r"[^\s,;:.(){}«»\"“”]"
_WORDS = rf"([^\W\d_]{_WORD}*(?:[ ]{_WORD}+){{0,{_MOST_WORDS - 1}}}?)"
_CHINESE_WORDS = r"([^\W\d_]{2,20}?)"
# An entry of a list: “term” meaning; Term : meaning; Term<tab>meaning; Term, la signification.
_ENTRY = re.compile(
    rf"\s*(?:[(（]?\w{{1,4}}[)）.°]\s*|[IVXL]*\s*[-–•]\s*)?(?:({_QUOTED})\s*(?:[:：,，]|(?=\w))"
    r"|([^\W\d_][^:：\t\n.;,\"“”«»]{1,60}?)"
    r"(?:\s*[:：]\s*|\s*\t\s*|,\s(?=(?:l['’]|la |les? |une? |tout)))(?=\S))"
)
_ANNOUNCES = re.compile(r"[:：—–-]\s*$")
_ITEM = re.compile(r"\s*(?:[(（]?\w{1,4}[)）.°]|[-–•])\s")
_ENDED = re.compile(r"[.;。；]\W*$")
_AND = re.compile(r"[\s,.;；]+(?:(?:and|or|et|ou|und|oder|y|o|e)\s*)?$")
_SENTENCE = re.compile(r"\n|[.;。；]\s")
_LEADING = re.compile(
    r"^(?:[⁰-⁹¹²³\s]+|.*所称的?|l['’]\s?"
    r"|(?:the|an?|les?|la|une?|der|die|das|el|los|las|il|gli)\s+)",
    re.IGNORECASE,
)
_SHORT_FORM = re.compile(r"(?<=\w)\s*\([^()]*\)$")  # "Trading Facility (MTF)"
# What begins a sentence about something, not a term: "This means", "A reference to X means".
_NO_TERM = re.compile(
    r"(?:a|an|any|by|do|does|each|every|for|if|in|it|no|not|nothing|such|that|there|these|they|this|those"
    r"|what|which|where|section|article|paragraph|part|chapter|annex|term|parte|and|or|ce|cette|dans|du"
    r"|elle|est|il|le cas|lors|on|par|pour|s'il|si|sont|er|sie|es|wer|wenn|se|\w{1,3}[.)])(?!\w)",
    re.IGNORECASE,
)
_FINITE = re.compile(r"\b(?:is|are|was|must|shall|may|has|have|est|sont|ist|sind|que)\b")
# "according to means": what is left of a sentence about money.
_OPEN_END = re.compile(
    r"\b(?:to|of|by|with|through|and|or|the|his|her|its|their|own|small|limited)$"
)
# “send” has the meaning given by section 36(1): the meaning itself tells more.
_ELSEWHERE = re.compile(r"\bha(?:s|ve) the (?:same )?meanings?\b")
_DIGITS = re.compile(r"\d+\w*")
_UNIT = re.compile(rf"(?:{unit_pattern('before')})(?!\w)", re.IGNORECASE)
_IN_PARAGRAPH = re.compile(
    r"(?:[Ff]or the purposes? of|\b[Ii]n) (?:sub-?)?(?:section|paragraph)s?\s*\("
)
_IN_ARTICLE = re.compile(
    r"(?:\b(?:[Ff]or the purposes? of|[Ii]n|[Pp]our l['’]application de|[Aa]u sens de"
    r"|[Aa] los efectos del|[Aa]i fini|[Ii]m Sinne (?:des|von))\s*(?:l['’]|dell['’])?)\s*"
    rf"(?i:{unit_pattern('before')})\s+(\d+\w*)(?!\s+of\b)"
)


class _Rules(NamedTuple):
    """How a language defines terms."""

    means: re.Pattern[str]
    in_words: re.Pattern[str]
    announcing: tuple[str, ...]
    hits: re.Pattern[str]
    scope: re.Pattern[str]


def _has_any(text: str, parts: Sequence[str]) -> bool:
    for part in parts:  # noqa: SIM110 - any() takes three times as long, for every article
        if part in text:
            return True
    return False


@cache
def _rules(language: str | None) -> _Rules | None:
    if language not in words_of("means"):
        return None
    means, in_words, announces, scope = (
        words_of(table)[language] for table in ("means", "defining", "defines", "scope")
    )
    is_chinese = language == "zh"
    kind = r"(?P<kind>[章节編编款法]|条(?!例))" if is_chinese else r"\s+(?P<kind>[^\W\d_]+)"
    return _Rules(
        re.compile(rf"{_QUOTED}{_MORE}\s*{_ASIDE}\s*(?:{means})"),
        re.compile(in_words.replace("TERM", _CHINESE_WORDS if is_chinese else _WORDS)),
        tuple(announces.split("|")),
        re.compile(announces),
        re.compile(("" if is_chinese else r"(?<!\w)") + f"(?:{scope}){kind}", re.IGNORECASE),
    )


class _Found(NamedTuple):
    """A definition: where it begins, where its term has ended, its terms, and how it is written."""

    place: int
    read: int
    terms: list[str]
    is_sentence: bool = False


def definitions_in(article: Article) -> list[Definition]:
    """The definitions in an article, in their order.

    Args:
        article: its language decides by which words they are found; without one there are none.
    """
    text = article.text
    rules = _rules(known_language(article.language))
    if rules is None:
        return []
    found: dict[int, _Found] = {}
    if is_list := any(_has_any(each, rules.announcing) for each in article.headings[-1:]):
        found = {each.place: each for each in _listed(text, rules, is_list=True)}
    if _has_any(text, rules.announcing):
        if not is_list:
            found = {each.place: each for each in _listed(text, rules, is_list=False)}
        for hit in rules.hits.finditer(text):
            near = max(0, hit.start() - _NEAR), min(len(text), hit.end() + _NEAR)
            for match in rules.in_words.finditer(text, *near):
                if _is_term(term := next(filter(None, match.groups()))):
                    found[match.start()] = _Found(
                        match.start(), match.end(), [term], is_sentence=True
                    )
    if _has_any(text, _OPENING):
        for match in rules.means.finditer(text):
            terms = [each[0] for each in _QUOTED_TERM.finditer(match[0])]
            found[match.start()] = _Found(match.start(), match.end(), terms)
    return [*_read(article, [found[place] for place in sorted(found)], rules)] if found else []


_QUOTED_TERM = re.compile(_QUOTED)


def _read(article: Article, found: list[_Found], rules: _Rules) -> Iterator[Definition]:
    text = article.text
    lines = list(_places(text))
    starts = [line.span.start for line, _ in lines]
    scopes: list[Scope | None] = []  # of the lists that end above each line, or go on there
    places = [each.place for each in found]
    for start, end in pairwise([*starts, len(text)]):
        # A list that runs on in its line is announced by the words before its first term.
        first = bisect_right(places, start)
        stop = min(end, places[first]) if first < len(places) else end
        announced = _ANNOUNCES.search(text, max(start, stop - 20), stop)
        named = _named_scope(text[start:stop], rules, article) if announced else None
        scopes.append(named or (scopes[-1] if scopes else None))
    for each, following in pairwise([*found, _Found(len(text), 0, [])]):
        words = _AND.sub("", text[each.place : _end(text, each.read, following.place)])
        if len(words) > _LONGEST_TEXT:
            words = f"{words[:_LONGEST_TEXT].rsplit(None, 1)[0]} {LEFT_OUT}"
        line = max(0, bisect_right(starts, each.place) - 1)
        begins = max(starts[line], each.place - 300)
        cuts = (cut.end() for cut in _SENTENCE.finditer(text, begins, each.place))
        head = text[max(cuts, default=begins) : each.read]
        # "Harm means ..." in the midst of a chapter is about that chapter, but not a glossary.
        is_alone = each.is_sentence and len(found) < _GLOSSARY
        unnamed = Scope(article.headings if is_alone else ())
        scope = _named_scope(head, rules, article) or scopes[line] or unnamed
        for written in each.terms:
            term = _LEADING.sub("", written.strip(_QUOTES + " \u00a0"))
            term = _SHORT_FORM.sub("", " ".join(term.split()))
            if len(term) > 1 and len(words) > len(term) + 4:
                place = (article.id, article.number, lines[line][1])
                yield Definition(term, words, *place, scope, article.language)


def _is_term(words: str) -> bool:
    return not (_NO_TERM.match(words) or _FINITE.search(words) or _OPEN_END.search(words))


def _listed(text: str, rules: _Rules, *, is_list: bool) -> Iterator[_Found]:
    """The entries of lists that a line announces, or the heading above."""
    start, is_announced = 0, is_list
    for line in text.splitlines(keepends=True):
        if _has_any(line, rules.announcing) and _ANNOUNCES.search(line):
            is_list = is_announced = True
        # A line of prose ends a list, but not a table.
        elif (is_list or (is_announced and "\t" in line)) and (entry := _ENTRY.match(line)):
            words = entry[1] or entry[2]
            is_short = len(words.split()) <= _MOST_WORDS and len(words) >= _FEWEST_LETTERS
            if entry[1] or (is_short and _is_term(words)):
                place = start + entry.start(1 if entry[1] else 2)
                yield _Found(place, start + entry.end(), [words])
        elif line.strip() and not _ITEM.match(line) and not line[0].islower():
            is_list = False
        start += len(line)


def _end(text: str, place: int, following: int) -> int:
    """Where a definition ends: its line, with lines that go on and the list that it leads to."""
    end = text.find("\n", place, following)
    while 0 <= end < following and not _ENDED.search(text, max(place, end - 5), end):
        after = text[end:following].lstrip()[:1]
        if not (after.islower() or _ITEM.match(text, end, following)):
            break
        end = text.find(
            "\n", end + 1 + len(text[end:following]) - len(text[end:following].lstrip()), following
        )
    return following if end < 0 else end


def _places(text: str) -> Iterator[tuple[Line, str]]:
    """The lines of an article, each with its anchor."""
    for paragraph in paragraphs_of(text):
        for line in paragraph.lines:
            above = paragraph.number if line.kind == "lettered" else ""
            yield line, anchor_of(above + line.label) if line.label else paragraph.anchor


def _named_scope(head: str, rules: _Rules, article: Article) -> Scope | None:
    """The scope that words before a meaning name: "In this Chapter", "au sens de l'article 3"."""
    if named := rules.scope.search(head):
        return _within(named["kind"].casefold(), article)
    if _IN_PARAGRAPH.search(head):
        return _within("section", article)
    number = _IN_ARTICLE.search(head)
    return Scope(number=number[1].casefold()) if number else None


def _within(kind: str, article: Article) -> Scope:
    """The scope of "this KIND" in an article."""
    forms = {kind, kind.removesuffix("s"), kind.removesuffix("es")}
    for depth in range(len(article.headings), 0, -1):
        words = article.headings[depth - 1].casefold().split()[:2]
        if not forms.isdisjoint(words) or any(each[-1] == kind for each in words):
            return Scope(article.headings[:depth])
    is_article = kind in words_of("within an article")["*"].split()
    return Scope(number=article.number.casefold()) if is_article else Scope()


def _numbers(article: Article) -> list[str]:
    """What "section 12" may call an article: its own number, or that of the heading above."""
    heads = [each for each in article.headings[-1:] if _UNIT.match(each)]
    numbers = (_DIGITS.search(each) for each in (article.number, *heads))
    return [article.number.casefold(), *(each[0].casefold() for each in numbers if each)]


# Finding their uses.


class Glossary:
    """The terms that one law defines.

    Args:
        articles: all of the law's, in its order.
    """

    def __init__(self, articles: Sequence[Article]) -> None:
        self._by_keys: dict[tuple[str, ...], list[Definition]] = {}
        self._lengths: dict[str, set[int]] = {}
        for each in chain.from_iterable(map(definitions_in, articles)):
            if keys := tuple(key for key, _ in _words(each.term, each.language)):
                self._by_keys.setdefault(keys, []).append(each)
                self._lengths.setdefault(keys[0], set()).add(len(keys))
        # In how many articles each term stands; counted in some, which is quick.
        sample = articles[:: max(1, len(articles) // _SAMPLE)] if self._by_keys else ()
        used: Counter[tuple[str, ...]] = Counter()
        in_capitals: Counter[bool] = Counter()
        for article in sample:
            matches = list(self._matches(article.text, article.language))
            used.update({keys for _, keys in matches})
            for span, keys in matches:
                if self._by_keys[keys][0].term[0].isupper():
                    in_capitals[article.text[span.start].isupper()] += 1
        # Of a few articles many use the same words.
        n_read = max(len(sample), _FEWEST_ARTICLES)
        self._shares = {keys: count / n_read for keys, count in used.items()}
        # Where a law writes "Fund" for the term that it defines, "fund" is the ordinary word.
        self._is_cased = in_capitals[True] > 2 * in_capitals[False]

    def __bool__(self) -> bool:
        return bool(self._by_keys)

    def uses(
        self,
        article: Article,
        spans: Sequence[Span] | None = None,
        excluded: Collection[str] = (),
    ) -> list[Use]:
        """The first use of each term in an article, but for those that it defines itself.

        Of terms that overlap the longest is found; of several definitions of one term the one
        with the shortest scope.

        Args:
            article: of the glossary's law.
            spans: where to look, in order; None for all of it.
            excluded: ids of articles that define nothing: those not in force.
        """
        uses: dict[str, Use] = {}
        for start, end in [Span(0, len(article.text))] if spans is None else spans:
            for span, keys in self._matches(article.text[start:end], article.language):
                place = Span(start + span.start, start + span.end)
                group = [each for each in self._by_keys[keys] if each.id not in excluded]
                holding = [each for each in group if each.scope.covers(article)]
                if any(each.id == article.id for each in holding) or not holding:
                    continue
                nearest = min(holding, key=lambda each: each.scope.breadth)
                if _ELSEWHERE.search(nearest.text):
                    others = (each for each in group if not _ELSEWHERE.search(each.text))
                    nearest = next(others, nearest)
                term, written = nearest.term, article.text[slice(*place)]
                is_lower = self._is_cased and term[0].isupper() and written[0].islower()
                # "Free of charge" has nothing to do with "charges".
                is_singular = len(keys) == 1 and len(written) < len(term)
                if not (is_lower or is_singular):
                    uses.setdefault(term, Use(place, nearest, self._shares.get(keys, 0)))
        return list(uses.values())

    def definition(self, term: str) -> Definition | None:
        """The first definition of a term, by its exact words."""
        defined = chain.from_iterable(self._by_keys.values())
        return next((each for each in defined if each.term.casefold() == term.casefold()), None)

    def _matches(self, text: str, language: str | None) -> Iterator[tuple[Span, tuple[str, ...]]]:
        words = list(_words(text, language))
        place = 0
        while place < len(words):
            key, (start, _) = words[place]
            for length in sorted(self._lengths.get(key, ()), reverse=True):
                keys = tuple(each for each, _ in words[place : place + length])
                if len(keys) == length and keys in self._by_keys:
                    yield Span(start, words[place + length - 1][1].end), keys
                    place += length
                    break
            else:
                place += 1


def definitions_for(
    articles: Sequence[Article],
    glossary: Glossary,
    question: str = "",
    excluded: Collection[str] = (),
) -> list[tuple[Definition, Article]]:
    """The definitions that go with the articles of an answer, each with the first that uses it.

    They are at most `MOST_DEFINITIONS`, of terms in the first three articles: those with the
    shortest scope, then the rarest. A word that two fifths of the law's articles use goes along
    only if the question uses it, too: else it would go with every answer. The definitions stand
    in the order of the articles that use them.

    Args:
        articles: best first, each with the text to look for terms in; those of other laws than the
            best one's are passed over.
        glossary: of the best one's law.
        question: that the articles answer.
        excluded: ids of articles that are not in force.
    """
    shown = [each.id for each in articles]
    found: dict[Definition, tuple[Use, Article]] = {}
    for article in articles[:_MOST_ARTICLES] if glossary else ():
        if article.law != articles[0].law:
            continue
        asked = {use.definition for use in glossary.uses(replace(article, text=question))}
        for use in glossary.uses(article, excluded=excluded):
            is_known = use.share > _SUBJECT and use.definition not in asked
            if use.definition.id not in shown and not is_known:
                found.setdefault(use.definition, (use, article))
    ordered = sorted(found, key=lambda each: (each.scope.breadth, found[each][0].share))
    chosen = [(each, found[each][1]) for each in ordered[:MOST_DEFINITIONS]]
    return sorted(chosen, key=lambda pair: shown.index(pair[1].id))


_WORD_OR_SIGN = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_]+(?:[-’'](?=\w)[^\W_]+)*"
)
_POSSESSIVE = re.compile(r"['’]s?$")
_ELIDED = re.compile(r"^(?:l|d|qu|s|n|j|m|t|un|dell|all|nell|sull|dall)['’]", re.IGNORECASE)


def _words(text: str, language: str | None) -> Iterator[tuple[str, Span]]:
    """The words of a text as terms are compared, with their places."""
    known = known_language(language)
    for match in _WORD_OR_SIGN.finditer(text):
        start = match.start()
        word = match[0]
        if "'" in word or "’" in word:
            elided = _ELIDED.match(word)
            start += elided.end() if elided else 0
            word = _POSSESSIVE.sub("", word[elided.end() :] if elided else word)
        yield _key(word, known), Span(start, start + len(word))


@lru_cache(maxsize=100_000)
def _key(word: str, language: str | None) -> str:
    """A word without its plural.

    Stemmers that also take off "-er" and "-ment" would make one word of employer and employment.
    """
    word = folded(word.casefold())
    if len(word) < 4 or language == "zh":
        return word
    if language in ("en", "fr", "es", "pt"):
        word = re.sub(r"ies$", "y", word) if language == "en" else re.sub(r"aux$", "al", word)
        word = re.sub(r"(?<=s|x|z)es$|(?<=[cs]h)es$|(?<!s)s$|(?<=[ae]u)x$", "", word)
        return re.sub(r"e$", "", word) if language in ("es", "pt") else word
    return next(iter(phrase_analyzer(language)(word)), word)
