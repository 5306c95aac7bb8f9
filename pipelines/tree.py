"""python -m pipelines.tree: draw an article in its place in the law.

An article in its law: its surroundings, what a graph network attends to there, and the picture.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from numpy.typing import NDArray

from components.models.folder import GRAPH_PART, MANIFEST_FILE, find_model, read_manifest
from components.statutes.article import Article, spoken_number
from components.statutes.corpus import StatuteCorpus
from components.statutes.extras import needs_extra
from components.statutes.graph import EDGE_KINDS, CrossReferences, cross_references
from components.statutes.tree import LegislativeTree
from pipelines import command_line
from pipelines.checking import LoadingError
from pipelines.command_line import DONE, say


class Citations:
    """Which articles of a corpus cite which, both ways."""

    def __init__(self, references: CrossReferences) -> None:
        """Sorts the citations by either side."""
        self._cites: dict[int, list[int]] = {}
        self._cited: dict[int, list[int]] = {}
        for citing, cited in references.pairs:
            self._cites.setdefault(citing, []).append(cited)
            self._cited.setdefault(cited, []).append(citing)

    def cited_in(self, position: int) -> list[int]:
        """Positions of the articles that this one cites, ascending."""
        return self._cites.get(position, [])

    def citing(self, position: int) -> list[int]:
        """Positions of the articles that cite this one, ascending."""
        return self._cited.get(position, [])


@dataclass(frozen=True, slots=True)
class Division:
    """A law, or a division of one.

    Attributes:
        label: Title of the law, heading of the division.
        place: Its place, from 1, among the divisions of the same parent; laws count likewise.
        of: How many these are.
        articles: How many articles it has, including those in its divisions.
    """

    label: str
    place: int
    of: int
    articles: int


class LawStructure:
    """The tree of a corpus, with the number of articles under each node.

    Attributes:
        tree: The tree.
        articles_below: Articles under each node above the articles, int64 `[n_inner]`.
    """

    def __init__(self, articles: Sequence[Article]) -> None:
        """Reads where the articles are.

        Args:
            articles: In the corpus's order; their texts are not read.
        """
        self.tree = LegislativeTree(articles)
        n_inner = self.tree.n_nodes - self.tree.n_articles
        above = self.tree.ancestors[self.tree.article_node]
        self.articles_below: NDArray[np.int64] = np.bincount(
            above[(above >= 0) & (above < n_inner)], minlength=n_inner
        )

    def division(self, node: int) -> Division:
        """The law or division at a node."""
        tree = self.tree
        beside = [n for n in tree.children(int(tree.parent[node])) if tree.kind[n] != "article"]
        return Division(
            label=tree.label[node],
            place=beside.index(node) + 1,
            of=len(beside),
            articles=int(self.articles_below[node]),
        )

    def siblings(self, position: int) -> list[int]:
        """Positions of the articles directly below the same division, including this one."""
        return sorted([position, *self.tree.siblings(position)])


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """An article in its place.

    Attributes:
        article: The article.
        path: The law, then the divisions down to the article's own.
        siblings: Articles directly below the same division in the law's order, including this one.
        previous: The article before it in its law, in whatever division.
        next: The one after it.
        cites: Articles that its text cites, in the corpus's order.
        cited_by: Articles whose text cites it, in the corpus's order.
    """

    article: Article
    path: tuple[Division, ...]
    siblings: tuple[Article, ...]
    previous: Article | None
    next: Article | None
    cites: tuple[Article, ...]
    cited_by: tuple[Article, ...]


def neighbourhood(corpus: StatuteCorpus, position: int) -> Neighbourhood:
    """The neighbourhood of the article at a position, after reading the citations in every text."""
    citations = Citations(cross_references(corpus))
    return neighbourhood_in(LawStructure(corpus), citations, position, corpus.__getitem__)


def neighbourhood_in(
    structure: LawStructure,
    citations: Citations | None,
    position: int,
    article_at: Callable[[int], Article],
) -> Neighbourhood:
    """The neighbourhood of the article at a position, in a given structure.

    Args:
        structure: Of the whole corpus.
        citations: Of the whole corpus; None leaves them out.
        position: Of the article.
        article_at: Returns the article at a position; the text is only needed for articles shown
            with their first words.
    """
    tree = structure.tree
    previous, next_ = tree.previous(position), tree.next(position)
    return Neighbourhood(
        article=article_at(position),
        path=tuple(structure.division(node) for node in tree.path(position)[:-1]),
        siblings=tuple(map(article_at, structure.siblings(position))),
        previous=None if previous is None else article_at(previous),
        next=None if next_ is None else article_at(next_),
        cites=tuple(map(article_at, citations.cited_in(position) if citations else ())),
        cited_by=tuple(map(article_at, citations.citing(position) if citations else ())),
    )


@dataclass(frozen=True, slots=True)
class Attention:
    """Shares of attention that add up to 1, each None if the network has no such edge.

    Attributes:
        own: The article's own vector.
        division: The division or law right above it.
        previous: The article before it.
        next: The one after it.
        cites: By id, the articles that it cites.
        cited_by: By id, the articles that cite it.
    """

    own: float | None
    division: float | None
    previous: float | None
    next: float | None
    cites: Mapping[str, float]
    cited_by: Mapping[str, float]


def read_attention(
    corpus: StatuteCorpus, position: int, model: str, say: Callable[[str], object]
) -> tuple[Attention | None, str]:
    """The attention of the article at a position in the last layer, mean over heads.

    Only what the network sees from this article is encoded.

    Args:
        corpus: The whole corpus.
        position: Of the article.
        model: Folder or name of the model.
        say: Takes lines for the user.

    Returns:
        The shares, or None if the model has none; and a sentence on where they come from, or why
        there are none.

    Raises:
        ModelError: The model cannot be loaded.
    """
    folder = find_model(model)
    name = Path(model).name
    if not (folder / MANIFEST_FILE).exists() or GRAPH_PART not in read_manifest(folder).parts:
        return None, f"Place alone: the model {name} has no graph network."
    # Imported here: a picture of the place alone should not wait for the model libraries.
    with needs_extra("The attention of a graph network", "models"):
        import torch

    from components.models.graph import GraphTensors, LegislativeGraphEncoder, graph_for, node_texts
    from components.models.registry import shared_model

    network = LegislativeGraphEncoder.load(folder / GRAPH_PART)
    if network.kind != "gatv2":
        return None, f"Place alone: the graph network of {name} ({network.kind}) has no attention."
    whole = graph_for(network, corpus)
    article = whole.article_node(position)
    nodes = whole.neighbourhood([article], network.layers)
    graph = whole.part(nodes)
    articles = [corpus[int(node) - whole.n_inner] for node in nodes[graph.n_inner :]]
    encoder = shared_model(model)
    say(f"Encoding the {graph.n_nodes:,} texts that the network sees from here")
    features = encoder.encode_articles(list(node_texts(graph, articles, encoder.text_rule)))
    tensors = GraphTensors.of(graph, torch.device("cpu"))
    shares = network.attention(features, tensors).mean(dim=1).numpy()
    here = nodes.tolist().index(article)
    found: dict[str, dict[str, float]] = {kind: {} for kind in EDGE_KINDS}
    for edge in (graph.target == here).nonzero()[0]:
        source = int(graph.source[edge]) - graph.n_inner
        # Divisions stand before the articles and have no id.
        name_of_source = articles[source].id if source >= 0 else ""
        found[EDGE_KINDS[graph.kind[edge]]][name_of_source] = float(shares[edge])
    own, division, before, after = (
        next(iter(found[kind].values()), None) for kind in ("self", "down", "previous", "next")
    )
    attention = Attention(own, division, before, after, found["cites"], found["cited"])
    return attention, (
        f"Percentages and line widths: the attention that the article pays in the last of "
        f"{network.layers} layers of the graph network of {name}, mean over {network.heads} heads; "
        "together they are 100%. An article without a percentage is not joined to it directly."
    )


# The picture: rows of fixed height, so that the lines between them need no measuring.


@cache
def english_texts() -> Mapping[str, Any]:
    """The words of a picture; of two in a list, the first is singular."""
    texts: dict[str, Any] = json.loads(files("pipelines").joinpath("tree.json").read_text("utf-8"))
    return texts


@dataclass(frozen=True)
class Wording:
    """How a picture speaks. The defaults are English.

    Attributes:
        lang: BCP 47 tag.
        number: Writes a whole number.
        day: Writes a date.
        zero_is_one: Whether nouns after 0 are singular.
        on: The day on which articles are marked as repealed; None marks none.
        texts: Those of `tree.json` in the language; values replace the names in braces.
    """

    lang: str = "en"
    number: Callable[[int], str] = "{:,}".format
    day: Callable[[date], str] = date.isoformat
    zero_is_one: bool = False
    on: date | None = None
    texts: Mapping[str, Any] = field(default_factory=english_texts)


_LONGEST_TEXT = 1500  # characters looked at
_LONGEST_TITLE = 400
_SHOWN_SIBLINGS = 9
SHOWN = 5  # citations drawn in either direction

# Heights in CSS pixels.
_ROW, _ASIDE, _GAP_ROW = 32, 54, 30
_LINE, _FRAME, _OWN = 21, 26, 30  # of the article's text, of its box, of its own share
_SHORT, _FEW, _MOST = 150, 3, 5  # characters of a short text, lines of one, lines of others
_HEADER, _CARD, _CARD_GAP, _REST, _BETWEEN = 34, 74, 10, 24, 14
_GUTTER, _NARROW_GUTTER = 120, 56  # width for the lines, with citations and without
_THINNEST, _THICKEST = 1.6, 14.0


def beginning(article: Article) -> str:
    """The first words of an article, more than any picture shows."""
    return " ".join(article.text[:_LONGEST_TEXT].split())


def window(count: int, here: int) -> tuple[int, int]:
    """Start and end of the siblings to draw: the nearest ones; never leaves out just one."""
    if count <= _SHOWN_SIBLINGS + 1:
        return 0, count
    first = min(max(here - _SHOWN_SIBLINGS // 2, 0), count - _SHOWN_SIBLINGS)
    last = first + _SHOWN_SIBLINGS
    first = 0 if first == 1 else first
    return first, count if last == count - 1 else last


class _Row(NamedTuple):
    """A row of articles.

    Attributes:
        kind: "self", "sibling", "aside" (a neighbour of another division) or "gap".
        top, height: In pixels from the first row on.
        articles: The one drawn; of a gap those left out.
        role: "previous" or "next" of a neighbour in sequence; else "".
    """

    kind: str
    top: int
    height: int
    articles: Sequence[Article]
    role: str

    @property
    def middle(self) -> float:
        return self.top + self.height / 2


def _rows(place: Neighbourhood, own_height: int) -> list[_Row]:
    """The rows below the divisions, from the top."""
    siblings, article = place.siblings, place.article
    here = siblings.index(article)
    first, last = window(len(siblings), here)
    planned = [("sibling", _ROW, [each]) for each in siblings[first:last]]
    # Its neighbours in sequence are next to it, whatever their division.
    asides = [
        [each] if each and each not in siblings else [] for each in (place.previous, place.next)
    ]
    before, after = ([("aside", _ASIDE, each)] if each else [] for each in asides)
    planned[here - first : here - first + 1] = [*before, ("self", own_height, [article]), *after]
    if first:
        planned.insert(0, ("gap", _GAP_ROW, [*siblings[:first]]))
    if last < len(siblings):
        planned.append(("gap", _GAP_ROW, [*siblings[last:]]))
    rows: list[_Row] = []
    top = len(place.path) * _ROW
    for kind, height, articles in planned:
        role = ""
        if kind in ("sibling", "aside"):
            roles = {"previous": place.previous, "next": place.next}
            role = next((name for name, each in roles.items() if each == articles[0]), "")
        rows.append(_Row(kind, top, height, articles, role))
        top += height
    return rows


class _CitationList(NamedTuple):
    """One direction's citations, and those drawn of them with their shares of attention."""

    is_outward: bool
    articles: Sequence[Article]
    drawn: list[Article]
    shares: Mapping[str, float]

    @property
    def height(self) -> int:
        cards = len(self.drawn) * (_CARD + _CARD_GAP)
        return _HEADER + cards + (_REST if len(self.articles) > SHOWN else 0) + _BETWEEN


def _citation_lists(place: Neighbourhood, attention: Attention) -> list[_CitationList]:
    """The most attended articles in the corpus's order; without shares the first ones."""
    lists = []
    directions = ((place.cites, attention.cites), (place.cited_by, attention.cited_by))
    for articles, shares in directions:
        best = sorted(articles, key=lambda each: -shares.get(each.id, 0.0))[:SHOWN]
        drawn = [each for each in articles if each in best]
        lists.append(_CitationList(articles is place.cites, articles, drawn, shares))
    return [each for each in lists if each.articles]


class _Curve(NamedTuple):
    """A line of the SVG: class, path, width, and the corners of its head (none for an arc)."""

    kind: str
    path: str
    width: float
    head: str = ""


def _curves(
    rows: Sequence[_Row], lists: Sequence[_CitationList], start: float, attention: Attention
) -> Iterator[_Curve]:
    """The lines from the article's right edge (x = 0) to its neighbours and citations."""
    own = next(row for row in rows if row.kind == "self")
    cards: list[tuple[float, float, bool]] = []
    for each in lists:
        for place, article in enumerate(each.drawn):
            middle = start + _HEADER + place * (_CARD + _CARD_GAP) + _CARD / 2
            cards.append((middle, line_width(each.shares.get(article.id)), each.is_outward))
        start += each.height
    # The previous article is joined above the citations, the next one below them.
    step = own.height / (len(cards) + 3)
    for row in rows:
        if row.role:
            begin = own.top + (step if row.role == "previous" else own.height - step)
            width = line_width(getattr(attention, row.role))
            bend = min(18 + width / 2 + abs(row.middle - begin) * 0.08, _NARROW_GUTTER - width / 2)
            way = f"M0 {begin:g}C{bend:g} {begin:g} {bend:g} {row.middle:g} 0 {row.middle:g}"
            yield _Curve("sequence", way, width)
    for number, (end, width, is_outward) in enumerate(cards, start=2):
        begin = own.top + step * number
        length, spread = 7 + width / 2, 3 + width * 0.75
        left, right = (0.0, _GUTTER - length) if is_outward else (length, float(_GUTTER))
        half = _GUTTER / 2
        way = f"M{left:g} {begin:g}C{half + 16} {begin:g} {half - 16} {end:g} {right:g} {end:g}"
        # The head is on the cited side.
        tip, base, y = (_GUTTER, right, end) if is_outward else (0, left, begin)
        head = f"{base:g},{y - spread:g} {base:g},{y + spread:g} {tip},{y:g}"
        yield _Curve("citation", way, width, head)


def per_cent(share: float) -> str:
    """A share of attention in whole per cent."""
    return "<1%" if 0 < share < 0.005 else f"{share:.0%}"


def line_width(share: float | None) -> float:
    """Width of the line that stands for a share of attention; None: a line of place alone."""
    return _THINNEST if share is None else _THINNEST + (_THICKEST - _THINNEST) * share


def tooltip(article: Article, numbered: str) -> str:
    """Number, law, divisions, first words; `numbered` is the form of a bare number."""
    text = beginning(article)
    cut = text if len(text) <= _LONGEST_TITLE else text[:_LONGEST_TITLE].rstrip() + "…"
    place = " › ".join([article.law, *article.headings])
    return f"{spoken_number(article.number, numbered)} · {place}: {cut}"


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("pipelines", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: " ".join(value.split()) if type(value) is str else value,
    )
    helpers = (beginning, tooltip, spoken_number, per_cent, line_width)
    environment.globals |= {helper.__name__: helper for helper in helpers}
    return environment.get_template("tree.html")


def draw_picture(
    place: Neighbourhood,
    attention: Attention | None,
    note: str,
    wording: Wording | None = None,
    *,
    is_document: bool = True,
) -> str:
    """The picture as HTML, without script, links or foreign files.

    Args:
        place: What is drawn.
        attention: The shares that are drawn with it.
        note: Where the shares come from, or why there are none, in the wording's language; printed
            below the picture. "" for none.
        wording: The words that are not the law's; None for English.
        is_document: Whether it is a whole document, with a head line, or a part of one.
    """
    attention = attention or Attention(None, None, None, None, {}, {})
    own_lines = _FEW if len(place.article.text) < _SHORT else _MOST
    own_share = 0 if attention.own is None else _OWN
    rows = _rows(place, _FRAME + own_lines * _LINE + own_share)
    lists = _citation_lists(place, attention)
    own = next(row for row in rows if row.kind == "self")
    bottom, tall = rows[-1].top + rows[-1].height, sum(each.height for each in lists)
    # The citations stand next to the article where there is room.
    start = max(0.0, min(own.middle - tall / 2, bottom - tall))
    return _template().render(
        place=place,
        attention=attention,
        note=note,
        wording=wording or Wording(),
        is_document=is_document,
        rows=rows,
        own=own,
        own_lines=own_lines,
        row_height=_ROW,
        card_height=_CARD,
        lists=lists,
        start=start,
        height=max(bottom, start + tall),
        gutter=_GUTTER if lists else _NARROW_GUTTER,
        curves=_curves(rows, lists, start, attention),
    )


_EPILOG = """\
The picture shows one article in its law: the divisions above it, the articles around it, and the
citations from and to it. Where the model has a graph network, lines and percentages show what the
article attends to in the network's last layer.

  python -m pipelines.tree --corpus aldermere --article housing-12 --out tree.html
  python -m pipelines.tree --corpus law.jsonl --article ID --out tree.html --model ./my-model"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = command_line.parser("tree", "Draw an article in its place in the law.", _EPILOG)
    add = parser.add_argument
    add("--article", required=True, metavar="ID", help="draw the article with this id")
    help_ = "the law, as for pipelines.index, or 'aldermere'"
    add("--corpus", required=True, metavar="PATH", help=help_)
    add("--out", required=True, metavar="FILE.html", help="the picture")
    add("--model", type=command_line.named, metavar="DIR", help="folder or name of a model")
    options = parser.parse_args(arguments)
    return command_line.run(lambda: _draw(options))


def _draw(options: argparse.Namespace) -> int:
    command_line.check_corpus(options.corpus)
    corpus = StatuteCorpus.read(options.corpus)
    if options.article not in corpus.ids:
        raise LoadingError(
            f"--article: no article of the corpus has the id '{options.article}'. The ids look "
            f"like '{corpus[0].id}'."
        )
    position = corpus.position(options.article)
    attention, note = None, "The picture shows the article's place alone; no model was asked."
    if options.model:
        attention, note = read_attention(corpus, position, options.model, say)
        say(note)
    page = draw_picture(neighbourhood(corpus, position), attention, note)
    # A corpus may hold half a character.
    Path(options.out).write_text(page, "utf-8", "replace")
    say(f"wrote {options.out}")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
