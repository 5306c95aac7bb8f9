"""The bi-encoder that training starts from, and its frozen layers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling
from torch import Tensor, nn
from transformers import PreTrainedModel

from components.models.biencoder import BiEncoder
from components.models.encoding import (
    Tower,
    open_towers,
)
from components.models.errors import ModelError
from components.models.folder import (
    HEAD_PART,
    PARTS,
    QUERY_PART,
    RANKER_PART,
    PartWriter,
    find_model,
    manifest_of,
    model_digest,
)
from components.models.head import HierarchicalArticleHead
from training.command_line import SettingsError, say
from training.settings import CusinesSettings, StartPooling, only_where


def set_dropout(model: nn.Module, probability: float) -> None:
    """Set the dropout probability everywhere in a model."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = probability
        # Functional dropout, as in some attention, has its probability in an attribute.
        for name in ("dropout", "attention_dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, probability)


def starting_model(settings: CusinesSettings, device: torch.device) -> BiEncoder:
    """Open the towers, with the requested pooling, length and head.

    The same settings give the same model, weight for weight, if the caller has seeded torch.

    Raises:
        ModelError: A model cannot be opened, or the parts do not fit together.
        SettingsError: More layers are to be frozen than a tower has, nothing is left to train, or a
            rate is given for a head that does not exist.
    """
    model = _opened(settings)
    towers = {id(tower): tower for tower in (model.query, model.passage)}.values()
    for tower in towers:
        _set_pooling(tower, settings.pooling)
        if settings.similarity != "cosine":
            for place in reversed(range(len(tower.encoder))):
                if isinstance(tower.encoder[place], Normalize):  # lengths count for dot and l2
                    del tower.encoder[place]
        if settings.dropout is not None:
            set_dropout(tower, settings.dropout)
    head = model.head
    if head is not None and settings.head != "none":
        raise SettingsError(
            f"head is {settings.head}, but {settings.starting_model} already has a head, and "
            "training continues with it. Leave head out, or start from a model without one."
        )
    only_where(settings, head is not None or settings.head != "none", "a head", "head_lr")
    if settings.head != "none":
        head = HierarchicalArticleHead(
            model.dim,
            model.passage.attention_heads,
            passage_tokens=settings.passage_tokens,
            max_passages=settings.max_passages,
            pooling=settings.head_pooling,
            init=settings.head,
        )
    # Articles are then not read as the starting model has learnt to.
    manifest = manifest_of(find_model(settings.starting_model))
    if manifest is not None and manifest.text_rule != settings.text_rule:
        say(
            f"text_rule is {settings.text_rule}, but {settings.starting_model} was trained with "
            f"{manifest.text_rule}. It now learns the new rule; to keep the old one, give "
            f"text_rule {manifest.text_rule}"
        )
    if settings.max_tokens is not None:
        for tower in towers:
            tower.limit(settings.max_tokens)
    started = BiEncoder(
        model.query,
        None if model.siamese else model.passage,
        head,
        prompts=model.prompts,
        text_rule=settings.text_rule,
        segmentation=settings.segmentation or model.segmentation,
        similarity=settings.similarity,
        dtype=settings.dtype,
        name=settings.starting_model,
    )
    started.to(device)
    for tower in towers:
        freeze(tower, settings.frozen_layers)
    started.eval()
    if not any(weight.requires_grad for weight in started.parameters()):
        raise SettingsError(
            f"frozen_layers is {settings.frozen_layers}, so nothing is left to train: the model "
            "has no more layers. Freeze fewer, or train a head."
        )
    return started


def starting_digests(settings: CusinesSettings) -> dict[str, str]:
    """Digest of each model that training starts from, by the setting that names it.

    Raises:
        ModelError: There is no such model.
    """
    names = {
        "model": settings.starting_model if settings.query_model is None else None,
        "query_model": settings.query_model,
        "passage_model": settings.passage_model,
    }
    return {f"{key}_sha256": model_digest(find_model(n)) for key, n in names.items() if n}


OF_ITS_VECTORS = frozenset(PARTS) - {RANKER_PART}
"""Parts that a newly trained bi-encoder replaces or makes invalid; a ranker stays valid."""


def kept_parts(model: str, without: Collection[str]) -> dict[str, Path | PartWriter]:
    """Parts of a model's folder to carry over; none from a model that is not Lexarbor's.

    Args:
        model: Name or folder.
        without: Parts that are left out.
    """
    folder = find_model(model)
    manifest = manifest_of(folder)
    parts = sorted(manifest.parts) if manifest is not None else []
    kept: dict[str, Path | PartWriter] = {
        part: folder / part for part in parts if part not in without
    }
    return kept


def freeze(tower: Tower, n_layers: int) -> None:
    """Freeze the first layers of a tower and all weights that are in no layer, without dropout.

    Some encoders (MPNet, DeBERTa) have position weights outside the layers which every layer uses.

    Raises:
        SettingsError: The tower has fewer layers, or its layers cannot be found.
    """
    if n_layers == 0:
        return
    layers = layers_of(tower)
    if n_layers > len(layers):
        raise SettingsError(
            f"frozen_layers is {n_layers}, and the model has {len(layers)} layers. Freeze fewer."
        )
    tower.requires_grad_(False)
    for layer in layers[n_layers:]:
        layer.requires_grad_(True)


def train_mode(model: BiEncoder) -> None:
    """Switch to training mode, except in wholly frozen modules, where dropout stays off."""
    model.train()
    for module in _frozen(model):
        module.eval()


def _frozen(module: nn.Module) -> Iterator[nn.Module]:
    for child in module.children():
        parameters = list(child.parameters())
        if parameters and not any(parameter.requires_grad for parameter in parameters):
            yield child
        else:
            yield from _frozen(child)


def layers_of(tower: Tower) -> nn.ModuleList:
    """The layers of a Transformer from the first to the last.

    Raises:
        SettingsError: They cannot be found.
    """
    model = cast(PreTrainedModel, tower.encoder.transformers_model)
    n_layers = getattr(model.config, "num_hidden_layers", None)
    for module in model.modules():
        if isinstance(module, nn.ModuleList) and len(module) == n_layers:
            return module
    raise SettingsError(
        f"frozen_layers: the layers of a {type(model).__name__} cannot be told apart. "
        "Train it whole: frozen_layers 0."
    )


def _opened(settings: CusinesSettings) -> BiEncoder:
    if settings.query_model is None or settings.passage_model is None:
        return BiEncoder.load(settings.starting_model, device="cpu", dtype=settings.dtype)
    towers: list[Tower] = []
    segmentation = None
    for side, name in (("query", settings.query_model), ("passage", settings.passage_model)):
        folder = find_model(name)
        has_head = False
        if (manifest := manifest_of(folder)) is not None:
            has_head = side == "passage" and HEAD_PART in manifest.parts
            segmentation = segmentation or manifest.segmentation
            folder = folder / manifest.towers.get(side, QUERY_PART)
        tower, second = open_towers(folder)
        if second is not None:
            raise ModelError(f"{name}: already holds two towers. Give it as model.")
        if has_head and settings.head == "none":
            raise ModelError(
                f"{name}: has a head, which two towers do not take over. Name a head to train "
                "(--head), or give a model without one."
            )
        towers.append(tower)
    query, passage = towers
    return BiEncoder(query, passage, segmentation=segmentation, dtype=settings.dtype)


def _set_pooling(tower: Tower, pooling: StartPooling) -> None:
    if pooling == "model":
        return
    pools = list(tower.encoder)[1:2]
    if not pools or not isinstance(pools[0], Pooling):
        raise ModelError(
            f"pooling {pooling}: the model does not pool by itself. Leave pooling at 'model'."
        )
    width = pools[0].embedding_dimension
    tower.encoder[1] = Pooling(width, pooling_mode=pooling)


# Limit for states kept on the device; batches beyond it are computed each time.
MOST_BYTES = 2 << 30


class FrozenStates:
    """Replays the frozen layers of a tower for batches that it has encoded before.

    A batch is recognised by its token ids and their mask, so the order of batches does not matter.
    States are kept in full precision: the vectors are bit for bit the same with and without.

    Args:
        tower: Its first layers are frozen.
        n_layers: How many layers, at least one.
        most_bytes: Limit for all states together.
    """

    def __init__(self, tower: Tower, n_layers: int, most_bytes: int = MOST_BYTES) -> None:
        self._tower = tower
        self._layers = list(layers_of(tower))[:n_layers]
        self._most_bytes = most_bytes
        self._kept: dict[bytes, Any] = {}
        self._bytes = 0
        self._batch = b""

    @contextmanager
    def replaying(self) -> Iterator[None]:
        """Within this block, skip frozen layers for known batches; no gradients."""
        *lower, last = self._layers
        hook = self._tower.register_forward_pre_hook(self._see)
        try:
            for layer in lower:
                layer.forward = self._skipping(layer.forward)
            last.forward = self._replaying(last.forward)
            yield
        finally:
            hook.remove()
            for layer in self._layers:
                del layer.forward  # the class's own is called again

    def _see(self, _: nn.Module, inputs: tuple[Any, ...]) -> None:
        ids: Tensor = inputs[0]
        # A text may contain the padding token itself: ids alone do not say what is padding.
        mask: Tensor | None = inputs[1]
        digest = hashlib.sha256(str(tuple(ids.shape)).encode())
        for part in (ids, mask):
            digest.update(b"" if part is None else part.cpu().numpy().tobytes())
        self._batch = digest.digest()

    def _skipping(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        def skip(states: Tensor, *arguments: Any, **named: Any) -> Any:
            if self._batch not in self._kept:
                return forward(states, *arguments, **named)
            kept = self._kept[self._batch]
            # Some layers return more than their states: repeat everything that they returned.
            return (states, *kept[1:]) if isinstance(kept, tuple) else states

        return skip

    def _replaying(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        def replay(states: Tensor, *arguments: Any, **named: Any) -> Any:
            if self._batch in self._kept:
                return self._kept[self._batch]
            made = forward(states, *arguments, **named)
            outputs = made if isinstance(made, tuple) else (made,)
            size = sum(part.nbytes for part in outputs if isinstance(part, Tensor))
            if self._bytes + size <= self._most_bytes:
                self._kept[self._batch] = made
                self._bytes += size
            return made

        return replay
