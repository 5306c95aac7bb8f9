"""The bi-encoder that training starts from, and its frozen layers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import cast

import torch
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling
from torch import nn
from transformers import PreTrainedModel

from components.models.biencoder import BiEncoder
from components.models.encoding import HierarchicalArticleHead, Tower, open_tower
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
        raise SettingsError(f"head: {settings.starting_model} already has a head. Leave head out.")
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
    manifest = manifest_of(find_model(settings.starting_model))
    if manifest is not None and manifest.text_rule != settings.text_rule:
        say(f"{settings.starting_model} was trained with the text_rule {manifest.text_rule}")
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
        raise SettingsError("frozen_layers: nothing is left to train. Freeze fewer.")
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
    parts = () if manifest is None else manifest.parts
    return {part: folder / part for part in sorted(parts) if part not in without}


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
        raise SettingsError(f"frozen_layers is {n_layers}, but there are {len(layers)} layers.")
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
    raise SettingsError(f"frozen_layers: a {type(model).__name__} has no layers that are known.")


def _opened(settings: CusinesSettings) -> BiEncoder:
    if settings.query_model is None or settings.passage_model is None:
        return BiEncoder.load(settings.starting_model, device="cpu", dtype=settings.dtype)
    towers: list[Tower] = []
    segmentation = None
    for side, name in (("query", settings.query_model), ("passage", settings.passage_model)):
        folder = find_model(name)
        if (manifest := manifest_of(folder)) is not None:
            if side == "passage" and HEAD_PART in manifest.parts and settings.head == "none":
                raise ModelError(f"{name}: has a head, which two towers do not take over: give one")
            segmentation = segmentation or manifest.segmentation
            folder = folder / manifest.towers.get(side, QUERY_PART)
        towers.append(open_tower(folder))
    query, passage = towers
    return BiEncoder(query, passage, segmentation=segmentation, dtype=settings.dtype)


def _set_pooling(tower: Tower, pooling: StartPooling) -> None:
    if pooling == "model":
        return
    pools = list(tower.encoder)[1:2]
    if not pools or not isinstance(pools[0], Pooling):
        raise ModelError(f"pooling {pooling}: the model does not pool by itself. Leave pooling out")
    tower.encoder[1] = Pooling(pools[0].embedding_dimension, pooling_mode=pooling)
