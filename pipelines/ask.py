r"""python -m pipelines.ask: one question, and the articles that answer it.

Without --store it asks the invented Statutes of Aldermere. An article that the question cites
("art. 12 Housing Code") comes first. What is not in force today is left out; --as-of chooses
another day, or everything.

  python -m pipelines.ask "My landlord will not mend the boiler. What can I do?"
  python -m pipelines.ask "May a fund manager delegate its duties?" --store adgm.db --json
  python -m pipelines.ask "art. 12 Housing Code" --store law.db --as-of 2019-05-01
  python -m pipelines.ask "May I keep a dog?" --pipeline answer_hybrid
  python -m pipelines.ask "May I keep a dog?" --pipeline answer_hybrid \
      --generator http://localhost:11434/v1 --generator-model llama3.2

The pipelines 'answer' and 'answer_hybrid' quote what the articles say. With a generator, a server
that speaks OpenAI's protocol, they write a short answer; every citation and quotation in it is
looked up. 'hybrid_rewritten' has the generator put the question into the law's words, and searches
those too. The generator's key is read from LEXARBOR_GENERATOR_KEY; without --generator nothing is
sent.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from pipelines import command_line
from pipelines.command_line import DONE, FAILED, say, show

SHOWN_CHARS = 600
WIDTH = 100


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = command_line.parser("ask", "Ask a question in plain words.", __doc__)
    add = parser.add_argument
    add("question", help="in quotes")
    add(
        "--pipeline",
        metavar="NAME",
        help=f"{command_line.PIPELINE_NAMES} (default: hybrid; lexical for a store of text alone)",
    )
    command_line.add_store(parser)
    add("--top-k", type=command_line.positive, default=10, metavar="N", help="default: 10 articles")
    add(
        "--as-of",
        type=command_line.as_of,
        metavar="DAY|any|today",
        help="the law of that day (2024-02-29); 'any' also finds repealed law (default: today)",
    )
    add(
        "--no-expand",
        action="store_true",
        help="search only your own words, not the law's words for them",
    )
    add(
        "--jurisdiction",
        metavar="PLACE",
        help="the law of a place, such as us/or/portland, and of those above it (us/or, us)",
    )
    command_line.add_generator(parser)
    add("--full", action="store_true", help="print the whole text of every article")
    add("--json", action="store_true", help="print the answer as JSON")
    options = parser.parse_args(arguments)
    command_line.check_generator(parser, options)
    return command_line.run(lambda: _ask(options))


def _ask(options: argparse.Namespace) -> int:
    from components.statutes.question import clean_question
    from pipelines.home import resolve
    from pipelines.loading import load_pipeline

    question = clean_question(options.question)  # before a model is loaded
    plan = resolve(
        *(options.pipeline, options.store, options.model, say),
        generator=options.generator,
        generator_model=options.generator_model,
    )
    if options.pipeline is None and plan.pipeline == "lexical":
        say(f"Asking {plan.store} by words alone, with the pipeline 'lexical'.")
    pipeline = load_pipeline(*plan.arguments)
    pipeline.warm_up()
    from pipelines.asking import answer_lines, ask, guide_lines, situation_lines

    answer = ask(
        *(pipeline, question, options.top_k),
        as_of=options.as_of,
        expand=not options.no_expand,
        jurisdiction=options.jurisdiction,
    )
    ranking = answer.get("ranking")
    if ranking and ranking["n_ranked"] < ranking["n_candidates"]:
        say("The ranker had time for {n_ranked} of {n_candidates} candidates.".format(**ranking))
    corrections = answer.get("corrections", {}).items()
    expansions = answer.get("expansions", {}).items()
    # An answer has its own notice of what is left out.
    left_out = answer.get("left_out", []) if "answer" not in answer else []
    for what, listed in (
        (f"Named in the question, and not in {plan.place}", answer.get("missing")),
        ("Not looked up, or not in full", answer.get("not_followed")),
        ("Searched in another spelling", [f"“{new}” for “{old}”" for old, new in corrections]),
        ("Also searched", [f"“{each}”" for each in answer.get("searches", [])]),
        (
            "The question alone was searched",
            [each] if (each := answer.get("not_rewritten")) else [],
        ),
        (
            "Also searched (--no-expand leaves it out)",
            [f"{', '.join(phrases)} for “{said}”" for said, phrases in expansions],
        ),
        (
            "Named in the question, and left out by the day (--as-of) or the pipeline's filters",
            [f"{each['law']}, {each['number']} ({each['state']})" for each in left_out],
        ),
        (
            "The question seems to be in another language than the articles found",
            answer.get("languages"),
        ),
    ):
        if listed:
            say(f"{what}: {'; '.join(listed)}.")
    if options.json:
        show(dict(answer))
        return DONE if answer["documents"] else FAILED
    written = [guide_lines(guide)] if (guide := answer.get("guide")) else []
    if situations := answer.get("situations"):
        written.append(situation_lines(situations))
    written += [answer_lines(answer["answer"])] if "answer" in answer else []
    if answer["documents"]:
        entries = enumerate(answer["documents"], start=1)
        written += [_entry(place, document, options.full) for place, document in entries]
        written.append(_terms(answer.get("definitions", [])))
    elif not answer.keys() & {"left_out", "missing"}:
        say("Nothing was found. Try other words.")
    if any(written):
        show("\n\n".join(filter(None, written)))
    return DONE if answer["documents"] else FAILED


def _wording(wording: Mapping[str, Any], article: Mapping[str, Any]) -> str:
    from components.retrievers.validity import is_earlier

    is_before = is_earlier(wording, article)
    when = f"until {wording['valid_to']}" if is_before else f"from {wording['valid_from'] or '?'}"
    return f"another wording, {when} [{wording['id']}]"


def _entry(place: int, document: Mapping[str, Any], full: bool) -> str:
    found_by = ", ".join(f"{stage} {rank}" for stage, rank in document["ranks"].items())
    state = "" if document["state"] == "unknown" else f" · {document['state']}"
    whose = f" · {document['jurisdiction']}" if "jurisdiction" in document else ""
    lines = [f"{place}. {document['law']}, {document['number']}{whose}{state}"]
    paragraphs = [
        "; ".join(_wording(each, document) for each in document.get("wordings", [])),
        " › ".join(document["headings"]),
        *_text(document, full),
    ]
    lines += [line for part in paragraphs for line in textwrap.wrap(part, WIDTH - 3)]
    lines.append(f"[{document['id']} · rank: {found_by} · score {document['score']:.3f}]")
    if document.get("source_url"):
        lines.append(document["source_url"])
    return textwrap.indent("\n".join(lines), "   ").lstrip()


def _terms(definitions: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        textwrap.fill(
            f"{each['text']} ({each['law']}, {each['number']})",
            WIDTH,
            initial_indent="   ",
            subsequent_indent="   ",
        )
        for each in definitions
    ]
    return "\n".join(["Terms used here:", *lines]) if lines else ""


def _text(document: Mapping[str, Any], full: bool) -> list[str]:
    text: str = document["content"]
    if full or len(text) <= SHOWN_CHARS:
        return text.splitlines()
    passages = document.get("passages")
    shown = passages[0]["text"] if passages else text[:SHOWN_CHARS]
    left = f"[... of {len(text):,} characters; --full prints all]"
    return [*shown.splitlines(), *([left] if len(shown) < len(text) else [])]


if __name__ == "__main__":
    sys.exit(main())
