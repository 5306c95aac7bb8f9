"""python -m pipelines.tree: an article in its place, and how alike neighbours are."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines import command_line
from pipelines.command_line import DONE, say, show
from pipelines.files import LoadingError, did_you_mean

if TYPE_CHECKING:
    from components.statutes.corpus import StatuteCorpus
    from pipelines.tree_view.similarity import NeighbourSimilarity, Similarity

_EPILOG = """\
A picture shows one article in its law: the divisions above it, the articles around it, and the
citations from and to it. Where the model has a graph network, lines and percentages tell what the
article attends to in the network's last layer.

  python -m pipelines.tree --corpus aldermere --article housing-12 --out tree.svg
  python -m pipelines.tree --corpus law.jsonl --article ID --out tree.svg --model ./my-model

--neighbours measures the mean cosine similarity of articles by how near each other they stand,
beside that of random pairs, with 95% intervals: under the vectors of a store (by default the demo
store), or under a model's bi-encoder. Vectors that went through a graph network are those of a
store indexed with --graph.

  python -m pipelines.tree --neighbours --store law.db --out neighbours.png
  python -m pipelines.tree --neighbours --corpus law.jsonl --model ./my-model --json"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _parse(arguments)
    work = _measure if options.neighbours else _draw
    return command_line.run(lambda: work(options))


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = command_line.parser("tree", "Show where articles stand in the law.", _EPILOG)
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--article", metavar="ID", help="draw the article with this id")
    task.add_argument(
        "--neighbours", action="store_true", help="measure how alike neighbouring articles are"
    )
    parser.add_argument(
        "--corpus", metavar="PATH", help="the law, as for pipelines.index, or 'aldermere'"
    )
    parser.add_argument(
        "--store",
        type=command_line.named,
        metavar="FILE",
        help="with --neighbours: a store with vectors",
    )
    parser.add_argument(
        "--model", type=command_line.named, metavar="DIR", help="folder or name of a model"
    )
    parser.add_argument(
        "--out", metavar="FILE", help="the picture (.svg), or the plot (.png, .svg, .pdf)"
    )
    parser.add_argument(
        "--farthest",
        type=command_line.positive,
        default=10,
        metavar="N",
        help="with --neighbours: the largest distance in the law's sequence (default: 10)",
    )
    parser.add_argument("--json", action="store_true", help="with --neighbours: print JSON")
    options = parser.parse_args(arguments)
    if options.article is not None:
        if not options.corpus or not options.out:
            parser.error("--article needs --corpus PATH and --out FILE.svg")
        if options.store or options.json:
            parser.error("--store and --json go with --neighbours, not with --article")
    elif options.store and (options.corpus or options.model):
        parser.error("--neighbours takes either --store, or --corpus with --model")
    elif bool(options.corpus) != bool(options.model):
        parser.error("--neighbours takes --corpus and --model together")
    return options


def _draw(options: argparse.Namespace) -> int:
    from pipelines.tree_view.layout import find_article, neighbourhood
    from pipelines.tree_view.picture import draw_picture

    out = Path(options.out)
    if out.suffix != ".svg":
        raise LoadingError(f"--out {out}: the picture is an SVG. End the name with .svg.")
    if not out.absolute().parent.is_dir():
        raise LoadingError(f"--out {out}: there is no folder {out.absolute().parent}. Make it.")
    corpus = _read(options.corpus)
    position = find_article(corpus, options.article)
    attention, note = None, "The picture shows the article's place alone; no model was asked."
    if options.model:
        from pipelines.tree_view.layout import read_attention

        attention, note = read_attention(corpus, position, options.model, say)
        say(note)
    out.write_text(draw_picture(neighbourhood(corpus, position), attention, note), "utf-8")
    say(f"wrote {out}")
    return DONE


def _measure(options: argparse.Namespace) -> int:
    from components.statutes.article import articles_of_laws
    from pipelines.plotting import check_target, plot_similarity
    from pipelines.tree_view.similarity import encoded_vectors, measure_neighbours, stored_vectors

    if options.out:
        check_target(Path(options.out), "--out")
    if options.corpus:
        source = options.corpus
        given = encoded_vectors(_read(options.corpus), options.model, say)
    else:
        from pipelines.home import store_to_ask

        source = store_to_ask(options.store, None, say)
        given = stored_vectors(source)
    if given.without:
        say(f"{given.without:,} articles without a vector are left out.")
    if len(given.articles) < 2:
        raise LoadingError(f"{source} has a single article; similarity needs at least two.")
    measured = measure_neighbours(given.articles, given.vectors, farthest=options.farthest)
    about = f"{articles_of_laws(measured.articles, measured.laws)}, {source}"
    if options.json:
        origin = {"source": str(source), "model": given.model, "graph": given.through_graph}
        show({**origin, **_as_json(measured)})
    else:
        through = ", through its graph network" if given.through_graph else ""
        model = f"vectors of {given.model or 'an unnamed model'}{through}"
        show(f"{about}\n{model}\n\n{_table(measured)}")
    if options.out:
        plot_similarity(measured, Path(options.out), about)
        say(f"wrote {options.out}")
    return DONE


def _read(source: str) -> StatuteCorpus:
    """The corpus of a file, folder or name.

    Raises:
        LoadingError: There is none; says which may be meant.
        CorpusError: It cannot be read.
    """
    from components.statutes.corpus import StatuteCorpus
    from components.statutes.sources import bsard, opening

    names = [opening.DEMO_LAW, bsard.HUB_NAME]
    path = Path(source)
    if source not in names and not path.exists():
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        near = did_you_mean(source, [*names, *map(str, beside)])
        raise LoadingError(f"--corpus: there is no {source}{near}. Check the path.")
    return StatuteCorpus.read(source)


def _as_json(measured: NeighbourSimilarity) -> dict[str, Any]:
    from pipelines.tree_view.similarity import SEED

    def plain(similarity: Similarity | None) -> dict[str, Any] | None:
        if similarity is None:
            return None
        return {
            "pairs": similarity.pairs,
            "mean": similarity.mean,
            "interval": similarity.interval,
            "above_random": similarity.mean - measured.random.mean,
        }

    return {
        "articles": measured.articles,
        "laws": measured.laws,
        "sequence": {str(d): plain(each) for d, each in measured.sequence.items()},
        "tree": {str(d): plain(each) for d, each in measured.tree.items()},
        "other_law": plain(measured.other_law),
        "random": {**(plain(measured.random) or {}), "seed": SEED},
    }


def _table(measured: NeighbourSimilarity) -> str:
    def row(name: str, similarity: Similarity) -> str:
        interval = "{:.3f} to {:.3f}".format(*similarity.interval) if similarity.interval else "-"
        above = similarity.mean - measured.random.mean
        return f"{name:<24}{similarity.pairs:>15,}{similarity.mean:>8.3f}   {interval:<18}" + (
            f"{above:>+7.3f}" if similarity is not measured.random else ""
        )

    lines = [
        f"{'pairs of articles':<24}{'pairs':>15}{'mean':>8}   {'95% interval':<16}above random"
    ]
    for distance, similarity in measured.sequence.items():
        steps = "next to each other" if distance == 1 else f"{distance} apart in sequence"
        lines.append(row(steps, similarity))
    lines.append("")
    for distance, similarity in measured.tree.items():
        steps = "siblings (tree 2)" if distance == 2 else f"{distance} apart in the tree"
        lines.append(row(steps, similarity))
    if measured.other_law:
        lines.append(row("in different laws", measured.other_law))
    return "\n".join([*lines, "", row("random pairs", measured.random)])


if __name__ == "__main__":
    sys.exit(main())
