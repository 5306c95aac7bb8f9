"""Pipeline files: finding them, and reading one without trusting it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent
MAX_BYTES = 65_536
MAX_DEPTH = 20
WRITER = "haystack.components.writers.document_writer.DocumentWriter"

# libyaml if available: the pure Python parser needs a second for the largest file.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NO_ANCHORS = (
    "Write the value out instead. If dumps() wrote it, components share a value: give each a "
    "copy.deepcopy of it, and dump again."
)


class LoadingError(ValueError):
    """A pipeline cannot be loaded; the message says what, where, and how to fix it."""


def pipeline_names() -> list[str]:
    """Names of the pipelines that come with Lexarbor."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def names_to_ask() -> list[str]:
    """Names of the pipelines that answer questions, without those that fill a store."""
    return [
        name
        for name in pipeline_names()
        if not fills_a_store(read_pipeline_file(FOLDER / f"{name}.yaml"))
    ]


def fills_a_store(definition: Mapping[str, Any]) -> bool:
    """Whether an unchecked definition writes into a store."""
    return any(type_ == WRITER for _, type_, _ in components_in(definition))


def pipeline_file(name_or_path: str | Path) -> Path:
    """The file of a pipeline given by name ("hybrid") or by path ("my/hybrid.yaml").

    Raises:
        LoadingError: there is no such pipeline; says which name may be meant.
    """
    text = str(name_or_path)
    if text in pipeline_names():
        return FOLDER / f"{text}.yaml"
    path = Path(name_or_path).expanduser()
    if path.is_file():
        return path
    if path.suffix in (".yaml", ".yml") or len(path.parts) > 1:
        raise LoadingError(f"There is no pipeline file {text}. Check the path.")
    raise LoadingError(
        f"There is no pipeline '{text}'{did_you_mean(text, pipeline_names())}. "
        f"The names are {', '.join(names_to_ask())}; a file is given by its path."
    )


def store_named_in(name_or_path: str | Path) -> str | None:
    """Path of the store that a pipeline's file names, or None if it leaves it open.

    Raises:
        LoadingError: there is no such pipeline, or its file is refused.
    """
    for _, _, parameters in components_in(read_pipeline_file(pipeline_file(name_or_path))):
        store = parameters.get("document_store")
        inside = store.get("init_parameters") if isinstance(store, dict) else None
        if isinstance(inside, dict) and isinstance(inside.get("path"), str):
            return str(inside["path"])
    return None


def components_in(definition: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name, class and parameters of every component of an unchecked definition.

    Invalid components are skipped, and invalid parameters count as empty: the loader refuses both
        later and says where. The parameters are the definition's own and may be changed.
    """
    components = definition.get("components")
    for name, fields in components.items() if isinstance(components, dict) else ():
        if isinstance(fields, dict) and isinstance(fields.get("type"), str):
            parameters = fields.get("init_parameters")
            yield name, fields["type"], parameters if isinstance(parameters, dict) else {}


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """' (did you mean ...?)' for the nearest known word, or nothing."""
    near = difflib.get_close_matches(str(word), list(known), n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""


def read_pipeline_file(path: Path) -> dict[str, Any]:
    """The mapping that a pipeline file holds, as plain values.

    It refuses, before anything is built: files over `MAX_BYTES`, anchors and aliases (a few hundred
        bytes of them can expand to gigabytes), tags, nesting deeper than `MAX_DEPTH`, several
        documents, and repeated keys.

    Raises:
        LoadingError: the file is refused or not YAML; the message starts with file and line.
    """
    try:
        size = path.stat().st_size
        raw = path.read_bytes() if size <= MAX_BYTES else b""
    except OSError as error:
        raise LoadingError(f"{path} cannot be read ({error.strerror}).") from error
    if size > MAX_BYTES:
        raise LoadingError(f"{path} has {size:,} bytes; a pipeline file has at most {MAX_BYTES:,}.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise LoadingError(f"{path} is not UTF-8 text. Save it as UTF-8.") from error
    try:
        _check_events(path, text)
        document = _built(path, text)
    except yaml.YAMLError as error:
        raise LoadingError(f"{path}: is not YAML ({_one_line(error)}).") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, LoadingError):
            raise
        raise LoadingError(f"{path}: holds a value that cannot be read ({error}).") from error
    if not isinstance(document, dict):
        raise LoadingError(f"{path}: must hold a mapping with 'components' and 'connections'.")
    return document


def _check_events(path: Path, text: str) -> None:
    # One entry per open collection: for a mapping its current key (None: a key comes next), for a
    # sequence always "".
    inside: list[str | None] = []
    documents = 0
    for event in yaml.parse(text, Loader=_Loader):
        keys = ".".join(key for key in inside if key)
        where = f"{path}:{_line(event)}: {keys and keys + ': '}"
        if isinstance(event, yaml.AliasEvent):
            raise LoadingError(f"{where}alias '*{event.anchor}'. {_NO_ANCHORS}")
        if isinstance(event, yaml.NodeEvent) and event.anchor:
            raise LoadingError(f"{where}anchor '&{event.anchor}'. {_NO_ANCHORS}")
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise LoadingError(f"{where}tag '{tag}'. Pipeline files have plain values only.")
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise LoadingError(f"{where}a second YAML document. Keep one per file.")
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(inside) == MAX_DEPTH:
                raise LoadingError(f"{where}nested deeper than {MAX_DEPTH} levels.")
            inside.append(None if isinstance(event, yaml.MappingStartEvent) else "")
        elif isinstance(event, yaml.ScalarEvent) and inside and inside[-1] is None:
            inside[-1] = event.value[:60]
        elif isinstance(event, yaml.CollectionEndEvent | yaml.ScalarEvent):
            if isinstance(event, yaml.CollectionEndEvent):
                inside.pop()
            if inside and inside[-1] != "":
                inside[-1] = None


def _built(path: Path, text: str) -> Any:
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        for mapping in _mappings(node):
            seen: set[str] = set()
            for key, _ in mapping.value:
                where = f"{path}:{_line(key)}"
                if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                    raise LoadingError(f"{where}: a key must be plain text. Put it in quotes.")
                if key.value in seen:
                    raise LoadingError(f"{where}: key '{key.value}' is repeated. Keep one.")
                seen.add(key.value)
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _mappings(node: Any) -> Iterator[Any]:
    if isinstance(node, yaml.MappingNode):
        yield node
        for _, value in node.value:
            yield from _mappings(value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _mappings(value)


def _line(part: yaml.Event | yaml.Node) -> int:
    return part.start_mark.line + 1 if part.start_mark else 0


def _one_line(error: yaml.YAMLError) -> str:
    return " ".join(str(error).split())
