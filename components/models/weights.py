"""Weights on disk: saving our own modules, and checking that files hold all of a model."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import torch
from pydantic import Field
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from components.models.folder import ModelError

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
        except (OSError, ValueError, TypeError, RuntimeError, SafetensorError) as error:
            reason = " ".join(str(error).split())  # torch lists what does not fit line by line
            raise ModelError(
                f"{folder}: the {cls.description} cannot be read: {reason}. Copy the model again."
            ) from error
        return module.eval()


Dropout = Annotated[float, Field(ge=0, lt=1)]
"""A probability that is not certain."""


def check_heads(module: str, heads: int, *widths: int) -> None:
    """Refuse a number of attention heads that does not divide every width.

    Raises:
        ModelError: Names the argument.
    """
    for width in widths:
        if width % heads:
            raise ModelError(f"{module}.heads is {heads}; it must divide {width}.")


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


def check_loaded(
    encoder: nn.Sequential, reports: Sequence[Mapping[str, Any]], *, fresh_head: bool = False
) -> None:
    """Refuse a model unless its files hold exactly its weights.

    transformers fills a missing weight with random numbers, ignores an unexpected one, and only
    logs both. Two exceptions are accepted: a pooler that nothing reads, missing or left over; and,
    in a checkpoint of another architecture, the heads of its own task (`cls`, `lm_head`), which an
    encoder does not use.

    Args:
        encoder: What sentence-transformers opened, with `ignore_mismatched_sizes`.
        reports: What `opening` collected while it did.
        fresh_head: Accept a checkpoint of another architecture without the head that `encoder` has
            on its base model: training starts with a random one.

    Raises:
        ModelError: Says how many weights are at fault and names the first.
    """
    # Imported here: it takes seconds, which a command that only reads its settings should not pay.
    from sentence_transformers.base.modules import Transformer

    reader = encoder[0]
    if not isinstance(reader, Transformer):
        return  # a StaticEmbedding is as large as its file; others are refused for what they are
    (report,), model = reports, reader.model
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
    mismatched = {name for name, *_ in report["mismatched_keys"]}
    for names, fault in (
        (missing, "of its weights are missing from its files"),
        (unexpected, "weights in its files are not its own"),
        (mismatched, "weights have another shape than its configuration says"),
    ):
        if names:
            raise ModelError(f"{len(names)} {fault} (first {min(names)!r}). Copy the model again.")


def _of_base_model(names: Collection[str], model: PreTrainedModel) -> set[str]:
    """Weights of a base model, stored at whatever depth, without those of heads on top of it."""
    own = {name.partition(".")[0] for name in model.base_model.state_dict()}
    prefix = f"{model.base_model_prefix}."
    return {
        name for name in names if name.startswith(prefix) or not own.isdisjoint(name.split("."))
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
    """Refuse a folder whose weights are pickles or adapters, or that has none.

    Raises:
        ModelError: Names the file, or the folder.
    """
    for adapter in folder.rglob("adapter_config.json"):
        raise ModelError(f"{adapter}: is of an adapter. Merge it into its model first.")
    for pickled in folder.rglob("pytorch_model*.bin"):
        if not any(pickled.parent.glob("*.safetensors")):
            raise ModelError(
                f"{pickled}: these weights are a pickle, which can run code when it is opened. "
                "Give a copy of the model with model.safetensors."
            )
    for index in folder.rglob("*.safetensors.index.json"):
        try:
            names = map(str, json.loads(index.read_bytes())["weight_map"].values())
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ModelError(f"{index}: lists no files of weights ({error!r:.80}).") from error
        for name in names:
            if not name.endswith(".safetensors") or name != Path(name).name:
                raise ModelError(f"{index}: names the file {name!r:.80}, which holds no weights.")
    if not any(folder.rglob("*.safetensors")):
        raise ModelError(f"{folder}: holds no weights (model.safetensors). Copy the model again.")


_loading = threading.RLock()


@contextmanager
def opening(folder: Path, what: str) -> Iterator[list[Mapping[str, Any]]]:
    """A block that opens a folder of weights; every error in it becomes a ModelError.

    Args:
        folder: It must hold safetensors; every message names it.
        what: What it is opened as.

    Yields:
        What transformers says of each set of weights that it loads in the block, for
        `check_loaded`.

    Raises:
        ModelError: It holds no such model that can be opened without running foreign code.
    """
    check_weight_files(folder)
    try:
        with _loading, no_progress_bars(), _load_reports() as reports:
            yield reports
    except ModelError as error:
        raise ModelError(f"{folder}: {error}") from error
    except Exception as error:  # each of the libraries below raises errors of its own
        if "trust_remote_code" in str(error):
            raise ModelError(
                f"{folder}: this model needs code that comes with it (trust_remote_code), which "
                "Lexarbor does not run. Choose another, or a copy in transformers' own format."
            ) from error
        # The second line of torch's errors names the first weight that does not fit.
        lines = (str(error).strip() or type(error).__name__).splitlines()[:2]
        reason = " ".join(line.strip() for line in lines)
        raise ModelError(
            f"{folder}: cannot be opened as a {what}: {reason} Copy the model again."
        ) from error


@contextmanager
def _load_reports() -> Iterator[list[Mapping[str, Any]]]:
    """Collect transformers' reports of what it loads, in place of the table that it logs."""
    from transformers import PreTrainedModel

    # sentence-transformers does not pass the report on.
    original: Any = vars(PreTrainedModel)["from_pretrained"]
    reports: list[Mapping[str, Any]] = []
    logger = logging.getLogger("transformers.modeling_utils")
    was_disabled, own = logger.disabled, threading.get_ident()

    def from_pretrained(cls: type[PreTrainedModel], *args: Any, **options: Any) -> Any:
        if threading.get_ident() != own:  # somebody else's load, at the same time
            return original.__func__(cls, *args, **options)
        model, report = original.__func__(cls, *args, output_loading_info=True, **options)
        reports.append(report)
        return model

    logger.disabled = True
    setattr(PreTrainedModel, "from_pretrained", classmethod(from_pretrained))  # noqa: B010
    try:
        yield reports
    finally:
        setattr(PreTrainedModel, "from_pretrained", original)  # noqa: B010
        logger.disabled = was_disabled


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
