"""python -m pipelines.mcp: the law of a store as tools for agents, over stdio.

Speaks the Model Context Protocol on standard input and output; a client such as Claude Desktop
or VS Code starts it (docs/agents.md). Its tools only read:

  find_articles     the articles that answer a question, with a passage of each
  read_article      one article whole, with what it cites and what cites it
  check_citations   a verdict on each citation of a text
  list_laws         the laws of the store

  python -m pipelines.mcp --store law.db
  python -m pipelines.mcp --store law.db --pipeline lexical
"""

from __future__ import annotations

import argparse
import sys

from pipelines import command_line
from pipelines.command_line import DONE, say


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = command_line.parser("mcp", "Serve the law to agents over stdio.", __doc__)
    command_line.add_store(parser)
    parser.add_argument(
        "--pipeline",
        metavar="NAME",
        help="what find_articles asks (default: hybrid; lexical for a store of text alone)",
    )
    options = parser.parse_args(arguments)
    return command_line.run(lambda: _serve(options))


def _serve(options: argparse.Namespace) -> int:
    command_line.require("A server of tools", "mcp", "mcp")
    from pipelines.home import resolve
    from pipelines.loading import load_pipeline

    plan = resolve(options.pipeline, options.store, options.model, say)
    pipeline = load_pipeline(*plan.arguments)
    from pipelines.serving.mcp import build_mcp

    server = build_mcp(pipeline)
    pipeline.warm_up()
    say(f"Serving {plan.place} by the pipeline '{plan.pipeline}'")
    server.run("stdio")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
