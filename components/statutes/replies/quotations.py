"""The quotations of a reply, and its whole check against the articles it was written from.

Each quotation mark opens or closes a quotation that is returned, is an apostrophe, or lies within a
quotation that is returned as one without an end. Text quoted without marks (in italics, say) is not
recognised.
"""

# No postponed annotations: Haystack's tools resolve those of a result where its names are unknown.
import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, Self

from pydantic import TypeAdapter

from components.statutes.article import Article
from components.statutes.citations.patterns import Forms
from components.statutes.replies.citations import CheckedCitation, CheckState, CitedReply
from components.statutes.replies.text import (
    MARK,
    ArticleSentence,
    PlainText,
    article_sentences,
    find_reference_marks,
    plain_text,
    says_something,
    sentence_spans,
    trimmed,
)

_FORMS = Forms("quotations")
_form = cache(_FORMS.compiled)
# What opens a quotation, and what closes it; writers mix straight and curved marks.
_PAIRS = {mark[0]: mark[1:] for mark in _FORMS.text("pairs").split("|")}
_SINGLE = "‘‚‛'’＇´❛"
_SINGLE_CLOSERS = f"{_SINGLE}❜"
_ONLY_DOUBLED = ",<"
_NESTING = "“«‹「『„❝｢﹁﹃⟪⌜⌞〔"
_MOST_UNPAIRED = 100  # each costs a search to the end of its paragraph
_LONGEST_SINGLE = 5_000  # characters; text full of apostrophes is not searched to its end at each
_SINGLE_CLOSING = re.compile(rf"[{_SINGLE_CLOSERS}](?![^\W_])")
_ALONE = "”」』›»❞〞〟｣﹂﹄⟫❯⌝⌟〕"  # may close a quotation that was never opened
_BLOCK = _FORMS.compiled("block", re.MULTILINE)
_LIST_REACH = 2_000  # characters before an indented block in which its list may begin
_FENCE = _FORMS.compiled("fence", re.MULTILINE | re.DOTALL)

SHORTEST_QUOTATION = 12
TOO_SHORT = f"shorter than {SHORTEST_QUOTATION} characters"
# In some styles the sentence's punctuation goes inside the closing mark.
_ENDING = ".,;:!?。，；：！？、 "


@dataclass(frozen=True, slots=True)
class CheckedQuotation:
    """A quotation of a reply.

    Attributes:
        start, end: Its span in the reply, with its marks.
        text: What is quoted.
        state: Whether it is, in one piece, in the article cited for it; "[...]" may stand for whole
            sentences of it.
        id: The article in which it was looked up; None if none is cited.
        passage: Its span in that article's text.
        why: What speaks against it; "" when verified.
    """

    start: int
    end: int
    text: str
    state: CheckState
    id: str | None = None
    passage: tuple[int, int] | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class CheckedStatement:
    """A sentence of a reply.

    Attributes:
        start, end: Its span in the reply.
        text: Its words.
        cited: Whether it contains a verified citation.
        uncited: Whether it makes a statement without naming any article.
        citations, quotations: Those within it, in order.
    """

    start: int
    end: int
    text: str
    cited: bool
    uncited: bool
    citations: tuple[CheckedCitation, ...]
    quotations: tuple[CheckedQuotation, ...]


@dataclass(frozen=True, slots=True)
class CheckedReply:
    """A reply, sentence by sentence.

    Attributes:
        text: As written.
        statements: Its sentences, in order.
    """

    text: str
    statements: tuple[CheckedStatement, ...]

    def to_dict(self) -> dict[str, Any]:
        """The reply in plain values, as JSON has them."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The reply that `to_dict` described."""
        return TypeAdapter(cls).validate_python(data)

    @property
    def citations(self) -> list[CheckedCitation]:
        """All citations, in order."""
        return [each for statement in self.statements for each in statement.citations]

    @property
    def quotations(self) -> list[CheckedQuotation]:
        """All quotations, in order."""
        return [each for statement in self.statements for each in statement.quotations]


class Quotation(NamedTuple):
    """A quotation in a reply.

    Attributes:
        start, end: Its span with its marks; a block quotation's lines, without a label in bold
            before it and a line with a dash after it, which are the writer's own words.
        text: What is quoted, without marks, and without reference marks at its end.
        closed: Whether it ends.
        source_end: Where the line with a dash after a block quotation ends, if there is one.
    """

    start: int
    end: int
    text: str
    closed: bool = True
    source_end: int | None = None


def find_quotations(reply: str) -> list[Quotation]:
    """What a reply puts between quotation marks, into a block or a fence, in its order.

    A block is a block quotation, or indented by four blanks.

    A quotation within a quotation is part of it. Marks pair within a paragraph. One that is not
    closed extends to the paragraph's end or, if its closing mark differs from the opening one, to
    the closing mark in a later paragraph. After 100 unpaired marks the rest of a paragraph is one
    quotation without an end.
    """
    blocks: list[Quotation] = []
    for pattern in (_BLOCK, _FENCE, _form("indented")):
        for match in pattern.finditer(reply):
            start, end = match.span("block")
            if any(each.start < end and start < each.end for each in blocks):
                continue
            if pattern is _FENCE:
                blocks.append(Quotation(start, end, _inner(match["inner"])))
            elif pattern is _BLOCK or not _continues_list(reply, match.start()):
                blocks.append(_of_block(reply, start, end))
    found = [each for each in blocks if each.text]
    blocks = sorted(found)
    position = 0
    for paragraph in _form("paragraph").finditer(reply):
        start, stop = max(position, paragraph.start()), paragraph.end()
        inside = [each for each in blocks if start < each.end and each.start < stop]
        edges = [start, *(edge for each in inside for edge in (each.start, each.end)), stop]
        for begin, end in zip(edges[::2], edges[1::2], strict=True):
            for quotation in _marked(reply, begin, end):
                if quotation.start >= position:
                    found.append(quotation)
                    position = quotation.end
    return sorted(found)


def _continues_list(reply: str, end: int) -> bool:
    """Whether the paragraph before a place has a list item in it, or is indented itself."""
    before = reply[max(0, end - _LIST_REACH) : end].rstrip()
    return any(map(_form("in_a_list").match, re.split(r"\n[ \t]*\n", before)[-1].split("\n")))


def _marked(reply: str, start: int, end: int) -> list[Quotation]:
    """The quotations between marks in a part of a paragraph."""
    found: list[Quotation] = []
    place = begun = start
    unpaired = 0
    while place < end:
        mark = reply[place]
        if (
            (mark not in _PAIRS and mark not in _ALONE)
            or (mark in _SINGLE and not _opens(reply, place))
            or (
                mark in _ONLY_DOUBLED
                and not (reply.startswith(mark * 2, place) and _opens(reply, place, width=2))
            )
            # inches
            or (mark in '"″ʺ' and reply[place - 1 : place].isdigit() and _closes(reply, place))
        ):
            place += 1
            continue
        width = _width(reply, place)
        ends_something = place > 0 and not reply[place - 1].isspace() and _closes(reply, place)
        only_closes = mark in _ALONE and (mark not in _PAIRS or ends_something)
        closing = None if only_closes else _closing(reply, place + width, mark, end)
        text = _inner(reply[place + width : closing[0]]) if closing else ""
        if closing and mark in _ALONE and not text:
            closing, only_closes = None, True  # both are closing marks, with nothing quoted between
        if closing is not None:
            if text:
                found.append(Quotation(place, closing[1], text))
            place = begun = closing[1]
            continue
        unpaired += not only_closes
        many = unpaired > _MOST_UNPAIRED
        if not many and ((mark in _SINGLE and mark != "‘") or mark in _ONLY_DOUBLED):
            place += width  # apostrophes are not a quotation without an end
        elif not many and _closes(reply, place) and reply[begun:place].strip():
            # The quotation that it closes was never opened: where it began is unknown.
            found.append(Quotation(begun, place + width, _inner(reply[begun:place]), closed=False))
            place = begun = place + width
        else:
            found.append(Quotation(place, end, _inner(reply[place + width : end]), closed=False))
            place = end
    return found


def _width(reply: str, place: int) -> int:
    """How often the mark there is repeated."""
    run = _form("doubled").match(reply, place)
    return len(run[0]) if run else 1


def _closing(reply: str, position: int, mark: str, end: int) -> tuple[int, int] | None:
    """Span of the mark that closes a quotation opened by `mark` before `position`."""
    if mark in _SINGLE:
        return _single_closing(reply, position, mark, end)
    closers, depth = _PAIRS[mark], 0
    if reply[position - 2 : position] == "``":
        closers = "`'"  # ``as TeX has it''
    place = position
    while place < end:
        character = reply[place]
        width = _width(reply, place)
        if mark in _ONLY_DOUBLED and (
            (character in "'’‘>" and width == 1)
            or (character in closers and reply[place - 1].isspace())
        ):
            pass  # an apostrophe, or what opens another one
        elif character in closers and not (character == mark and character in _NESTING):
            if depth == 0:
                return place, place + width
            depth -= 1
        elif character == mark and mark in _NESTING:
            depth += 1
        place += width
    return None


def _single_closing(reply: str, position: int, mark: str, end: int) -> tuple[int, int] | None:
    """As `_closing` for single marks, which are apostrophes too.

    The last one that can close it does, before the next one that can open: "'the tenants' right'"
        is one quotation. If the opening mark is followed by a blank, it is the first such mark.
    """
    within_blanks = reply[position : position + 1].isspace()
    stop = min(end, position + _LONGEST_SINGLE)
    if not _SINGLE_CLOSING.search(reply, position, stop):
        return None  # as nearly everywhere in text full of apostrophes
    last = spaced = None
    straight = depth = 0
    for place in range(position, stop):
        character = reply[place]
        straight += character == '"'
        depth += (character in "“«「") - (character in "”»」")
        # It may hold quotations within, but none that goes on after it.
        if character not in _SINGLE_CLOSERS or straight % 2 or depth:
            continue
        if character in _PAIRS[mark] and _closes(reply, place):
            if not reply[place - 1].isspace():
                last = place, place + 1
            elif within_blanks:
                return place, place + 1
            elif spaced is None:
                spaced = place, place + 1
        elif last is not None and _opens(reply, place):
            break
    if within_blanks:
        return None
    return last or (spaced if mark == "‘" else None)


def _opens(reply: str, place: int, width: int = 1) -> bool:
    """Whether a single mark can open: it stands after no letter, and before something.

    After a colon or a comma it opens before a letter, and between two blanks.
    """
    if _form("elision").match(reply, place):
        return False
    before, after = reply[max(0, place - 1) : place], reply[place + width : place + width + 1]
    if reply[place] == "‘":
        return not (before.isalnum() and after.isalnum())
    if not after or before.isalnum() or before in tuple(".!?)"):
        return False
    if before in tuple(",;:"):
        return after.isalnum()
    return not after.isspace() or (after != "\n" and before.isspace())


def _closes(reply: str, place: int) -> bool:
    """Whether a mark stands before no letter."""
    return not reply[place + 1 : place + 2].isalnum()


def _of_block(reply: str, start: int, end: int) -> Quotation:
    """What a block quotation quotes: without its signs, its label, its source, and marks around."""
    lines: list[tuple[int, int]] = []
    place = start
    while place < end:
        stop = reply.find("\n", place, end)
        stop = end if stop < 0 else stop
        signs = (_form("signs") if lines else _form("first_signs")).match(reply, place, stop)
        first = signs.end() if signs else place
        lines.append((first, first + len(reply[first:stop].rstrip())))
        place = stop + 1
    while len(lines) > 1 and lines[-1][0] >= lines[-1][1]:
        lines.pop()
    quoted = [reply[slice(*line)] for line in lines]
    source_end = None
    # An attribution is outside the quotation; a list of the law, with a dash in each line, is not.
    if (
        len(lines) > 1
        and _form("attribution").match(quoted[-1])
        and not _form("attribution").match(quoted[-2])
    ):
        source_end = lines.pop()[1]
        quoted.pop()
    label = _form("label").match(quoted[0])
    if label and (len(lines) > 1 or label.end() < len(quoted[0])):
        start = lines[0][0] + label.end()
        quoted[0] = quoted[0][label.end() :]
    text = _inner("\n".join(quoted))
    if text and text[0] in _PAIRS and text[-1] in _PAIRS[text[0]]:
        inner = text[1:-1]
        if not any(character in _PAIRS and character not in _SINGLE for character in inner):
            text = _inner(inner)
    return Quotation(start, max(start, lines[-1][1]), text, source_end=source_end)


def _inner(text: str) -> str:
    while marker := re.search(rf"(?:{MARK.pattern})\s*[.,;:]?\s*\Z", text[-80:]):
        text = text[: len(text) - len(text[-80:]) + marker.start()]
    return text.strip()


def check_reply(reply: str, sources: Sequence[Article]) -> CheckedReply:
    """Check every citation and quotation of a reply.

    - A citation is a reference mark ([1], [2, 3]), or one in words ("section 12 of the Housing
      Code"). It must name one of the sources.
    - A quotation must be one piece of the text of *the* article that is cited for it, from word to
      word, of 12 characters at least, after blanks, quotation marks and dashes are made alike.
      `_articles_of` says which article that is; of several, each must have it. "[...]" may stand
      for whole sentences, but for none that may restrict the sentence before ("unless", "within").
    - A list of sources that the reply adds ("[1]: Criminal Code, section 99") must name the article
      that was given under that number. Otherwise the number is not found.

    Args:
        reply: What was written.
        sources: The articles that it was written from, each id once.
    """
    quotations = find_quotations(reply)
    spans = [(each.start, each.end) for each in quotations]
    # Marks at the end of a quotation are the writer's, others within it the law's.
    marks = [
        mark
        for mark in find_reference_marks(reply)
        if not any(_quotes_mark(each, mark.end, reply) for each in quotations)
    ]
    citations = CitedReply(reply, sources, spans).checked(marks)
    cited = [(each.start, each.end) for each in citations]
    quoted = [(each.start, _with_source(each, cited)) for each in quotations]
    # A block may begin with blanks, but a sentence does not.
    begun = [(each, trimmed(reply, each.start, each.end)[0]) for each in quotations]
    by_id = {each.id: each for each in sources}
    statements = []
    for start, end in sentence_spans(reply, [*quoted, *cited], cited):
        own = [each for each in citations if start <= each.start < end]
        near = [each for each, begin in begun if start <= begin < end]
        cited_for = zip(near, _articles_of(near, own, reply), strict=True)
        checked = [_checked(quotation, *of, by_id) for quotation, of in cited_for]
        text = reply[start:end]
        cites = any(each.state == "verified" for each in own)
        uncited = not own and says_something(text, reply[end:])
        parts = (tuple(own), tuple(checked))
        statements.append(CheckedStatement(start, end, text, cites, uncited, *parts))
    return CheckedReply(reply, tuple(statements))


def check_quotations(text: str, sources: Sequence[Article]) -> list[CheckedQuotation]:
    """What a text quotes, each looked up as in `check_reply` in whichever source has it.

    Args:
        text: That names no sources of its own.
        sources: The articles that it may quote, each id once.
    """
    by_id = {each.id: each for each in sources}
    found = []
    for quotation in find_quotations(text):
        looked_up = [_checked(quotation, [id_], "", by_id) for id_ in by_id]
        # The best of them: "verified" comes after "not checked" and "not found".
        found.append(max(looked_up, key=lambda each: each.state))
    return found


def _quotes_mark(quotation: Quotation, end: int, reply: str) -> bool:
    """Whether a mark that ends there is within a quotation that continues after it."""
    within = quotation.closed and quotation.start < end < quotation.end
    return within and _has_words(MARK.sub("", reply[end : quotation.end]))


def _with_source(quotation: Quotation, cited: Sequence[tuple[int, int]]) -> int:
    """Where a quotation ends, with the line after it where that cites an article."""
    end, source_end = quotation.end, quotation.source_end
    if source_end is None or not any(end <= first < source_end for first, _ in cited):
        return end
    return source_end


def _checked(
    quotation: Quotation, ids: Sequence[str], doubt: str, sources: Mapping[str, Article]
) -> CheckedQuotation:
    """A quotation, looked up.

    Args:
        quotation: What is quoted.
        ids: The articles that it claims to be from.
        doubt: What makes them doubtful.
        sources: All articles, by id.
    """
    checked = CheckedQuotation(quotation.start, quotation.end, quotation.text, "not checked")
    # As written too, for the law itself may contain such signs: "R. *231-1".
    forms = [
        _form("left_out").sub("", plain_text(text).text)
        for text in (quotation.text, _form("emphasis").sub("", quotation.text))
    ]
    if len(forms[1].rstrip(_ENDING)) < SHORTEST_QUOTATION:
        return replace(checked, why=TOO_SHORT)
    if not quotation.closed:
        return replace(checked, why="its quotation marks do not pair")
    passages = {id_: _passage(each, forms) for id_, each in sources.items()}
    having = [id_ for id_ in ids if passages[id_]]
    id_ = next(iter([*having, *ids]), None)
    if id_ is not None and len(having) == len(ids):
        return replace(checked, state="verified", id=id_, passage=passages[id_])
    source = next((sources[each] for each in having or sources if passages[each]), None)
    place = f"it stands in {source.law}, {source.number}" if source else ""
    if having:
        return replace(checked, id=id_, why=f"several articles are cited for it; {place}")
    if place and id_ is None:
        return replace(checked, why=f"{doubt}; {place}")
    why = f"{place}, not in the article cited" if place else "none of the articles says it so"
    return replace(checked, state="not found", id=id_, why=why)


def _passage(source: Article, forms: Sequence[str]) -> tuple[int, int] | None:
    """Where an article has the words of a quotation, in the first of its forms that it has."""
    article = plain_text(source.text)
    found = (
        article.find(words)
        or article.find(words.rstrip(_ENDING))
        or _of_sentences(source, article, _form("sentences_left_out").split(words))
        for words in forms
    )
    return next(filter(None, found), None)


def _of_sentences(
    source: Article, article: PlainText, parts: Sequence[str]
) -> tuple[int, int] | None:
    """The span of parts of an article between which whole sentences are left out, or None."""
    if len(parts) < 2:
        return None
    sentences = article_sentences(source.text, source.language)
    spans: list[tuple[int, int]] = []
    begin = 0
    for part in parts:
        span = article.find(part, begin)
        while span and spans and not _begins_sentence(source.text, sentences, span[0]):
            span = article.find(part, span[0] + 1)
        if span is None or not part:
            return None
        if spans and not _may_be_cut_behind(source.text, sentences, spans[-1][1]):
            return None
        spans.append(span)
        begin = span[1]
    return spans[0][0], spans[-1][1]


def _begins_sentence(article: str, sentences: Sequence[ArticleSentence], place: int) -> bool:
    return any(
        each.start <= place < each.end and not _has_words(article[each.start : place])
        for each in sentences
    )


def _may_be_cut_behind(article: str, sentences: Sequence[ArticleSentence], place: int) -> bool:
    """Whether a sentence ends there, and the next one does not restrict it."""
    return any(
        each.start < place <= each.end
        and not _has_words(article[place : each.end])
        and not behind.qualifies
        for each, behind in pairwise(sentences)
    )


def _has_words(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _articles_of(
    quotations: Sequence[Quotation], citations: Sequence[CheckedCitation], reply: str
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Ids of the article cited for each quotation of a sentence, and what makes it doubtful.

    It is the citation right after the quotation (or after a second one joined to it), else the
    last one before it, else the only one of the sentence. If two name different articles, it is
    unknown.

    Args:
        quotations: Quotations of the sentence, in order.
        citations: Citations of the sentence, in order.
        reply: What was written.

    Returns:
        For each quotation the ids, () in doubt; and the doubt, "" where there is none.
    """
    attached = _attached(quotations, citations, reply)
    taken = {id(each) for each in attached if each is not None}
    free = [each for each in citations if id(each) not in taken]
    # After the last quotation, and attached to none.
    trailing = [each for each in free if quotations and each.start >= quotations[-1].end]
    for quotation, own in zip(quotations, attached, strict=True):
        before = next((each for each in reversed(free) if each.end <= quotation.start), None)
        claims = [each for each in (own, before, *trailing) if each is not None]
        if not claims:
            # A citation attached to another quotation does not count for this one.
            claims = [each for each in free if each.start >= quotation.end][:1]
        unsure = next((each for each in claims if each.state != "verified"), None)
        if not claims or unsure:
            why = f"{unsure.text}, which is cited for it, is {unsure.state}" if unsure else ""
            yield (), why or "no article is cited for it"
            continue
        shared = set(claims[0].ids).intersection(*(each.ids for each in claims))
        doubt = "" if shared else "several articles are cited for it"
        yield tuple(id_ for id_ in claims[0].ids if id_ in shared), doubt


def _attached(
    quotations: Sequence[Quotation], citations: Sequence[CheckedCitation], reply: str
) -> list[CheckedCitation | None]:
    """The citation right after each quotation, or after the next where "and" joins the two."""
    starts = [each.start for each in citations]
    attached: list[CheckedCitation | None] = [None] * len(quotations)
    for place in reversed(range(len(quotations))):
        quotation = quotations[place]
        next_one = bisect_left(starts, quotation.end)
        if next_one and citations[next_one - 1].start > quotation.start:
            attached[place] = citations[next_one - 1]  # right before the closing mark
        elif next_one < len(citations) and _form("attaching").fullmatch(
            reply, quotation.end, citations[next_one].start
        ):
            attached[place] = citations[next_one]
        elif place + 1 < len(quotations) and _form("joining").fullmatch(
            reply, quotation.end, quotations[place + 1].start
        ):
            attached[place] = attached[place + 1]
    return attached
