"""What the training commands share: settings from a file and flags, exit codes, messages."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

DONE, FAILED, WRONG_USE, INTERRUPTED = 0, 1, 2, 130
EXIT_CODES = "exit status: 0 done, 1 training failed, 2 wrong use, 130 interrupted"


class Place(str):
    """A path, or a name such as "aldermere". A path in a settings file is relative to that file."""

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: Any) -> Any:
        """A string, for pydantic."""
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(cls, core_schema.str_schema())


class Target(Place):
    """A path that the command creates; in a settings file always relative to that file."""


S = TypeVar("S")

# Silence libraries that phone home or write to the terminal; the user's own choice wins.
_QUIET = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
}


class SettingsError(ValueError):
    """A setting is wrong, or does not fit another or the data; says which and how to fix it."""


class TrainingError(RuntimeError):
    """Training failed; says where, and what was saved."""


class OutOfTimeError(Exception):
    """The time for a run is over; its checkpoint is saved."""


def new_file(output: Target) -> Path:
    """The file that a command writes.

    Raises:
        SettingsError: It exists.
    """
    path = Path(output)
    if path.exists():
        raise SettingsError(f"{path} already exists. Give another output, or remove it.")
    return path


def say(message: str, *, every_process: bool = False) -> None:
    """Print a line to the terminal; under torchrun only the first process prints."""
    if every_process or os.environ.get("RANK", "0") == "0":
        print(message, file=sys.stderr, flush=True)  # noqa: T201


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table, header first, whose first column is text and whose others are numbers."""
    header, *others = rows
    columns = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, columns, *others))


def settings_from(
    command: str, description: str, kind: type[S], arguments: Sequence[str] | None = None
) -> S:
    """Settings from `--config FILE` and flags; a flag wins over the file wherever it stands.

    Any field of `kind` can be set in the file or by a flag, `--field_name value`. A YAML file may
    leave out what has a default.

    Args:
        command: Name of the module, for the usage line.
        description: What the command does.
        kind: A dataclass; the `Args:` of its docstring become the help.
        arguments: In place of the process's own.

    Raises:
        SystemExit: Wrong use (2), or help was requested (0).
    """
    from jsonargparse import ArgumentParser
    from jsonargparse.typing import register_type

    # While jsonargparse reads a file, the working directory is the file's.
    started = Path.cwd()

    def place(value: str) -> Place:
        path = Path(value).expanduser()
        # A name, such as "aldermere" or one of the Hugging Face Hub, is not a path near the file.
        is_path = value.startswith((".", "/", "~")) or path.exists()
        return Place(path.absolute() if is_path and Path.cwd() != started else value)

    def target(value: str) -> Target:
        return Target(value if Path.cwd() == started else Path(value).expanduser().absolute())

    register_type(Place, str, place, fail_already_registered=False)
    register_type(Target, str, target, fail_already_registered=False)
    parser = ArgumentParser(
        prog=f"python -m training.{command}",
        description=description,
        epilog=EXIT_CODES,
        allow_abbrev=False,
        print_config=None,
    )
    parser.add_argument(
        "--config", action="config", metavar="FILE", help="YAML file with any of these settings"
    )
    parser.add_class_arguments(kind, None)
    # jsonargparse lets the later one win: read the file before all flags.
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--config", action="append", default=[])
    config, flags = first.parse_known_args(arguments)
    values = parser.parse_args([*(f"--config={file}" for file in config.config), *flags])
    names = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    try:
        return kind(**{name: value for name, value in vars(values).items() if name in names})
    except SettingsError as error:
        parser.error(str(error))
        raise AssertionError from error  # error() exits the process


def run(work: Callable[[], None]) -> int:
    """Do a command's work in a quiet environment; turn errors into one message and a code."""
    from safetensors import SafetensorError

    from components.models.folder import ModelError
    from components.statutes.sources.reading import CorpusError

    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    for stream in (sys.stdout, sys.stderr):
        # Law is written in many scripts; a terminal that lacks one must not stop the command.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        work()
    except CorpusError as error:
        say("\n  ".join(["error:", *map(str, error.problems)]), every_process=True)
        return FAILED
    # safetensors has an error of its own for a file that cannot be written, also on a full disk.
    except (ModelError, SettingsError, TrainingError, OSError, SafetensorError) as error:
        say(f"error: {error}", every_process=True)
        return WRONG_USE if isinstance(error, ModelError | SettingsError) else FAILED
    except KeyboardInterrupt:
        say("interrupted; the same command resumes from the last checkpoint", every_process=True)
        return INTERRUPTED
    return DONE
