"""Weights on disk: saving our own modules, and checking that files hold all of a model."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from components.models.errors import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"

# Constant buffers that older versions of transformers saved along with the weights.
_BUFFERS = {"position_ids", "token_type_ids"}


class SavedModule(nn.Module):
    """A module that is saved as its arguments and its weights.

    Attributes:
        description: Its name in messages.
        arguments: Arguments that build it again, except the weights.
    """

    description: ClassVar[str]
    arguments: Mapping[str, Any]

    def save(self, folder: Path) -> None:
        """Write `config.json` and `model.safetensors` into `folder`, made if absent."""
        folder.mkdir(parents=True, exist_ok=True)
        config = json.dumps(self.arguments, indent=2, sort_keys=True)
        (folder / CONFIG_FILE).write_text(config + "\n", encoding="utf-8")
        weights = {name: tensor.detach().cpu() for name, tensor in self.state_dict().items()}
        save_file(weights, folder / WEIGHTS_FILE)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote, onto the CPU, in evaluation mode.

        Raises:
            ModelError: A file is missing or broken, the weights do not fit the configuration, or a
                weight is not a finite number.
        """
        try:
            module = cls(**json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8")))
            module.load_state_dict(load_file(folder / WEIGHTS_FILE))
            check_finite(module)
        except ModelError as error:
            raise ModelError(f"{folder}: the {cls.description} cannot be read: {error}") from error
        except (OSError, ValueError, TypeError, RuntimeError, SafetensorError) as error:
            reason = " ".join(str(error).split())  # torch lists what does not fit line by line
            raise ModelError(
                f"{folder}: the {cls.description} cannot be read: {reason}. Copy the model again."
            ) from error
        return module.eval()


def check_arguments(
    module: str,
    counts: Mapping[str, int],
    dropout: float,
    choices: Mapping[str, tuple[str, Collection[str]]],
) -> None:
    """Check the arguments of a head or graph network.

    Args:
        module: Its name in messages.
        counts: Whole numbers from 1, "dim" and "heads" among them; heads divide the width.
        dropout: A probability below 1.
        choices: The value of each option, and the values it can have.

    Raises:
        ModelError: Names the argument.
    """
    for name, value in counts.items():
        if value < 1:
            raise ModelError(f"{module}.{name} is {value}; it must be at least 1.")
    if counts["dim"] % counts["heads"]:
        raise ModelError(f"{module}.heads is {counts['heads']}; it must divide {counts['dim']}.")
    if not 0 <= dropout < 1:
        raise ModelError(f"{module}.dropout is {dropout}; it must lie in [0, 1).")
    for name, (choice, known) in choices.items():
        if choice not in known:
            listed = ", ".join(known)
            raise ModelError(f"{module}.{name} is {choice!r}; it must be one of {listed}.")


def check_finite(module: nn.Module) -> None:
    """Refuse weights that are not finite numbers; safetensors loads them silently.

    Raises:
        ModelError: Names the first tensor with a NaN or an infinity in it.
    """
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        # The extremes show NaN and infinity without a second tensor: embeddings are large.
        numbers = tensor.is_floating_point() and tensor.numel() > 0
        if numbers and not all(map(torch.isfinite, torch.aminmax(tensor))):
            raise ModelError(f"its weights {name!r} hold NaN or infinity. Use an earlier copy.")


def check_loaded(encoder: nn.Sequential, folder: Path, *, fresh_head: bool = False) -> None:
    """Refuse a model unless its files hold exactly its weights.

    transformers fills a missing weight with random numbers, ignores an unexpected one, and only
    logs both. Two exceptions are accepted: a pooler that nothing reads, missing or left over; and,
    in a checkpoint of another architecture, the heads of its own task (`cls`, `lm_head`), which an
    encoder does not use.

    Args:
        encoder: What sentence-transformers opened from `folder`, with `ignore_mismatched_sizes`.
        folder: Its folder of safetensors.
        fresh_head: Accept a checkpoint of another architecture without the head that `encoder` has
            on its base model: training starts with a random one.

    Raises:
        ModelError: Says how many weights are at fault and names the first.
    """
    # Imported here: it takes seconds, which a command that only reads its settings should not pay.
    from sentence_transformers.base.modules import Transformer

    reader = encoder[0]
    if not isinstance(reader, Transformer):
        return  # which is refused for what it is
    part = folder
    if (folder / "modules.json").exists():
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        part = folder / modules[0]["path"]
    model = reader.model
    # Opened a second time, because sentence-transformers does not pass the report on: without its
    # weights, of which names and shapes are enough, and without the random numbers that would
    # otherwise be drawn for missing ones.
    with torch.random.fork_rng(devices=[]):
        opened: Any = type(model).from_pretrained(
            None,
            config=model.config,
            state_dict=_empty_weights(part),
            dtype=torch.float32,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
    report = opened[1]
    missing = set(report["missing_keys"])
    unexpected = {
        name
        for name in _without_pooler(report["unexpected_keys"])
        if _BUFFERS.isdisjoint(name.split("."))
    }
    pooler_is_read = any(
        mode["method_output_name"] != "last_hidden_state"
        for mode in reader.modality_config.values()
    )
    if type(model).__name__ not in (model.config.architectures or ()):
        unexpected = _of_base_model(unexpected, model)
        if fresh_head:
            missing = _of_base_model(missing, model)
            pooler_is_read = False  # it is trained along with the head
    if not pooler_is_read:
        missing = _without_pooler(missing)
    faults = []
    if missing:
        first = next(name for name in model.state_dict() if name in missing)
        faults.append(f"{len(missing)} of its weights are missing from its files (first {first!r})")
    if unexpected:
        faults.append(f"{len(unexpected)} in its files are not its own (first {min(unexpected)!r})")
    if mismatched := report["mismatched_keys"]:
        faults.append(f"{min(mismatched)[0]!r} has another shape than its configuration says")
    if faults:
        raise ModelError(f"{'; '.join(faults)}. Copy the model again.")


def _empty_weights(part: Path) -> dict[str, torch.Tensor]:
    """What a folder's safetensors hold, by name and shape; all zero, in no memory."""
    index = part / f"{WEIGHTS_FILE}.index.json"
    whole = (part / WEIGHTS_FILE).exists()
    weights = {}
    for file in [WEIGHTS_FILE] if whole else sorted(_files_named_in(index)):
        with safe_open(part / file, "pt") as stored:
            for name in stored.keys():  # noqa: SIM118 - it is not a mapping
                weights[name] = torch.zeros(()).expand(stored.get_slice(name).get_shape())
    return weights


def _of_base_model(names: Collection[str], model: PreTrainedModel) -> set[str]:
    """Weights of a base model, stored at whatever depth, without those of heads on top of it."""
    own = {name.partition(".")[0] for name in model.base_model.state_dict()}
    prefix = f"{model.base_model_prefix}."
    # Of an encoder-decoder we open the encoder alone.
    return {
        name
        for name in names
        if (name.startswith(prefix) and not name.startswith(f"{prefix}decoder."))
        or not own.isdisjoint(name.split("."))
    }


def _without_pooler(names: Collection[str]) -> set[str]:
    return {name for name in names if "pooler" not in name.split(".")}


# How sentence-transformers opens a folder: nothing is fetched, no foreign code runs.
OPENED_SAFELY: Mapping[str, Any] = {
    "device": "cpu",
    "local_files_only": True,
    "trust_remote_code": False,
    "model_kwargs": {
        # A checkpoint opens in its stored format; the masters of the weights are float32.
        "dtype": torch.float32,
        "use_safetensors": True,
        # `check_loaded` refuses them, and names the first.
        "ignore_mismatched_sizes": True,
    },
}


def check_weight_files(folder: Path) -> None:
    """Refuse a folder whose weights are pickles, or that has none.

    Raises:
        ModelError: Names the file, or the folder.
    """
    for pickled in folder.rglob("pytorch_model*.bin"):
        if not any(pickled.parent.glob("*.safetensors")):
            raise ModelError(
                f"{pickled}: these weights are a pickle, which can run code when it is opened. "
                "Give a copy of the model with model.safetensors."
            )
    for index in folder.rglob("*.safetensors.index.json"):
        for name in _files_named_in(index):
            if not name.endswith(".safetensors") or name != Path(name).name:
                raise ModelError(
                    f"{index}: names the file {name!r:.80}, not a *.safetensors file next to it."
                )
    if not any(folder.rglob("*.safetensors")):
        raise ModelError(f"{folder}: holds no weights (model.safetensors). Copy the model again.")


def _files_named_in(index: Path) -> set[str]:
    try:
        return {str(name) for name in json.loads(index.read_bytes())["weight_map"].values()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelError(f"{index}: lists no files of weights ({error!r:.80}).") from error


@contextmanager
def opening(folder: Path, what: str) -> Iterator[None]:
    """A block that opens a folder of weights; every error in it becomes a ModelError.

    Args:
        folder: It must hold safetensors; every message names it.
        what: What it is opened as.

    Raises:
        ModelError: It holds no such model that can be opened without running foreign code.
    """
    check_weight_files(folder)
    try:
        with no_progress_bars(), _no_load_report():
            yield
    except ModelError as error:
        raise ModelError(f"{folder}: {error}") from error
    except Exception as error:  # each of the libraries below raises errors of its own
        # The second line of torch's errors names the first weight that does not fit.
        lines = (str(error).strip() or type(error).__name__).splitlines()[:2]
        reason = " ".join(line.strip() for line in lines)
        raise ModelError(
            f"{folder}: cannot be opened as a {what}: {reason} Copy the model again."
        ) from error


@contextmanager
def _no_load_report() -> Iterator[None]:
    """A block without the table of weights that transformers logs; `check_loaded` reads it."""
    logger = logging.getLogger("transformers.modeling_utils")

    def without_report(record: logging.LogRecord) -> bool:
        return "LOAD REPORT" not in record.getMessage()

    logger.addFilter(without_report)
    try:
        yield
    finally:
        logger.removeFilter(without_report)


@contextmanager
def no_progress_bars() -> Iterator[None]:
    """A block in which transformers shows no progress bars."""
    from transformers.utils import logging as transformers_logging

    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]
