"""What the command lines share: their environment, exit codes and messages."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from components.statutes.article import iso_day
from components.statutes.extras import MissingExtraError, needs_extra
from components.statutes.sources.reading import CorpusError
from pipelines.checking import LoadingError

DONE, FAILED, WRONG_USE, INTERRUPTED = 0, 1, 2, 130
EXIT_CODES = "exit status: 0 done, 1 nothing found or a check failed, 2 wrong use, 130 interrupted"
PIPELINE_NAMES = (
    "lexical, dense, hybrid, answer_hybrid; with a re-ranker hybrid_rerank, answer; with a "
    "generator hybrid_rewritten; or a YAML file"
)

_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

# Silence libraries that phone home or write to the terminal; the user's own choice wins.
_QUIET = {
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
}


def parser(command: str, description: str, epilog: str | None) -> argparse.ArgumentParser:
    """A parser for `python -m pipelines.<command>`; flags are never abbreviated.

    Args:
        command: its name.
        description: one line.
        epilog: what follows the flags; of a module's docstring, all but the first line.
    """
    epilog = epilog or ""
    if epilog.startswith("python -m"):
        epilog = epilog.partition("\n\n")[2].rstrip()
    ours = Path(sys.argv[0]).stem == "lexarbor"
    return argparse.ArgumentParser(
        prog=f"lexarbor {command}" if ours else f"python -m pipelines.{command}",
        description=description,
        epilog=f"{epilog}\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def add_store(parser: argparse.ArgumentParser) -> None:
    """The flags that name the store and its model."""
    parser.add_argument("--store", type=named, metavar="FILE", help="default: the demo store")
    parser.add_argument(
        "--model", type=named, metavar="DIR", help="default: the one that the store records"
    )


def add_questions(parser: argparse.ArgumentParser, split: str) -> None:
    """The flags of commands that ask a pipeline the questions in a file.

    Args:
        parser: gets the flags.
        split: which questions are asked by default.
    """
    add = parser.add_argument
    add("--questions", required=True, metavar="PATH", help="a file of questions, or 'aldermere'")
    add("--split", help=f"which questions (default: {split}, or all where none names a split)")
    add("--pipeline", default="hybrid", metavar="NAME", help="name or file (default: hybrid)")
    add("--skip-bad", action="store_true", help="leave out questions that cannot be used")
    add("--json", action="store_true", help="print the result as JSON")


def add_format(parser: argparse.ArgumentParser) -> None:
    """The flag that names the format of a corpus."""
    from components.statutes.sources.opening import FORMATS

    parser.add_argument(
        "--format",
        choices=FORMATS,
        metavar="NAME",
        help="the format of the corpus; recognised otherwise (docs/data.md)",
    )
    parser.add_argument(
        "--as-paragraphs",
        action="store_const",
        dest="format",
        const="paragraphs",
        help="read any text by its paragraphs, numbered in order",
    )


def add_stated(parser: argparse.ArgumentParser) -> None:
    """The flags that say of a corpus what its files do not."""
    add = parser.add_argument
    add("--law", type=named, metavar="NAME", help="the law's name, in place of the file's own")
    add("--language", type=named, metavar="TAG", help="the law's language, such as en")
    add("--source-url", "--source_url", type=named, metavar="URL", help="its official page")
    add("--jurisdiction", type=_place, metavar="PLACE", help="the place whose law it is: us/or")


def stated(options: argparse.Namespace) -> dict[str, str]:
    """What these flags say; a law.yaml next to the files says it of each of them."""
    from components.statutes.sources.stated import FIELDS

    return {name: vars(options)[name] for name in FIELDS if vars(options)[name]}


def add_strict(parser: argparse.ArgumentParser) -> None:
    """The flag that refuses law in which something looks wrong."""
    help_ = "write nothing if anything looks wrong in the check after reading"
    parser.add_argument("--strict", action="store_true", help=help_)


def add_output(parser: argparse.ArgumentParser) -> None:
    """The flag that names the corpus to write."""
    help_ = "the corpus to write, such as articles.jsonl; gzipped if its name ends in .gz"
    parser.add_argument("--output", type=named, required=True, metavar="FILE", help=help_)


def new_file(name: str) -> Path:
    """The file that --output names.

    Raises:
        LoadingError: it exists, or its folder does not; or it is "-".
    """
    if name == "-":
        raise LoadingError("--output: standard output is not written to. Name a file.")
    output = Path(name).expanduser()
    if output.exists():
        raise LoadingError(f"--output: {output} already exists. Name another file.")
    if not output.parent.is_dir():
        raise LoadingError(f"--output: there is no folder {output.parent}. Make it.")
    return output


def check_corpus(name: str) -> None:
    """Refuse a --corpus that is neither a path nor the name of one.

    Raises:
        LoadingError: there is none.
    """
    from components.statutes.sources import corpora, opening

    names = (opening.DEMO_LAW, opening.STANDARD_INPUT, corpora.HUB_NAME)
    if name not in names and not Path(name).exists():
        raise LoadingError(f"--corpus: there is no {name}. Check the path.")


def add_generator(parser: argparse.ArgumentParser) -> None:
    """The flags for a chat generator."""
    help_ = "server that writes the answer, or searches: http://localhost:11434/v1"
    parser.add_argument("--generator", metavar="URL", help=help_)
    parser.add_argument("--generator-model", metavar="NAME", help="its model")


def check_generator(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Exit with a usage error if only one of the generator's two flags is given."""
    if (options.generator is None) != (options.generator_model is None):
        parser.error("--generator and --generator-model go together")


def require(what: str, extra: str, *modules: str) -> None:
    """Refuse to go on without the packages of one of Lexarbor's extras.

    Args:
        what: what needs them, for the message.
        extra: its name.
        modules: that it brings.

    Raises:
        MissingExtraError: one is missing; says how to install it.
    """
    with needs_extra(what, extra):
        for module in modules:
            importlib.import_module(module)


def say(message: str) -> None:
    """A line for the person at the terminal; only results go to standard output."""
    print(_harmless(message), file=sys.stderr, flush=True)  # noqa: T201


def show(result: str | dict[str, Any]) -> None:
    """The command's result on standard output; a mapping is written as JSON."""
    if isinstance(result, str):
        result = _harmless(result)
    else:
        result = json.dumps(result, ensure_ascii=False, indent=2)
    print(result, flush=True)  # noqa: T201


def _harmless(text: str) -> str:
    """Law and generated text must not control the terminal or reorder its lines."""
    return _STEERING.sub("\ufffd", text)


def run(work: Callable[[], int]) -> int:
    """Do a command's work in a quiet environment; turn errors into one message and a code."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    for stream in (sys.stdout, sys.stderr):
        # Law is written in many scripts; a terminal that lacks one must not stop the command.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        return work()
    except (LoadingError, MissingExtraError) as error:
        say(f"error: {error}")
        return WRONG_USE
    except CorpusError as error:
        say("error:")
        for problem in error.problems:
            say(f"  {problem}")
        return FAILED
    except BrokenPipeError:
        # The pipe was closed (`... | head`); Python would complain again on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except Exception as error:
        # Imported on errors alone: neither `--help` nor a refused pipeline file should wait for
        # torch and Haystack.
        from haystack.core.errors import PipelineRuntimeError
        from haystack.errors import FilterError

        from components.models.folder import ModelError, VectorError
        from components.statutes.question import QuestionError
        from components.stores.database import StoreError

        wrong_use = isinstance(error, (FilterError, ModelError, QuestionError))
        failures = (OSError, PipelineRuntimeError, StoreError, VectorError)
        if not (wrong_use or isinstance(error, failures)):
            raise
        say(f"error: {error}")
        return WRONG_USE if wrong_use else FAILED


def day(text: str) -> date:
    """A day as YYYY-MM-DD, for argparse."""
    try:
        return iso_day(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a day; write it as 2024-02-29"
        ) from error


def as_of(text: str) -> str:
    """A day as YYYY-MM-DD, "today" or "any", for argparse."""
    return text if text in ("today", "any") else day(text).isoformat()


def named(text: str) -> str:
    """A name or path, for argparse; an empty one would be the working directory."""
    if not text.strip():
        raise argparse.ArgumentTypeError("is empty; name one, or leave the option out")
    return text


def _place(text: str) -> str:
    """A place whose law is meant, for argparse."""
    from components.statutes.jurisdiction import checked_place

    try:
        return checked_place(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def positive(text: str) -> int:
    """A whole number from 1, for argparse."""
    number = int(text) if text.strip().isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return number
