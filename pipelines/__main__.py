"""python -m pipelines: lists the commands."""

from __future__ import annotations

from pipelines.command_line import show
from pipelines.files import names_to_ask

show(f"""\
Lexarbor finds the articles of law that answer a question. Commands (each has --help):

  python -m pipelines.index      read a law into a store
  python -m pipelines.ask        ask a question
  python -m pipelines.audit      check the citations of a document
  python -m pipelines.evaluate   measure a pipeline on questions
  python -m pipelines.calibrate  choose the score below which nothing was found
  python -m pipelines.export     write the articles of a store as a corpus
  python -m pipelines.convert    write published law as a corpus
  python -m pipelines.tree       draw an article in its law
  python -m pipelines.serve      answer questions over HTTP
  python -m pipelines.mcp        the same for agents
  python -m ui                   the same in a browser

Pipelines: {", ".join(names_to_ask())}""")
