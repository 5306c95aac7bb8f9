"""lexarbor, or python -m pipelines: runs a command, or lists them."""

from __future__ import annotations

import importlib
import sys

from pipelines import check_neighbour
from pipelines.checking import names_to_ask
from pipelines.command_line import DONE, WRONG_USE, say, show

_COMMANDS = {
    "index": ("pipelines.index", "read a law into a store"),
    "ask": ("pipelines.ask", "ask a question"),
    "diff": ("pipelines.diff", "show what changed in an article"),
    "audit": ("pipelines.audit", "check the citations of a document"),
    "evaluate": ("pipelines.evaluate", "measure a pipeline on questions"),
    "calibrate": ("pipelines.calibrate", "choose the score below which nothing was found"),
    "guides": ("pipelines.guides", "look after the guides of a store"),
    "export": ("pipelines.export", "write the articles of a store as a corpus"),
    "convert": ("pipelines.convert", "write published law as a corpus"),
    "tree": ("pipelines.tree", "draw an article in its law"),
    "serve": ("pipelines.serve", "answer questions over HTTP"),
    "mcp": ("pipelines.mcp", "the same for agents"),
    "ui": ("ui.__main__", "the same in a browser"),
}
_TRAINERS = (
    *("cusines", "graph", "ranker", "fusion"),
    *("synthesize", "compare", "clean_questions"),
)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if not given or given[0] in ("-h", "--help"):
        show(_listed())
        return DONE
    name, *rest = given
    module = _COMMANDS.get(name, ("", ""))[0]
    if name == "train" and rest and rest[0] in _TRAINERS:
        module = f"training.{rest.pop(0)}"
    if not module:
        known = _TRAINERS if name == "train" else (*_COMMANDS, "train")
        say(f"error: no command {' '.join(given[:2])!r}. There is {', '.join(known)}.")
        return WRONG_USE
    package = module.partition(".")[0]
    try:
        check_neighbour(package)
        command = importlib.import_module(module)
    except ImportError as error:
        # A package of ours is shadowed, or lacks its extra; it says what to do.
        if error.name not in ("pipelines", package):
            raise
        say(f"error: {error}")
        return WRONG_USE
    code: int = command.main(rest)
    return code


def _listed() -> str:
    width = max(map(len, _COMMANDS))
    lines = [f"  lexarbor {name:{width}}   {what}" for name, (_, what) in _COMMANDS.items()]
    return f"""\
Lexarbor finds the articles of law that answer a question. Commands (each has --help; "python -m
pipelines.NAME" is the same):

{chr(10).join(lines)}
  lexarbor train {"|".join(_TRAINERS[:5])} ...

Pipelines: {", ".join(names_to_ask())}"""


if __name__ == "__main__":
    sys.exit(main())
