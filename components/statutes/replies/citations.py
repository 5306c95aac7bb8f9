"""The citations of a reply, each looked up among the given articles.

Retrieval reads a citation leniently, so that its article is found. Here it is read strictly, since
a verified citation must name a given article and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from components.statutes.article import Article
from components.statutes.characters import folded
from components.statutes.citations.finding import GENERIC_NAMES, NAME_OF_A_LAW, PLAIN_CHARACTERS
from components.statutes.citations.laws import LawNames, foreign_place
from components.statutes.citations.patterns import (
    CHINESE_NUMERAL,
    Citation,
    chinese_integer,
    parse_number,
)
from components.statutes.citations.resolver import CitationResolver, ResolvedCitation
from components.statutes.identity import names_of_laws
from components.statutes.replies.checked import CheckedCitation, CheckState
from components.statutes.replies.quotations import Quotation
from components.statutes.replies.source_lists import (
    StatedSource,
    contradiction,
    stated_sources,
)
from components.statutes.replies.text import MARK, ReferenceMark, find_reference_marks

# The paragraphs that an article has, as laws print them: "(5)", "5.", "5)", "5°", "§ 5", "a)".
#
# A figure alone is not a paragraph: "5 %", "thirty (30) days" and "subsection (7) of section 12" do
# not number parts of the article. An unclear case does not count as a paragraph, which leaves a
# doubt.


_AND = r"(?:and|or|to|et|ou|à|und|oder|bis|và|hoặc)"
_BRACKETS = r"\(\w{1,6}\)"
# Paragraphs that the article mentions: "48K(1), (3) and (4)", "subsections (1) and (7)".
_REFERENCE = re.compile(
    r"(?:\b(?:(?:sub-?)?(?:section|paragraph)s?|(?:article|rule|regulation|point|clause|item|part"
    r"|alinéa|paragraphe)s?|abs(?:atz|ätzen?)|nummern?|satz|buchstaben?|khoản|điểm)\b\s?"
    r"|\b(?:paras?|secs?|arts?|subs|abs|nr|buchst|lit|al)\b\.? ?|(?<=\w)|(?<=\d) )"
    rf"{_BRACKETS}(?:[ ,]{{0,2}}(?:{_AND} )?{_BRACKETS})*",
    re.IGNORECASE,
)
# "Paragraph 7 of", "L'alinéa 7 de l'", "Abs. 7 des", "Les §§ 2 et 3 de l'": before an article.
_UNIT = (
    r"(?:(?:\b(?:(?:sub-?)?(?:section|paragraph)s?|paragraphes?|paras?|subs|points?|alinéas?|al"
    r"|abs(?:atz)?|buchst(?:abe)?|lit)\b\.?|§§?) ?)"
)
_LEVEL = r"\(?\w{1,4}\)?(?:\(\w{1,4}\))*"
_LIST = rf"(?P<list>{_LEVEL}(?:(?:, ?| {_AND} ){_LEVEL}){{0,8}})"
_OF = r",? (?:of|in|de|du|des|von|vom) ?(?:the |cet |même |l['’])?"
_IN_FRONT = re.compile(rf"{_UNIT}{_LIST}(?:{_OF}|, )$", re.IGNORECASE)
_REACH_IN_FRONT = 64  # characters
_MARK = re.compile(
    r"\((?P<bracket>\d{1,4}[a-z]{0,2}|[a-zđ]{1,2}|[ivxlc]{1,5})\)"
    rf"|[(（](?P<chinese>{CHINESE_NUMERAL})[)）]"
    r"|(?<!\S)§ ?(?P<sign>\d{1,4}(?:er|[a-z]{1,3})?)\b"
    r"|(?<!\S)(?P<figure>\d{1,3}[a-z]{0,3})(?:[.)](?=\s|[-–])|°(?! ?[CF]\b))"
    r"|(?<!\S)(?P<letter>[a-zđ]|[ivxl]{1,5})\)(?=\s)"
    r"|(?m:^)[ \t]*(?P<lettered>[a-zđ])\.(?=\s)"
    r"|(?m:^)[ \t]*(?P<bare>\d{1,3}) (?-i:(?=[A-ZÀ-ÝĐ]))",  # "1 Der Vermieter", in Swiss laws
    re.IGNORECASE,
)
_WINDOW = 16  # characters before a mark
_LISTED = re.compile(rf",(?: {_AND})?$|; {_AND}$", re.IGNORECASE)
_LAST_WORD = re.compile(r"(\w+)\.$")
# A full stop after these ends no sentence: "under Art. 5. The".
_ABBREVIATED = frozenset(
    re.findall(
        r"\w+",
        "abs al alin approx art arts buchst ca cap cf ch cl no nos nr num para paras pp pt"
        " reg sched sec secs sub subs subsec vgl ziff lit",
    )
)


def has_paragraph(number: str, text: str, named: str) -> bool:
    """Whether an article prints the paragraphs that a citation names, in sequence.

    Args:
        number: The article's, as printed; "s.2(1)" has its paragraph in it.
        text: The article's.
        named: From the outside in: "(2)(a)".
    """
    levels = re.findall(r"\w+", named.lower())
    if not levels:
        return True
    printed = parse_number(number)
    own = [level.lower() for level in printed.paragraphs] if printed else []
    marks = iter([*own, *paragraph_marks(text)])
    return all(level in marks for level in levels)


def paragraphs_in_front(text: str, start: int) -> list[str]:
    """The paragraphs before an article whose citation starts there: ["(2)", "(3)"].

    "§ 1er, alinéa 2, de l'" names two, each of which the article must have.
    """
    named: list[str] = []
    begin = max(0, start - _REACH_IN_FRONT)
    while unit := _IN_FRONT.search(text, begin, start):
        if not named and unit[0].endswith(", "):
            break  # "paragraph 2, article 5" is a list
        for level in re.split(rf", ?| {_AND} ", unit["list"], flags=re.IGNORECASE):
            words = (re.sub(r"(?<=\d)er$", "", word) for word in re.findall(r"\w+", level))
            named.append("".join(f"({word})" for word in words))
        start = unit.start()
    return named


@lru_cache(maxsize=64)
def paragraph_marks(text: str) -> tuple[str, ...]:
    """The marks of an article's paragraphs and points, in order."""
    plain = text.translate(PLAIN_CHARACTERS)
    plain = _REFERENCE.sub(lambda match: " " * len(match[0]), plain)
    marks: list[str] = []
    last = bare = 0
    for match in _MARK.finditer(plain):
        before = plain[max(0, match.start() - _WINDOW) : match.start()]
        behind_another = bool(marks) and not plain[last : match.start()].strip(" ")
        if match["bare"]:
            begins = int(match["bare"]) == bare + 1  # else a line that begins with a sum
            bare += begins
        elif match["lettered"]:
            begins = True
        else:
            begins = behind_another or _begins(before)
            if match["letter"] or match["bracket"]:
                begins = begins or _LISTED.search(before.rstrip()) is not None
            if match["bracket"] and not match["bracket"][0].isdigit():
                begins = begins or before[-1:].isspace()  # "the tenant (a) pays"
        if begins:
            last = match.end()
            value = match[match.lastgroup or 0].lower()
            value = str(chinese_integer(value)) if match["chinese"] else value
            marks.append(re.sub(r"(?<=\d)er$", "", value))
    # Whoever has a second has a first: "shall (1) pay and", or one printed without its number.
    if "2" in marks and "1" not in marks[: marks.index("2")]:
        marks.insert(0, "1")
    return tuple(marks)


def _begins(before: str) -> bool:
    """Whether a line or a sentence begins after these characters."""
    if not before.strip(" \t") or before.rstrip(" \t").endswith("\n"):
        return True
    before = before.rstrip()
    word = _LAST_WORD.search(before)
    if word and (len(word[1]) == 1 or word[1].isdigit() or word[1].lower() in _ABBREVIATED):
        return False
    return before.endswith((".", ":", ";", "。", "：", "；"))


PLAIN_EMPHASIS = str.maketrans({"*": " ", "_": " ", "\\": " ", "`": " "})
"""Blanks out emphasis one for one, so that spans stay: "Section **99**"."""

_BESIDE = re.compile(r"[\s()*_,]*")
# The name of a law after a citation: words in capitals, and what joins them.
_NAME_BEHIND = re.compile(
    r"\s*(?:(?:of|the|in|under|du|de|des|la|le|l['’]|der|des|dem|von|của)\s*)*"
    r"(?:[A-ZÀ-Ý][\w.'’-]*|\([^()\n]{1,40}\))"
    r"(?:\s+(?:(?:of|the|and|on|for|du|de|des|la|le|et|der|des|und)\s+)*[A-ZÀ-Ý(][\w.'’)-]*)*"
)
_WHICH_LAW = "it does not say of which law"
NO_PARAGRAPH = "its paragraph was not found in the article"
_SEVERAL = "it fits several of the articles given"
SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？\n]")
_SENTENCE = 300  # characters of it that are read on either side of a citation
_NEAR = 90  # characters next to a citation that can make it another one
_HINT_WITHIN = 200  # characters after a citation, in which its law is named
# How the name of a law may go on after what retrieval has read of it: "(Northern Ireland)". What
# names a part of the article does not belong to it.
_NAME_GOES_ON = re.compile(
    r"(?:[ \t]+(?:(?:of|the|and|on|for|du|de|des|la|le|et|der|des|und)[ \t]+)*\(?"
    r"(?!(?:Abs(?:atz)?|Satz|Nr|Num\w*|Para(?:graph\w*)?|Sub(?:sec|para)\w*|Al(?:in\w*)?|Ziff(?:er)?"
    r"|Buchst\w*|Art(?:icles?|ikel\w*)?|Secs?|Sections?|Cl(?:auses?)?|Parts?|Ch(?:ap\w*)?)\b)"
    r"(?:[A-ZÀ-Ý][\w'’-]*|(?:1[5-9]|20)\d\d\b)\)?)+"
)
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_NO_NAME = frozenset(
    re.findall(r"\w+", "the of de du des la le l d der die das dem and nacion ley lei")
)


def checked_citations(
    reply: str, sources: Sequence[Article], quotations: Sequence[Quotation]
) -> list[CheckedCitation]:
    """Every citation of a reply, in order.

    Args:
        reply: What was written.
        sources: The articles that it was written from.
        quotations: Its quotations: a citation within one belongs to the law, except marks at the
            quotation's end, which are the writer's.
    """
    written = [
        mark
        for mark in find_reference_marks(reply)
        if not any(_quotes_mark(each, mark.end, reply) for each in quotations)
    ]
    marks = [_of_mark(each.start, each.end, each.numbers, reply, sources) for each in written]
    quoted = [(each.start, each.end) for each in quotations]
    names = LawNames((each.law for each in sources), names_of_laws(sources))
    entries = ((each.id, each.law, each.number) for each in sources)
    resolver = CitationResolver(entries, names, whole=False)
    plain = reply.translate(PLAIN_EMPHASIS)
    resolved = [
        each
        for each in resolver.resolve(plain)
        if not any(start <= each.citation.start < end for start, end in quoted)
    ]
    spans = [(each.citation.start, each.citation.end) for each in resolved]
    stated = [
        each for each in stated_sources(reply, written, spans) if 1 <= each.number <= len(sources)
    ]
    named, ends = _named(reply, plain, resolved, names, sources, marks, stated)
    marks = _as_stated(marks, written, stated, reply, sources, names, named)
    # "[Article 9]" is a citation in words.
    marks = [mark for mark in marks if not any(mark.start <= n.start < mark.end for n in named)]
    pairs = [
        (each, mark)
        for each, end in zip(named, ends, strict=True)
        if not any(source.start <= each.start < source.end for source in stated)
        and (mark := _behind(end, marks, reply)) is not None
    ]
    against = {
        id(each): f"{other.text} next to it names another article"
        for pair in pairs
        if pair[0].ids and pair[1].ids and not set(pair[0].ids) & set(pair[1].ids)
        for each, other in (pair, pair[::-1])
    }
    checked = [
        replace(each, state="not checked", why=against[id(each)])
        if id(each) in against and each.state == "verified"
        else each
        for each in (*marks, *named)
    ]
    return sorted(checked, key=lambda each: each.start)


def _quotes_mark(quotation: Quotation, end: int, reply: str) -> bool:
    """Whether a mark that ends there is within a quotation that continues after it."""
    if not quotation.closed or not quotation.start < end < quotation.end:
        return False
    return any(each.isalnum() for each in MARK.sub("", reply[end : quotation.end]))


def _behind(end: int, marks: Sequence[CheckedCitation], reply: str) -> CheckedCitation | None:
    """The mark right after a citation in words that ends there: "Article 12 [1]"."""
    mark = next((each for each in marks if each.start >= end), None)
    near = mark is not None and _BESIDE.fullmatch(reply[end : mark.start])
    return mark if near else None


def _of_mark(
    start: int, end: int, numbers: tuple[int, ...], reply: str, sources: Sequence[Article]
) -> CheckedCitation:
    words = reply[start:end]
    ids = tuple(sources[number - 1].id for number in numbers if 1 <= number <= len(sources))
    if not numbers:
        return CheckedCitation(start, end, words, "not checked", (), "what it means is not known")
    if len(ids) == len(numbers):
        return CheckedCitation(start, end, words, "verified", ids)
    given = "1 article was" if len(sources) == 1 else f"{len(sources)} articles were"
    why = f"{given} given; it names another"
    return CheckedCitation(start, end, words, "not found", (), why)


def _as_stated(
    marks: Sequence[CheckedCitation],
    written: Sequence[ReferenceMark],
    stated: Sequence[StatedSource],
    reply: str,
    sources: Sequence[Article],
    names: LawNames,
    named: Sequence[CheckedCitation],
) -> list[CheckedCitation]:
    """The marks, those in doubt for which the reply states another source than was given."""
    wrong: dict[int, tuple[CheckState, str]] = {}
    for each in stated:
        state, why = contradiction(each, reply, sources[each.number - 1], names, named)
        if state == "not found" or (state == "not checked" and each.number not in wrong):
            wrong[each.number] = state, why
    checked = []
    for mark, of in zip(marks, written, strict=True):
        against = [wrong[number] for number in of.numbers if number in wrong]
        if against and mark.state == "verified":
            state, why = max(against, key=lambda each: each[0] == "not found")
            mark = replace(mark, state=state, ids=(), why=why)
        checked.append(mark)
    return checked


def _named(
    reply: str,
    plain: str,
    citations: Sequence[ResolvedCitation],
    names: LawNames,
    sources: Sequence[Article],
    marks: Sequence[CheckedCitation],
    stated: Sequence[StatedSource],
) -> tuple[list[CheckedCitation], list[int]]:
    """Citations in words, and where each ends with the name of its law."""
    of = {each.id: each for each in sources}
    found: list[CheckedCitation] = []
    ends: list[int] = []
    known: dict[tuple[str, str], str] = {}
    for resolved in citations:
        citation = resolved.citation
        more = more_of_name(citation, reply, plain)
        state, why = state_of_named(resolved, plain, of, names, more)
        ids = resolved.ids
        key = (citation.kind, citation.number)
        if is_paragraph(citation, plain, [of[id_] for id_ in ids] or sources):
            ids = _ids_of_next_mark(citation.end, marks, plain) or _ids_before(
                citation.start, [*marks, *found]
            )
            state, why = _state_of_paragraph(citation, ids, of)
        elif why in (_WHICH_LAW, _SEVERAL) and not citation.law_hint:
            # "Section 12 of the Housing Code ... Under section 12 ...", or "Section 12 ... [1].",
            # or "[1]: Section 12".
            label = next((e.number for e in stated if e.start <= citation.start < e.end), None)
            meant = {known.get(key)}
            if label is None:
                meant.update(_ids_of_next_mark(citation.end, marks, plain))
            else:
                meant.add(sources[label - 1].id)
            fitting = tuple(id_ for id_ in ids if id_ in meant)
            if len(fitting) == 1 and not speaks_of_another_law(
                plain, citation, of[fitting[0]].law, names
            ):
                ids = fitting
                resolved = replace(resolved, ids=ids)
                state, why = state_of_named(resolved, plain, of, names, law_known=True)
        if state == "verified":
            known[key] = ids[0]
        words = reply[citation.start : citation.end]
        found.append(CheckedCitation(citation.start, citation.end, words, state, ids, why))
        name = _NAME_BEHIND.match(plain, citation.group[1])
        ends.append(name.end() if name and citation.law_hint else citation.end)
    return found, ends


def _ids_of_next_mark(
    position: int, marks: Sequence[CheckedCitation], plain: str
) -> tuple[str, ...]:
    """The articles that the next mark of the same sentence names."""
    mark = next((each for each in marks if each.start >= position), None)
    if mark is None or SENTENCE_END.search(plain, position, mark.start):
        return ()
    return mark.ids


def state_of_named(
    resolved: ResolvedCitation,
    plain: str,
    of: Mapping[str, Article],
    names: LawNames,
    more: str = "",
    *,
    law_known: bool = False,
) -> tuple[CheckState, str]:
    """State of a citation in words, and what speaks against it.

    Args:
        resolved: With the articles that fit it.
        plain: The reply.
        of: The sources by id.
        names: The names of their laws.
        more: How the name of its law goes on after its hint.
        law_known: Whether the law is known from elsewhere.
    """
    citation = resolved.citation
    if not resolved.ids:
        return "not found", "none of the articles given is this one"
    if citation.through is not None or citation.onward:
        return "not checked", "it names several articles"
    if len(resolved.ids) > 1:
        return "not checked", _SEVERAL
    source = of[resolved.ids[0]]
    if not law_known:
        if citation.law_hint is None:
            return "not checked", _WHICH_LAW
        named = citation.code is not None or (
            is_name(citation.law_hint, source.law, names) and name_goes_on(more, source.law, names)
        )
        if not resolved.certain or not named:
            return "not checked", "it names the law otherwise"
    why = doubt_of(citation, plain, source.law, source.language, source.number)
    why = why or lacks(source, citation, plain)
    return ("not checked", why) if why else ("verified", "")


def lacks(source: Article, citation: Citation, plain: str) -> str:
    """Which unit or paragraph named by a citation the article lacks; "" if none."""
    if citation.kind in ("rule", "regulation") and citation.kind not in source.law.casefold():
        return f"the law has no {citation.kind}s"
    # A 款 is printed without any number.
    paragraph = citation.paragraph or ""
    paragraphs = [  # "Point (a) of Article 6(1)"
        paragraph + each for each in paragraphs_in_front(plain, citation.start)
    ] or [paragraph]
    if "款" in citation.text or not all(
        has_paragraph(source.number, source.text, each) for each in paragraphs
    ):
        return NO_PARAGRAPH
    return ""


# What makes another text of a citation than the article of that number: "former section 12",
# "§ 573 BGB a.F.".
_FORMER = re.compile(
    r"\b(?:(?:former|previous|earlier|old|original|repealed|anciens?|anciennes?|frühere[nmrs]?"
    r"|alte[nmrs]?|vroegere|oude|antiguos?|antiguas?|vecchi[oa]|cũ|tidligere|прежн\w+)\s+"
    r"|구\s+\S+\s*|[旧舊]\w{1,12})$",
    re.IGNORECASE,
)
_FORMER_BEHIND = re.compile(
    r"[^.;\n]{0,60}?(?:\ba\.\s?F\.|\((?:old|oud)\b|\bas it (?:then )?(?:was|stood)\b"
    r"|\bancienne version\b|\bin der (?:bis|vor|alten|damals|früheren)\b"
    r"|\bdans sa (?:rédaction|version)\b|\ben su (?:anterior )?redacción\b"
    r"|\bв (?:прежней|старой|первоначальной) ред)"
)
_SCHEDULE = r"(?:schedule|annexe?|appendix|anlage|anhang|bijlage|anexo|allegato|phụ lục)"
_IN_A_SCHEDULE = re.compile(
    rf"\b{_SCHEDULE}(?:\s+[\dIVXA-Z]\w{{0,4}})?(?:\s*\([^()\n]{{1,40}}\))?['’s]{{0,2}}\s*[,:(]?\s*"
    r"(?:to the [^.,;\n]{1,60},?\s*)?$",
    re.IGNORECASE,
)
_OF_A_SCHEDULE = re.compile(
    rf"\s*,?\s*(?:of|in|to|de|der|van)\s+(?:the\s+|l['’])?{_SCHEDULE}\b", re.I
)
# Parts of an article that are not numbered; each has a first.
_UNNUMBERED = re.compile(
    r"\b(?:sentences?|phrases?|lines?|lignes?|limbs?|indents?|tirets?|half|halbs\w*|spiegelstrich)\b",
    re.IGNORECASE,
)
_FIRST = re.compile(r"\b(?:first|1st|première|1(?:ère|er)|premier|erster)\s+\w+\s*$", re.IGNORECASE)
_PLACE_BEFORE = re.compile(
    r"\b(?:in|under|for|en|au|aux|nach|im|pursuant to|according to)\s+(?:the\s+)?"
    r"(?P<place>(?-i:[A-ZÀ-Ý][\w-]+(?:\s+[A-ZÀ-Ý][\w-]+){0,3}))",
    re.IGNORECASE,
)
# What tells a law from another of the same name: "Act, Malaysia", "Act 709", "Act B.E. 2562".
_NAME_TOLD_APART = re.compile(
    r",\s+(?P<place>[A-ZÀ-Ý][\w-]+(?:\s+[A-ZÀ-Ý][\w-]+){0,3})"
    r"|\s+(?:[A-Z]\.\s?[A-Z]\.\s?)?(?P<number>\d{3,4})\b(?![-/(]?\w)"
)
# "section 9<RLM>9" is shown as section 99, and read as section 9.
_INVISIBLE = re.compile("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_NEW = re.compile(r"\b(?:nouveau|nouvel|nieuw|neue[nms]?)\s+$", re.IGNORECASE)


def doubt_of(
    citation: Citation, plain: str, law: str, language: str | None = None, number: str = ""
) -> str:
    """What suggests that a citation means something other than the article it fits; "" if nothing.

    Args:
        citation: In words.
        plain: The reply.
        law: The law that it names.
        language: BCP 47 tag of the law.
        number: The number of the article that it fits, as printed.
    """
    start, end = citation.group
    if _INVISIBLE.search(plain, max(0, start - 1), end + 1):
        return "there are invisible characters in it"
    before = plain[max(0, start - _NEAR) : start]
    if _FORMER.search(before) or _FORMER_BEHIND.match(plain, end, end + _NEAR):
        return "it may mean an earlier wording"
    printed = parse_number(number)
    in_body = printed is None or not printed.division
    if in_body and (_IN_A_SCHEDULE.search(before) or _OF_A_SCHEDULE.match(plain, end)):
        return "it is of a schedule"
    if _UNNUMBERED.search(citation.text) and not _FIRST.search(citation.text):
        return "which sentence it means was not looked up"
    if citation.code is not None and citation.law_hint is not None:
        return ""  # no name or place near it makes it another law
    begin, _ = sentence_around(plain, start, end)
    for place in _PLACE_BEFORE.finditer(plain, begin, start):
        if name := foreign_place(place["place"], law, language):
            return f"it speaks of {name}"
    near = NAME_OF_A_LAW.finditer(plain, max(0, start - _NEAR), end + _NEAR)
    doubts = (doubt_of_name(plain, *name.span(), law, language) for name in near)
    return next(filter(None, doubts), "")


def doubt_of_name(plain: str, start: int, end: int, law: str, language: str | None = None) -> str:
    """Why the law named plain[start:end] may be another of that name; "" if nothing says so."""
    ahead = plain[max(0, start - _NEAR) : start]
    if _FORMER.search(ahead) or _NEW.search(ahead):
        return "it may mean an earlier law, or a later one"
    apart = _NAME_TOLD_APART.match(plain, end)
    if apart and apart["place"] and (place := foreign_place(apart["place"], law, language)):
        return f"it speaks of {place}"
    if apart and apart["number"] and apart["number"] not in _words(law):
        return f"it names another law, {' '.join(plain[start : apart.end()].split())}"
    return ""


def is_paragraph(citation: Citation, plain: str, meant: Iterable[Article]) -> bool:
    """Whether "§ 2" is a paragraph, as in French, of an article that is named elsewhere.

    Args:
        citation: In words.
        plain: What was written.
        meant: The articles that it may name.
    """
    if plain[citation.group[0]] != "§" or citation.reference != "none":
        return False
    return any((each.language or "").lower().startswith("fr") for each in meant)


def _ids_before(position: int, cited: Sequence[CheckedCitation]) -> tuple[str, ...]:
    """The articles that the last citation before a position names."""
    before = [each for each in cited if each.end <= position and each.ids]
    return max(before, key=lambda each: each.end).ids if before else ()


def _state_of_paragraph(
    citation: Citation, ids: tuple[str, ...], of: dict[str, Article]
) -> tuple[CheckState, str]:
    """State of "§ 2" in an article that is named elsewhere: it must be printed there."""
    named = f"({citation.number}){citation.paragraph or ''}"
    if len(ids) == 1 and has_paragraph(of[ids[0]].number, of[ids[0]].text, named):
        return "verified", ""
    return "not checked", NO_PARAGRAPH


def more_of_name(citation: Citation, reply: str, plain: str) -> str:
    """How the name of a citation's law goes on after its hint; initials are names by themselves.

    It is read with its emphasis, which ends a name: "**Section 12 Housing Code** Tenants ...".
    """
    hint = citation.law_hint
    if hint is None or hint.isupper():
        return ""
    place = plain.find(hint, citation.group[1], citation.group[1] + _HINT_WITHIN)
    more = _NAME_GOES_ON.match(reply, place + len(hint)) if place >= 0 else None
    return more[0] if more else ""


def speaks_of_another_law(plain: str, citation: Citation, law: str, names: LawNames) -> bool:
    """Whether the sentence of a citation names a law that is not the one given.

    Args:
        plain: What was written.
        citation: One of its citations.
        law: The law that it is taken to mean.
        names: Names of the given laws.
    """
    begin, stop = sentence_around(plain, *citation.group)
    found = (match[0] for match in NAME_OF_A_LAW.finditer(plain, begin, stop))
    return any(
        law not in names.anywhere(name) or not is_name(name, law, names)
        for name in found
        if name not in GENERIC_NAMES
    )


def sentence_around(plain: str, start: int, end: int) -> tuple[int, int]:
    """The span of the sentence around a citation, as far as it is read."""
    begin = max(0, start - _SENTENCE)
    for before in SENTENCE_END.finditer(plain, begin, start):
        begin = before.end()
    after = SENTENCE_END.search(plain, end, end + _SENTENCE)
    return begin, after.start() if after else min(len(plain), end + _SENTENCE)


def name_goes_on(more: str, law: str, names: LawNames) -> bool:
    """Whether the capitals and years with which a name goes on stand in a law's name too."""
    known = _words(law)
    return law in names.anywhere(more) or all(
        any(_alike(word, each) for each in known)
        for written in re.findall(r"\w+", more)
        if not written[0].islower()
        for word in _words(written)
        if word not in _NO_NAME
    )


def is_name(hint: str, law: str, names: LawNames) -> bool:
    """Whether a hint is a name of a law, or has only words of its full name, in any ending."""
    hint = names.rest_of_name(hint, law)
    if _CHINESE.search(hint):
        return hint.strip("《》") in law
    if hint.isupper() and len(hint.split()) == 1:
        return True  # initials, which the resolver has told apart
    known = _words(law)
    for written in re.findall(r"\w+", hint):
        word = _words(written)[0]
        if word not in _NO_NAME and not any(_alike(word, each) for each in known):
            # The sentence may go on after the name, but a name continues with a capital.
            return str(written)[0].islower()
    return True


def _alike(word: str, known: str) -> bool:
    if word.isdigit() or known.isdigit():
        return word == known
    shorter = min(len(word), len(known))
    return known.startswith(word) or (shorter > 4 and word[: shorter - 1] == known[: shorter - 1])


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", folded(text.casefold()))
