"""The sentences of a reply, and those of an article with their exceptions."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from components.statutes.languages import known_language

# Reference marks in a reply are [1], [1, 3], [2-4], [1 and 2], 【9†source】, ⁹.
# The match is possessive: a reply can hold thousands of blanks after "[1".
_AND = r"(?:[,;、/&\s–-]|and|or|und|oder|et|ou|和|to|à|bis)++"
_NUMBER = r"[#^]?\d{1,5}"
# After these a raised figure is a power, as in m², mg/m³ and 10³.
_POWER = "".join(
    f"(?<!(?<!{before}){unit})"
    for before, unit in (
        (r"\d", "10"),
        (r"[^\W\d_]", "m"),
        (r"[^\W\d_]", "[cdhkmµμ]m"),
        (r"[^\W\d_]", "(?:ft|yd)"),
    )
)
# Emphasis, escapes and invisible characters may surround a mark.
_LOOSE = r"[\s*_\\\u200b-\u200d\u2060\ufeff]*"
MARK = re.compile(
    rf"[\[［【{{]{_LOOSE}(?P<list>{_NUMBER}(?:{_AND}{_NUMBER})*){_LOOSE}(?:†[^\]】]{{0,40}})?"
    r"[\]］】}]"
    rf"|{_POWER}(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹]{{1,3}})"
)
_UNREAD = re.compile(r"[\[［【{][^\[\]【】［］{}\n]{0,24}\d[^\[\]【】［］{}\n]{0,24}[\]］】}]")
_ITEM = re.compile(r"(\d+)(?:\s?(?:[-–]|to|à|bis)\s?[#^]?(\d+))?")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_LONGEST_RANGE = 50


@dataclass(frozen=True, slots=True)
class ReferenceMark:
    """One mark.

    Attributes:
        start, end: Its span in the reply, brackets included.
        numbers: The numbers that it names; of a range that is too long or turned round, its ends.
            () for brackets with a number among words, whose meaning is unknown.
    """

    start: int
    end: int
    numbers: tuple[int, ...]


def find_reference_marks(reply: str) -> Iterator[ReferenceMark]:
    """The reference marks of a reply, in order."""
    position = 0
    # Of two that begin at the same place min takes the first, which can be read.
    while found := min(
        filter(None, (MARK.search(reply, position), _UNREAD.search(reply, position))),
        key=lambda match: match.start(),
        default=None,
    ):
        position = found.end()
        numbers: tuple[int, ...] = ()
        if found.re is MARK:
            numbers = _numbers(found["list"] or found["raised"].translate(_RAISED))
        yield ReferenceMark(found.start(), found.end(), numbers)


def _numbers(listed: str) -> tuple[int, ...]:
    numbers: dict[int, None] = {}
    for item in _ITEM.finditer(listed):
        first = int(item[1])
        last = int(item[2]) if item[2] else first
        fits = 0 <= last - first < _LONGEST_RANGE
        numbers |= dict.fromkeys(range(first, last + 1) if fits else (first, last))
    return tuple(numbers)


# Single or double, straight or curved: a quotation within a quotation changes its marks.
QUOTATION_MARKS = "\"'“”„‟‘’‚‛«»‹›「」『』＂＇`´′″❮❯ˮ⌜⌝⌞⌟〔〕"
_DASHES = "-‐‑‒–—―−﹘﹣－"
# French puts a blank there, other languages do not, and copied law may do either.
_NO_BLANK_BEFORE = "-»›;:!?%"
_CLUSTER = re.compile(r"\s+|\S", re.DOTALL)
# "non-|refundable", "(un)|lawful", "-|50"; and "non|-refundable".
_JOINED_BEFORE = re.compile(rf"(?:\w[{_DASHES}]|\w\)|(?:^|\s|\()[-−])\Z")
# A line may end after the hyphen: "non-\n|refundable", "non|-\nrefundable".
_BROKEN_BEFORE = re.compile(rf"(\w[{_DASHES}])\s+\Z")
_BROKEN_AFTER = re.compile(rf"^([{_DASHES}])\s+")
_JOINED_AFTER = re.compile(rf"[{_DASHES}]\w")
# "1,|000", "1 |000", "12:|30", "1/|50", on either side of what stands between the figures.
# "1·|5" is how older British statutes write it, "3 1⁄|2" and "1 |½" a fraction, "10^|6" a power.
_BETWEEN = r"[.,:/'’_·⁄^]"
_BLANK = r"[^\S\n]"
_FRACTION = r"(?:[¼½¾⅐-⅞]|\d{1,2}[/⁄]\d)"
_DIGITS_BEFORE = re.compile(rf"\d{_BETWEEN}?\Z|(?<!\d)\d{{1,3}}{_BLANK}\Z")
_DIGITS_AFTER = re.compile(rf"{_BETWEEN}?\d|{_BLANK}?(?:\d{{3}}(?!\d)|{_FRACTION})")
_NEGATIONS = "不未无無非毋勿"
_NUMERALS = "〇零一二三四五六七八九十百千万亿萬億两兩廿卅壹贰貳叁參肆伍陆陸柒捌玖拾佰仟"
# "n'|oblige" in French, and "can|'t".
_NOT_BEFORE = re.compile(r"(?:^|\W)n['’ʼ]\Z", re.IGNORECASE)
_NOT_AFTER = re.compile(r"['’ʼ]t(?!\w)", re.IGNORECASE)
# They show what follows in another order: "14" as "41".
_REORDERING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
# So do these in a text without a letter that is written from right to left: "3<RLM>6" is shown as
# "63". Hebrew and Arabic have them for punctuation, where copies may lose them.
_TURNING = "\u200f\u061c"
_RIGHT_TO_LEFT = re.compile("[\u05d0-\u05ea\u0620-\u064a\u066e-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")


@dataclass(frozen=True, slots=True)
class PlainText:
    """A text in its form for comparison, with the position of each character in the original.

    Attributes:
        original: The text as it is.
        text: Unicode's NFC; every run of blanks a space, every quotation mark `'`, every run of
            dashes `-`; without invisible characters but those that reorder what is shown, and
            without blanks next to a dash, inside guillemets and before `;`, `:`, `!`, `?` and `%`.
        starts, ends: `[len(text)]`, each character's span in the original.
    """

    original: str
    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def find(self, words: str, begin: int = 0) -> tuple[int, int] | None:
        """Span in the original of the first occurrence of some words from `begin` on, or None.

        They must begin and end between words and numbers: "lawful to keep" does not stand in
        "unlawful to keep", "refundable" not in "non-refundable", "000 crowns" not in "1,000 crowns"
        or "1 000 crowns", "50 degrees" not in "-50 degrees", "oblige" not in "n'oblige", 得扣留 not
        in 不得扣留, and 十日 not in 二十日.

        Args:
            words: As made by `plain_text`.
            begin: A place in the original.
        """
        place = self.text.find(words, bisect_left(self.starts, begin))
        while words and place >= 0:
            span = self.starts[place], self.ends[place + len(words) - 1]
            if not _cuts(self.original, span[0]) and not _cuts(self.original, span[1]):
                return span
            place = self.text.find(words, place + 1)
        return None


def _cuts(text: str, place: int) -> bool:
    """Whether a cut at a place of a text goes through a word or a number."""
    before, after = _seen(text[max(0, place - 16) : place]), _seen(text[place : place + 16])
    before, after = _BROKEN_BEFORE.sub(r"\1", before)[-8:], _BROKEN_AFTER.sub(r"\1", after)[:8]
    if not before or not after:
        return False
    word_before, word_after = _spaced(before[-1]), _spaced(after[0])
    numeral_before = before[-1] in _NUMERALS or before[-1].isdigit()
    return bool(
        (word_before and word_after)
        or (_JOINED_BEFORE.search(before) and word_after)
        or (word_before and _JOINED_AFTER.match(after))
        or (_DIGITS_BEFORE.search(before) and _DIGITS_AFTER.match(after))
        or (_NOT_BEFORE.search(before) and after[0].isalnum())
        or (before[-1].isalnum() and _NOT_AFTER.match(after))
        or (numeral_before and after[0] in _NUMERALS)
        or (before[-1] in _NEGATIONS and not after[0].isspace())
    )


def _seen(text: str) -> str:
    """A text without invisible characters: "un\u00adlawful" is one word."""
    return "".join(each for each in text if unicodedata.category(each) != "Cf")


def plain_text(text: str) -> PlainText:
    """A text as it is compared."""
    characters: list[tuple[str, int, int]] = []
    kept = _REORDERING if _RIGHT_TO_LEFT.search(text) else _REORDERING + _TURNING
    for start, end in _clusters(text):
        for character in _visible(text[start:end], kept):
            if characters and character in " -" and characters[-1][0] == character:
                characters[-1] = (character, characters[-1][1], end)
            elif characters and character == " " and characters[-1][0] in "-«‹":
                continue  # a blank there is only typesetting
            else:
                if character in _NO_BLANK_BEFORE and characters and characters[-1][0] == " ":
                    characters.pop()
                    if character == "-" and characters and characters[-1][0] == "-":
                        characters[-1] = (character, characters[-1][1], end)
                        continue
                characters.append((character, start, end))
    while characters and characters[-1][0] == " ":
        characters.pop()
    if characters and characters[0][0] == " ":
        del characters[0]
    return PlainText(
        text,
        "".join("'" if each in QUOTATION_MARKS else each for each, _, _ in characters),
        tuple(start for _, start, _ in characters),
        tuple(end for _, _, end in characters),
    )


def _clusters(text: str) -> list[tuple[int, int]]:
    """Spans of the runs of blanks, and of the other characters with their combining marks."""
    spans: list[tuple[int, int]] = []
    for match in _CLUSTER.finditer(text):
        start, end = match.span()
        if spans and unicodedata.combining(match[0][0]):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans


def _visible(cluster: str, kept: str) -> str:
    if cluster.isspace():
        return " "
    if cluster in _DASHES:
        return "-"
    if cluster == "…":
        return "..."
    composed = unicodedata.normalize("NFC", cluster)
    return "".join(each for each in composed if each in kept or unicodedata.category(each) != "Cf")


def _spaced(character: str) -> bool:
    """Whether the character belongs to a word of a script that puts blanks between words."""
    return character.isalnum() and not unicodedata.name(character, "").startswith(
        ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")
    )


# A full stop after these ends nothing: before a number, and anywhere.
_BEFORE_NUMBER = re.compile(
    r"\b(?:arts?|secs?|sects?|ss?|paras?|pars?|regs?|nos?|nr|ch|chap|abs|al|pp?|[LRD])\.\Z",
    re.IGNORECASE,
)
_ANYWHERE = re.compile(
    r"\b(?:cf|e\.g|i\.e|approx|ca|vs?|bzw|d\.\s?h|z\.\s?b|c\.\s?civ|c\.\s?trav|mrs?|ms|dr)\.\Z",
    re.IGNORECASE,
)
_LIST_NUMBER = re.compile(r"[\s\-*]*\d{1,2}\.")
_STARRED_NUMBER = re.compile(r"\s*[*\d]")
_SMALL = re.compile(r"\s+[a-zß-ÿ]")
_END = re.compile(
    rf"(?P<stop>(?<![.!?])[.!?]++|(?<![。！？])[。！？]++)(?P<after>[\"'”’»)\]]*(?:\s*{MARK.pattern})*[.]?)"
    r"(?P<gap>\s+|\Z|(?<=[。！？])|(?<=[。！？]”))"
    r"|(?P<line>\n\s*)"
)

_RULE = re.compile(r"[-=*_\s|:]+\Z")
_BELOW_TABLE_HEAD = re.compile(r"\s*\|?[ \t]*:?-++[-:| \t]*+(?:\n|\Z)")
# A heading announces what follows; with a verb of law, or a full stop, it asserts law.
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

    The end of a line ends a sentence, except after a colon. Citations after a full stop that are
    alone in a sentence belong to the sentence before.

    Args:
        reply: the text.
        whole: spans in which no sentence ends, such as quotations.
        citations: spans of citations.
    """
    kept = _apart(whole)
    starts = [first for first, _ in kept]
    spans: list[tuple[int, int]] = []
    start = 0
    for end in _END.finditer(reply):
        cut = end.start() if end["line"] is not None else end.end("after")
        inside = bisect_left(starts, cut) - 1
        if cut <= start or (inside >= 0 and cut < kept[inside][1]):
            continue
        if end["line"] is not None and reply[start:cut].rstrip("*_ ").endswith((":", "：")):
            continue
        if end["line"] is None and end["stop"] == "." and not end["after"].strip():
            head = reply[start : end.end("stop")].strip()
            if _ANYWHERE.search(head[-12:]) or _LIST_NUMBER.fullmatch(head.rsplit("\n", 1)[-1]):
                continue
            if _BEFORE_NUMBER.search(head[-12:]) and _STARRED_NUMBER.match(reply, cut):
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


def _apart(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, those that overlap joined."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if joined and first < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined


def _only_cites(reply: str, start: int, end: int, cited: list[tuple[int, int]]) -> bool:
    """Whether a sentence is nothing but citations, and the name of their law."""
    rest, position = "", start
    for first, last in cited[bisect_left(cited, (start, 0)) :]:
        if first >= end:
            break
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
    """Whether a sentence can assert law: not a ruler, a mere introduction or a bare heading.

    A line that ends in a colon introduces what follows; with nothing after it, it asserts.

    Args:
        sentence: A sentence of a reply.
        behind: The reply's text after it.
    """
    lines = sentence.splitlines()
    return any(
        _asserts(line, "\n".join(lines[place + 1 :]) or behind) for place, line in enumerate(lines)
    )


def _asserts(line: str, behind: str) -> bool:
    line = line.strip()
    if _RULE.match(line) or not any(each.isalpha() for each in line):
        return False
    if line.rstrip("*_ ").endswith((":", "：")) and behind.strip():
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
_LIST_ITEM = re.compile(
    r"[*_]*(?:(?P<section>§ ?\d{1,4}\w{0,3}\.?)|[(（](?P<figure>\d{1,3}[a-z]{0,2})[)）]"
    r"|(?P<point>\d{1,3}[a-z]?)\.(?=\s)|(?P<degree>\d{1,3})°|[(（](?P<letter>[^\W\d]{1,5})[)）]|(?P<closed>[^\W_]{1,4})[)）]"
    r"|(?P<roman>(?-i:[IVX]{1,4}))\s?(?:\.(?:\s?[-–—])?|[-–—])|(?P<lettered>[a-zđ])\.(?=\s)"
    r"|(?P<chinese>[一二三四五六七八九十]{1,3})、|(?P<dash>[-–—•·*])\s)\s*",
    re.IGNORECASE,
)
_PARAGRAPH_MARKS = ("section", "figure")  # the text up to the next one belongs to them


@dataclass(frozen=True, slots=True)
class ArticleSentence:
    """A sentence of an article.

    Attributes:
        start, end: Its span.
        paragraph: Its paragraph in the article, from 0.
        qualifies: Whether it may restrict the sentence before: it says "unless" or "within".
    """

    start: int
    end: int
    paragraph: int
    qualifies: bool


def article_sentences(article: str, language: str | None = None) -> list[ArticleSentence]:
    """The sentences of an article, in order.

    A list is one sentence with its introduction ("The tenant must:"), over all its lines and
    whatever its items contain. "(2)" and "§ 2" begin a paragraph, even within a line; if there are
    no such numbers, each line after a full stop is a paragraph.

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
            behind_mark = not begins_line and _LIST_ITEM.fullmatch(before) is not None  # "§ 2."
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
    qualifying = _QUALIFIES.get(known_language(language), _QUALIFIES[None])
    return [
        ArticleSentence(start, end, of, qualifying.search(article, start, end) is not None)
        for start, end, of in spans
    ]


def _kind(text: str) -> str:
    """How the text that begins here is numbered: "figure" for "(2)"; "" if it is not."""
    item = _LIST_ITEM.match(text)
    return (item.lastgroup or "") if item else ""
