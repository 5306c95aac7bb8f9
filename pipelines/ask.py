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
looked up. Its key is read from LEXARBOR_GENERATOR_KEY; without --generator nothing is sent.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Mapping
from typing import Any

from pipelines import command_line
from pipelines.command_line import DONE, FAILED, say, show

SHOWN_CHARS = 600
WIDTH = 100


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _parse(arguments)
    return command_line.run(lambda: _ask(options))


def _parse(arguments: list[str] | None) -> argparse.Namespace:
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
    command_line.add_generator(parser)
    add("--full", action="store_true", help="print the whole text of every article")
    add("--json", action="store_true", help="print the answer as JSON")
    options = parser.parse_args(arguments)
    command_line.check_generator(parser, options)
    return options


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
    store = plan.store
    if options.pipeline is None and plan.pipeline == "lexical":
        say(f"{store} holds text alone: asking the pipeline 'lexical'.")
    pipeline = load_pipeline(*plan.arguments)
    pipeline.warm_up()
    from pipelines.asking import answer_lines, ask

    answer = ask(pipeline, question, top_k=options.top_k, as_of=options.as_of)
    ranking = answer.get("ranking")
    if ranking and ranking["n_ranked"] < ranking["n_candidates"]:
        say("The ranker had time for {n_ranked} of {n_candidates} candidates.".format(**ranking))
    if "missing" in answer:
        say(f"Named in the question, and not in {store}: {'; '.join(answer['missing'])}.")
    if "not_followed" in answer:
        say(f"Not looked up, or not in full: {'; '.join(answer['not_followed'])}.")
    if "corrections" in answer:
        pairs = (f"“{new}” for “{old}”" for old, new in answer["corrections"].items())
        say(f"Searched in another spelling: {', '.join(pairs)}.")
    left_out = answer.get("left_out", [])
    if left_out and "answer" not in answer:  # an answer has its own notice
        say(
            "Named in the question, and left out by the day or the pipeline's filters: "
            f"{'; '.join(map(_left_out, left_out))}. --as-of DAY chooses another day."
        )
    if "languages" in answer:
        say(
            f"The articles found are in another language ({', '.join(answer['languages'])}) than "
            "the question seems to be."
        )
    if options.json:
        show(dict(answer))
        return DONE if answer["documents"] else FAILED
    written = [answer_lines(answer["answer"])] if "answer" in answer else []
    if answer["documents"]:
        entries = enumerate(answer["documents"], start=1)
        written += [_entry(place, document, options.full) for place, document in entries]
    elif not (left_out or "missing" in answer):
        say("Nothing was found. Try other words.")
    if any(written):
        show("\n\n".join(filter(None, written)))
    return DONE if answer["documents"] else FAILED


def _left_out(article: Mapping[str, Any]) -> str:
    """An article that was left out, and when it is in force."""
    when = article["state"]
    if article["state"] == "repealed" and article["valid_to"]:
        when += f"; last day in force {article['valid_to']}"
    if "replaced_by" in article:
        when += f"; in its place: {article['replaced_by']['number']}"
    if article["state"] == "not yet in force":
        when = f"this wording applies from {article['valid_from']}"
    return f"{article['law']}, {article['number']} ({when})"


def _wording(wording: Mapping[str, Any], article: Mapping[str, Any]) -> str:
    from components.retrievers.validity import is_earlier

    if not (wording["valid_from"] or wording["valid_to"]):
        when = "another wording, without dates"
    elif is_earlier(wording, article):
        when = f"earlier wording, until {wording['valid_to']}"
    else:
        when = f"later wording, from {wording['valid_from']}"
    return f"{when} [{wording['id']}]"


def _entry(place: int, document: Mapping[str, Any], full: bool) -> str:
    found_by = ", ".join(f"{stage} {rank}" for stage, rank in document["ranks"].items())
    state = "" if document["state"] == "unknown" else f" · {document['state']}"
    lines = [f"{place}. {document['law']}, {document['number']}{state}"]
    if wordings := [_wording(each, document) for each in document.get("wordings", [])]:
        lines += textwrap.wrap("; ".join(wordings), WIDTH - 3)
    if document["headings"]:
        lines += textwrap.wrap(" › ".join(document["headings"]), WIDTH - 3)
    lines += [line for part in _text(document, full) for line in textwrap.wrap(part, WIDTH - 3)]
    lines.append(f"[{document['id']} · rank: {found_by} · score {document['score']:.3f}]")
    if document.get("source_url"):
        lines.append(document["source_url"])
    return textwrap.indent("\n".join(lines), "   ").lstrip()


def _text(document: Mapping[str, Any], full: bool) -> list[str]:
    text: str = document["content"]
    if full or len(text) <= SHOWN_CHARS:
        return text.splitlines()
    cut = text[:SHOWN_CHARS]
    # Chinese has no spaces to cut at.
    cut = cut.rsplit(None, 1)[0] if " " in cut[SHOWN_CHARS // 2 :] else cut
    left = len(text) - len(cut)
    return [*cut.splitlines(), f"[... {left:,} more characters; --full prints them]"]


if __name__ == "__main__":
    sys.exit(main())
