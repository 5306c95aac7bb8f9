"""The sentences of a reply, and those of an article with their exceptions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from components.statutes.lexical import known_language
from components.statutes.replies.reference_marks import MARK

# A full stop behind these ends nothing: before a number, and anywhere.
_BEFORE_NUMBER = re.compile(
    r"\b(?:arts?|secs?|sects?|ss?|paras?|pars?|regs?|nos?|nr|ch|chap|abs|al|pp?|[LRD])\.\Z",
    re.IGNORECASE,
)
_ANYWHERE = re.compile(
    r"\b(?:cf|e\.g|i\.e|approx|ca|vs?|bzw|d\.\s?h|z\.\s?b|c\.\s?civ|c\.\s?trav|mrs?|ms|dr)\.\Z",
    re.IGNORECASE,
)
_LIST_NUMBER = re.compile(r"[\s\-*]*\d{1,2}\.")
_NUMBER = re.compile(r"\s*[*\d]")
_SMALL = re.compile(r"\s+[a-zß-ÿ]")
_END = re.compile(
    rf"(?P<stop>(?<![.!?])[.!?]++|(?<![。！？])[。！？]++)(?P<after>[\"'”’»)\]]*(?:\s*{MARK.pattern})*[.]?)"
    r"(?P<gap>\s+|\Z|(?<=[。！？])|(?<=[。！？]”))"
    r"|(?P<line>\n\s*)"
)

_RULE = re.compile(r"[-=*_\s|:]+\Z")
_BELOW_TABLE_HEAD = re.compile(r"\s*\|?[ \t]*:?-++[-:| \t]*+(?:\n|\Z)")
# A heading tells what follows; one with a verb of the law, or a full stop, tells the law.
_TELLS_LAW = re.compile(
    r"\b(?:must|shall|may|can|cannot|is|are|has|have|needs?|doit|doivent|peut|peuvent|est|sont"
    r"|muss|müssen|kann|können|darf|dürfen|ist|sind|hat|haben|debe|deben|puede|pueden|es|son|phải"
    r"|được)\b|应当|必须|可以|不得|[.!。！][\s#*_]*\Z"
)


def sentence_spans(
    reply: str,
    whole: Iterable[tuple[int, int]] = (),
    citations: Iterable[tuple[int, int]] = (),
) -> list[tuple[int, int]]:
    """Spans of the sentences of a reply, without the blanks around them.

    A line's end ends a sentence, but behind a colon. Citations behind a full stop, and by
    themselves in a sentence, belong to the sentence before.

    Args:
        reply: the text.
        whole: spans in which no sentence ends, such as quotations.
        citations: spans of citations.
    """
    kept = sorted(whole)
    spans: list[tuple[int, int]] = []
    start = 0
    for end in _END.finditer(reply):
        cut = end.start() if end["line"] is not None else end.end("after")
        if cut <= start or any(first < cut < last for first, last in kept):
            continue
        if end["line"] is not None and reply[start:cut].rstrip("*_ ").endswith((":", "：")):
            continue
        if end["line"] is None and end["stop"] == "." and not end["after"].strip():
            head = reply[start : end.end("stop")].strip()
            if _ANYWHERE.search(head[-12:]) or _LIST_NUMBER.fullmatch(head.rsplit("\n", 1)[-1]):
                continue
            if _BEFORE_NUMBER.search(head[-12:]) and _NUMBER.match(reply, cut):
                continue
            if _SMALL.match(reply, cut):
                continue
        spans.append((start, cut))
        start = cut
    spans.append((start, len(reply)))
    merged: list[tuple[int, int]] = []
    cited = sorted(citations)
    for first, last in (trimmed(reply, *span) for span in spans):
        if merged and first < last and _only_cites(reply, first, last, cited):
            merged[-1] = (merged[-1][0], last)
        elif first < last:
            merged.append((first, last))
    return merged


def _only_cites(reply: str, start: int, end: int, cited: list[tuple[int, int]]) -> bool:
    """Whether a sentence is nothing but citations, and the name of their law."""
    rest, position = "", start
    for first, last in cited:
        if start <= first < end:
            rest += reply[position:first]
            position = max(position, last)
    if position == start:
        return False
    rest += reply[position:end]
    bracketed = reply[start] in "([（" and reply[end - 1 : end] in ")].）"
    return bracketed or not any(character.isalnum() for character in rest)


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A span without the white space at its ends."""
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()))


def says_something(sentence: str, behind: str) -> bool:
    """Whether a sentence can assert law: no rule, no mere lead to what follows, no bare heading.

    Args:
        sentence: Of a reply.
        behind: The reply's text behind it.
    """
    lines = sentence.splitlines()
    return any(
        _asserts(line, "\n".join(lines[place + 1 :]) or behind) for place, line in enumerate(lines)
    )


def _asserts(line: str, behind: str) -> bool:
    line = line.strip()
    if _RULE.match(line) or not any(each.isalpha() for each in line):
        return False
    if line.rstrip("*_ ").endswith((":", "：")):
        return False
    if line.startswith("#"):
        return _TELLS_LAW.search(line) is not None and not line.rstrip("#*_ ").endswith(("?", "？"))
    return not (line.startswith("|") and _BELOW_TABLE_HEAD.match(behind))


# Words by which a sentence restricts the one before it.
_QUALIFYING = {
    "en": r"unless|except\w*|only|within|however|nevertheless|but|provided|subject to|until"
    r"|notwithstanding|despite|save (?:that|where|as|for)|without prejudice|(?:no|not) later than",
    "fr": r"sauf|à moins|excepté\w*|(?:par )?exception\w*|hormis|toutefois|cependant|néanmoins"
    r"|que si|seulement|uniquement|sous réserve|à (?:la )?condition|pourvu que|dans (?:un|le) délai"
    r"|dans les|(?:par )?dérogation|sans préjudice",
    "de": r"es sei denn|außer|ausgenommen|ausnahm\w*|sofern|soweit|nur|jedoch|binnen|innerhalb"
    r"|vorbehaltlich|abweichend|unbeschadet",
    "nl": r"tenzij|behalve|behoudens|mits|slechts|alleen|echter|binnen|uitgezonderd|uitzondering\w*"
    r"|onverminderd|in afwijking",
    "es": r"salvo|excepto|excepci\w*|a menos que|siempre que|s[óo]lo|únicamente|sin embargo"
    r"|no obstante|dentro del?|sin perjuicio",
    "vi": r"trừ|tuy nhiên|chỉ khi|với điều kiện|trong thời hạn",
}
_NOT_APPLYING = (
    r"(?:does|do|shall) not apply|ne s['’]appliqu\w+ (?:pas|ni)|(?:gilt|gelten) nicht"
    r"|niet van toepassing|no se aplica\w*|không áp dụng"
)
_QUALIFYING_CHINESE = "但|除|不适用|不得超过|另有|日内|年内|个月内|期限|只有|仅"
_OF_ANY_LANGUAGE = "|".join([*_QUALIFYING.values(), _NOT_APPLYING])
_QUALIFIES: dict[str | None, re.Pattern[str]] = {
    **{
        language: re.compile(rf"\b(?:{words}|{_NOT_APPLYING})\b", re.IGNORECASE)
        for language, words in _QUALIFYING.items()
    },
    "zh": re.compile(_QUALIFYING_CHINESE),
    None: re.compile(rf"\b(?:{_OF_ANY_LANGUAGE})\b|{_QUALIFYING_CHINESE}", re.IGNORECASE),
}
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_CLOSED = re.compile(r"[.!?。！？][\"'”’»)\]）」』*_]*\Z")
_LEADS_TO_LIST = re.compile(r"(?:[:：—–]|\s-)[*_]*\Z")
_RUNS_ON = re.compile(
    r"(?:[,;(，；、]|\b(?:and|or|et|ou|und|oder|en|of|y|o|và|hoặc))\Z", re.IGNORECASE
)
_ITEM = re.compile(
    r"[*_]*(?:(?P<section>§ ?\d{1,4}\w{0,3}\.?)|[(（](?P<figure>\d{1,3}[a-z]{0,2})[)）]"
    r"|(?P<point>\d{1,3}[a-z]?)\.(?=\s)|(?P<degree>\d{1,3})°|[(（](?P<letter>[^\W\d]{1,5})[)）]|(?P<closed>[^\W_]{1,4})[)）]"
    r"|(?P<roman>(?-i:[IVX]{1,4}))\s?(?:\.(?:\s?[-–—])?|[-–—])|(?P<lettered>[a-zđ])\.(?=\s)"
    r"|(?P<chinese>[一二三四五六七八九十]{1,3})、|(?P<dash>[-–—•·*])\s)\s*",
    re.IGNORECASE,
)
_PARAGRAPH_MARKS = ("section", "figure")  # what is behind them up to the next one is theirs


@dataclass(frozen=True, slots=True)
class ArticleSentence:
    """A sentence of an article.

    Attributes:
        start, end: Its span.
        paragraph: Which of the article's paragraphs it stands in, from 0.
        qualifies: Whether it may restrict the sentence before: it says "unless" or "within".
    """

    start: int
    end: int
    paragraph: int
    qualifies: bool


def article_sentences(article: str, language: str | None = None) -> list[ArticleSentence]:
    """The sentences of an article, in their order.

    A list is one sentence with what leads to it ("The tenant must:"), over all its lines and
    whatever its items hold. "(2)" and "§ 2" begin a paragraph, also within a line; where no number
    does, each line that follows a full stop is one.

    Args:
        article: Its text.
        language: BCP 47 tag of the article, where known.
    """
    spans: list[tuple[int, int, int]] = []  # start, end, paragraph
    paragraph = 0
    before = kind_of_lead = kind_of_paragraph = ""
    in_list = False
    for line in _LINE.finditer(article):
        kind = _kind(line[0].lstrip())
        for place, (first, last) in enumerate(sentence_spans(line[0])):
            start, end = line.start() + first, line.start() + last
            part = article[start:end]
            begins_line = place == 0
            closed = not spans or _CLOSED.search(before) is not None
            if begins_line and closed and kind in ("", "section", kind_of_lead):
                in_list = False
            runs_on = (
                begins_line
                and not closed
                and (part[0].islower() or kind != "" or _RUNS_ON.search(before) is not None)
            )
            behind_mark = not begins_line and _ITEM.fullmatch(before) is not None  # "§ 2."
            if in_list or runs_on or behind_mark:
                spans[-1] = (spans[-1][0], end, paragraph)
            else:
                own_kind = kind if begins_line else _kind(part)
                numbered = own_kind in _PARAGRAPH_MARKS
                ends = closed or article[spans[-1][1] : start].count("\n") > 1
                if numbered or (
                    begins_line and ends and (own_kind or kind_of_paragraph not in _PARAGRAPH_MARKS)
                ):
                    paragraph += len(spans) > 0
                    kind_of_paragraph = own_kind
                spans.append((start, end, paragraph))
            if not in_list and ((runs_on and kind) or _LEADS_TO_LIST.search(part)):
                in_list, kind_of_lead = True, kind
            before = part
    qualifying = _QUALIFIES[known_language(language)]
    return [
        ArticleSentence(start, end, of, qualifying.search(article, start, end) is not None)
        for start, end, of in spans
    ]


def _kind(text: str) -> str:
    """How the text that begins here is numbered: "figure" for "(2)"; "" where it is not."""
    item = _ITEM.match(text)
    return (item.lastgroup or "") if item else ""
