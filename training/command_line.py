"""What the training commands share: settings from a file and flags, exit codes, messages."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NewType, TypeVar, get_args, get_origin, get_type_hints

import yaml

DONE, FAILED, WRONG_USE, INTERRUPTED = 0, 1, 2, 130
EXIT_CODES = "exit status: 0 done, 1 training failed, 2 wrong use, 130 interrupted"

Place = NewType("Place", str)
"""A path, or a name such as "aldermere". A path in a settings file is relative to that file."""

Target = NewType("Target", str)
"""A path that the command creates; in a settings file always relative to that file."""

S = TypeVar("S")

_MAX_FILE_BYTES = 1_000_000

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


def say(message: str, *, every_process: bool = False) -> None:
    """Print a line to the terminal; under torchrun only the first process prints."""
    if every_process or os.environ.get("RANK", "0") == "0":
        print(message, file=sys.stderr, flush=True)  # noqa: T201


def settings_from(
    command: str, description: str, kind: type[S], arguments: Sequence[str] | None = None
) -> S:
    """Settings from `--config FILE` and flags; a flag wins over the file wherever it stands.

    Any field of `kind` can be set in the file or by a flag, `--field_name value`; a boolean one
    without a value is true. A YAML file may
    leave out what has a default.

    Args:
        command: Name of the module, for the usage line.
        description: What the command does.
        kind: A dataclass; the `Args:` of its docstring become the help.
        arguments: In place of the process's own.

    Raises:
        SystemExit: Wrong use (2), or help was requested (0).
    """
    # Imported here, so that importing a command stays cheap.
    from jsonargparse import ArgumentParser

    parser = ArgumentParser(
        prog=f"python -m training.{command}",
        description=description,
        epilog=EXIT_CODES,
        allow_abbrev=False,
    )
    parser.add_argument("--config", metavar="FILE", help="YAML file with any of these settings")
    parser.add_class_arguments(kind, None)
    file, flags = _split_config(parser, list(sys.argv[1:] if arguments is None else arguments))
    if file is not None:
        try:
            flags = [*_as_flags(_settings_in(file, kind)), *flags]
        except SettingsError as error:
            parser.error(str(error))
    values = parser.parse_args(_written_out(flags, kind))
    names = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    try:
        return kind(**{name: value for name, value in vars(values).items() if name in names})
    except SettingsError as error:
        parser.error(str(error))
        raise AssertionError from error  # error() exits the process


def run(work: Callable[[], None]) -> int:
    """Do a command's work in a quiet environment; turn errors into one message and a code."""
    from safetensors import SafetensorError

    from components.models.errors import ModelError
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


def _split_config(
    parser: argparse.ArgumentParser, arguments: list[str]
) -> tuple[Path | None, list[str]]:
    """The file named by --config, and all other arguments."""
    flags: list[str] = []
    files: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if name != "--config":
            flags.append(argument)
        elif equals:
            files.append(value)
        else:
            files.append(next(rest, ""))
    if len(files) > 1 or "" in files:
        parser.error("--config takes one file, once.")
    return (Path(files[0]).expanduser() if files else None), flags


class _OnceLoader(yaml.SafeLoader):
    """Refuses a repeated setting: nobody can tell which of the two is meant."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        named: set[str] = set()
        for key, _ in node.value:
            if key.value in named:
                line = key.start_mark.line + 1
                raise SettingsError(f"line {line}: {key.value!r} is set twice. Keep one.")
            named.add(str(key.value))
        return super().construct_mapping(node, deep)


def _settings_in(file: Path, kind: type[Any]) -> dict[str, Any]:
    """The settings in a YAML file, its paths independent of the working directory."""
    try:
        if file.stat().st_size > _MAX_FILE_BYTES:
            raise SettingsError(f"{file}: is larger than {_MAX_FILE_BYTES:,} bytes.")
        values = yaml.load(file.read_text(encoding="utf-8"), Loader=_OnceLoader)  # noqa: S506
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"--config {file}: cannot be read ({error}).") from error
    except SettingsError as error:
        raise SettingsError(f"--config {file}: {error}") from error
    except yaml.YAMLError as error:
        place = str(error).replace("\n", " ")
        raise SettingsError(f"--config {file}: is not YAML ({place}).") from error
    if not isinstance(values, dict):
        raise SettingsError(f"--config {file}: must hold 'setting: value' lines.")
    hints = get_type_hints(kind)
    for name, value in values.items():
        if name not in hints:
            raise SettingsError(f"--config {file}: there is no setting {name!r}. See --help.")
        if hints[name] is Target and isinstance(value, str):
            values[name] = str(file.parent / Path(value).expanduser())
        elif Place in (hints[name], *get_args(hints[name])):
            if isinstance(value, str):
                values[name] = _relative_to(file, value)
            elif isinstance(value, list):
                values[name] = [_relative_to(file, v) if isinstance(v, str) else v for v in value]
    return values


def _written_out(flags: Sequence[str], kind: type[Any]) -> list[str]:
    """Flags as jsonargparse reads them.

    `--views tree,bm25` becomes `--views [tree,bm25]`, `--grid` alone `--grid=true`, and the name
    of a setting may be written with dashes.
    """
    hints = get_type_hints(kind)
    lists = {f"--{name}" for name, hint in hints.items() if get_origin(hint) is tuple}
    switches = {f"--{name}" for name, hint in hints.items() if hint is bool}
    written: list[str] = []
    for flag, following in zip_longest(flags, flags[1:], fillvalue="--"):
        name, equals, value = flag.partition("=")
        if name.startswith("--") and (plain := name[2:].replace("-", "_")) in hints:
            name = f"--{plain}"
            flag = name + equals + value
        if flag in switches and following.startswith("--"):
            flag = f"{flag}=true"
        if name in lists and equals and not value.startswith("["):
            flag = f"{name}=[{value}]"
        elif written and written[-1] in lists and not flag.startswith(("[", "--")):
            flag = f"[{flag}]"
        written.append(flag)
    return written


def _as_flags(values: dict[str, Any]) -> list[str]:
    """Settings as flags, so that a file is checked and converted like what is typed."""
    return [
        f"--{name}={value if isinstance(value, str) else json.dumps(value, default=str)}"
        for name, value in values.items()
    ]


def _relative_to(file: Path, value: str) -> str:
    path = file.parent / Path(value).expanduser()
    # A name, such as "aldermere" or one of the Hugging Face Hub, is not a path next to the file.
    return str(path) if path.exists() or value.startswith((".", "/", "~")) else value
