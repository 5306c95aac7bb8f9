"""The stages of a pipeline, and what each of them finds in one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, get_args, get_origin

import networkx as nx
from haystack import Document, Pipeline
from haystack.core.serialization import generate_qualified_class_name

from components.aliases import trusted_name
from components.joiners.rank_fusion import CITATION
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import declared_output
from pipelines.checking import LoadingError

# Seconds of each component in the current run: each thread and each task has its own.
_seconds: ContextVar[dict[str, float] | None] = ContextVar("seconds", default=None)


def time_components(pipeline: Pipeline) -> None:
    """Have the components of a pipeline note within `stopwatch` how long they work.

    Their `run` is wrapped. Haystack's spans are not used for this: there is one tracer for the
    whole process, which any other code may replace, and a component's span includes the copying
    of its inputs.

    Args:
        pipeline: the caller's own, once.
    """
    for name, instance in pipeline.walk():
        # The pipeline asks the instance, as it does for all that Haystack keeps there.
        setattr(instance, "run", _timed(name, instance.run))  # noqa: B010 - typed as a method


@contextmanager
def stopwatch() -> Iterator[Mapping[str, float]]:
    """Seconds that each component has worked in here, by its name in the file.

    They stand in the order in which the components began; one that ran more than once has the sum.
    """
    seconds: dict[str, float] = {}
    token = _seconds.set(seconds)
    try:
        yield seconds
    finally:
        _seconds.reset(token)


def _timed(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(run)
    def timed(*args: Any, **kwargs: Any) -> Any:
        seconds = _seconds.get()
        if seconds is None:
            return run(*args, **kwargs)
        seconds.setdefault(name, 0.0)
        start = time.perf_counter()
        try:
            return run(*args, **kwargs)
        finally:
            seconds[name] += time.perf_counter() - start

    return timed


BM25, DIVISION, DENSE, GRAPH, FUSED = "bm25", "division", "dense", "graph", "fused"
ANSWERED = "answered"
# By name: a pipeline without a model should not wait for the libraries of models.
_HYBRID = trusted_name("components.retrievers.hybrid.StatuteHybridRetriever")
_NAMES = {
    trusted_name("components.retrievers.citation.CitationRetriever"): CITATION,
    trusted_name("components.retrievers.bm25.StatuteBM25Retriever"): BM25,
    trusted_name("components.retrievers.embedding.StatuteEmbeddingRetriever"): DENSE,
    trusted_name("components.joiners.rank_fusion.StatuteRankFuser"): FUSED,
    _HYBRID: FUSED,
    trusted_name("components.rankers.cross_encoder.StatuteRanker"): "reranker",
}
# Components that return their input list in the same order.
_HAND_ON = (
    "haystack.components.joiners.document_joiner.DocumentJoiner",
    trusted_name("components.rankers.passages.StatutePassageRanker"),
)
_ORDER: list[str | None] = [CITATION, BM25, DIVISION, DENSE, GRAPH, ANSWERED]

Outputs = Mapping[str, Mapping[str, Any]]
"""What the components of one run handed out, by component and socket."""


@dataclass(frozen=True)
class Stage:
    """A component of a pipeline that hands out a ranked list of documents.

    Attributes:
        name: citation, bm25, dense, graph (dense over vectors that went through a graph network),
            answered, fused or reranker for Lexarbor's classes; of other classes, or where two
            stages would have one name, the component's name in the file.
        component: its name in the file.
        sockets: of its lists, one after the other.
        ranking_of: the list of a `StatuteHybridRetriever` that the stage is, in place of sockets.
        takes: names of the stages whose lists it takes; empty for one that searches the store.
        reranked: (component, socket) of the one list that it is given as `documents`; None
            where it has no such input, or several lists go into it.
        pinned: (component, socket) of the list that stands above the others, unread.
        top_k: how many it hands out at most; None where the component does not say.
        n_candidates: how many of `reranked` it ranks at most; None for all.
    """

    name: str
    component: str
    sockets: tuple[str, ...]
    ranking_of: str | None
    takes: tuple[str, ...]
    reranked: tuple[str, str] | None
    pinned: tuple[str, str] | None
    top_k: int | None
    n_candidates: int | None

    def ranks(self, outputs: Outputs) -> dict[str, int]:
        """The rank of each article that it found, by id, best first.

        Articles of one division, in a hybrid retriever's list of divisions, share theirs.

        Raises:
            LoadingError: the hybrid retriever was not asked for its lists.
        """
        if self.ranking_of is not None:
            output = outputs.get(self.component, {"rankings": {}})
            if "rankings" not in output:
                raise LoadingError(
                    f"{self.component} returned no rankings. Call ask_for_rankings(pipeline) "
                    "before the pipeline runs."
                )
            return dict(output["rankings"].get(self.ranking_of, {}))
        listed = [id_ for socket in self.sockets for id_ in _ids(outputs, (self.component, socket))]
        return {id_: rank for rank, id_ in enumerate(dict.fromkeys(listed), start=1)}

    def candidates(self, outputs: Outputs) -> tuple[list[str], list[str]]:
        """Ids of the pinned articles, and of the candidates that it was given to rank below."""
        pinned = list(dict.fromkeys(_ids(outputs, self.pinned)))
        given = dict.fromkeys(_ids(outputs, self.reranked))
        return pinned, [id_ for id_ in given if id_ not in pinned][: self.n_candidates]


def ranked_last(pipeline: Pipeline) -> tuple[str, str]:
    """Component and socket of the list that the output `documents` hands on.

    In Lexarbor's own files `passages` and `result`, a joiner of one list, hand it on in its order.

    Raises:
        LoadingError: the pipeline declares no output `documents`.
    """
    component, socket = declared_output(pipeline, "documents")
    while class_of(pipeline.get_component(component)) in _HAND_ON:
        into = [
            (sender, edge["from_socket"])
            for sender, _, edge in pipeline.graph.in_edges(component, data=True)
            if is_list(edge["from_socket"].type)
        ]
        if len(into) != 1:
            break
        component, socket = into[0][0], into[0][1].name
    return component, socket


def stages_of(pipeline: Pipeline) -> list[Stage]:
    """The stages that the pipeline's output `documents` comes from, itself the last.

    A stage is any component, ours or not, that hands out `documents`. Each stands after those that
    it depends on.

    Raises:
        LoadingError: the pipeline declares no output `documents`.
    """
    last, declared = ranked_last(pipeline)
    sockets: dict[str, tuple[str, ...]] = {
        component: tuple(each for each in ("pinned", "documents") if each in handed_out)
        for component, handed_out in pipeline.outputs(
            include_components_with_connected_outputs=True
        ).items()
        if "documents" in handed_out and is_list(handed_out["documents"]["type"])
    }
    sockets[last] = (declared,)
    above = {component: nx.ancestors(pipeline.graph, component) for component in sockets}
    kinds = {
        component: kind_of(pipeline.get_component(component))
        for component in sockets
        if component in {last, *above[last]}
    }
    names = {component: _name(component, kinds) for component in kinds}
    # What a stage depends on has fewer stages above it; equals stay in the file's order.
    ordered = sorted(
        kinds,
        key=lambda component: (
            len(above[component] & kinds.keys()),
            _ORDER.index(kinds[component]) if kinds[component] in _ORDER else len(_ORDER),
        ),
    )
    stages = []
    for component in ordered:
        stage = _stage(pipeline, component, names, sockets[component])
        inside = _lists_of(pipeline.get_component(component), stage, names.values())
        stages += [
            *inside,
            replace(stage, takes=tuple(each.name for each in inside) or stage.takes),
        ]
    return stages


def _lists_of(instance: Any, stage: Stage, names: Collection[str]) -> list[Stage]:
    """The lists that a `StatuteHybridRetriever` fuses, as stages; of other components none."""
    if class_of(instance) != _HYBRID:
        return []
    kinds = {each: each for each in (CITATION, BM25, DIVISION)}
    if instance.model is not None:
        kinds[DENSE] = kind_of(instance.dense) or DENSE
        if instance.answered_questions() is not None:
            kinds[ANSWERED] = ANSWERED
    return [
        replace(
            stage,
            name=kind if kind not in names else f"{stage.component} {kind}",
            ranking_of=ranking,
            takes=(),
            top_k=instance.citation.top_k if ranking == CITATION else instance.depth,
        )
        for ranking, kind in kinds.items()
    ]


def _stage(
    pipeline: Pipeline, component: str, names: Mapping[str, str], sockets: tuple[str, ...]
) -> Stage:
    into: dict[str, list[tuple[str, str]]] = {}
    for sender, _, edge in pipeline.graph.in_edges(component, data=True):
        if sender in names and is_list(edge["from_socket"].type):
            socket = edge["to_socket"].name
            into.setdefault(socket, []).append((sender, edge["from_socket"].name))
    lists = into.get("documents", [])
    senders = {sender for given in into.values() for sender, _ in given}
    instance = pipeline.get_component(component)
    return Stage(
        name=names[component],
        component=component,
        sockets=sockets,
        ranking_of=None,
        takes=tuple(names[sender] for sender in names if sender in senders),
        reranked=lists[0] if len(lists) == 1 else None,
        pinned=next(iter(into.get("pinned", [])), None),
        top_k=_whole_number(instance, "top_k"),
        n_candidates=_whole_number(instance, "candidates"),
    )


def parts_of(pipeline: Pipeline) -> Iterator[Any]:
    """The components of a pipeline, and the retrievers and the embedder inside a hybrid one."""
    for _, each in pipeline.walk():
        instance: Any = each
        yield instance
        if class_of(instance) == _HYBRID:
            yield from (instance.citation, instance.bm25)
            if instance.model is not None:
                yield from (instance.dense, instance.embedder)


def class_of(instance: object) -> str:
    """The name of a component's class, as pipeline files have it."""
    return generate_qualified_class_name(type(instance))


def ask_for_rankings(pipeline: Pipeline) -> None:
    """Have the hybrid retrievers of a pipeline return the lists that they fuse, its stages.

    Args:
        pipeline: the caller's own.
    """
    for _, each in pipeline.walk():
        instance: Any = each
        if class_of(instance) == _HYBRID:
            instance.with_rankings = True


def kind_of(instance: object) -> str | None:
    """The name of a component's stage by its class; None for a class that is not Lexarbor's."""
    kind = _NAMES.get(class_of(instance))
    store = getattr(instance, "document_store", None)
    if kind == DENSE and isinstance(store, StatuteDocumentStore):
        return GRAPH if store.model is not None and store.model.through_graph else DENSE
    return kind


def _name(component: str, kinds: Mapping[str, str | None]) -> str:
    kind = kinds[component]
    others = {name: other for name, other in kinds.items() if name != component}
    return component if kind is None or kind in {*others, *others.values()} else kind


def is_list(type_: object) -> bool:
    """Whether a socket has a list of documents."""
    return get_origin(type_) is list and get_args(type_) == (Document,)


def _whole_number(instance: object, attribute: str) -> int | None:
    value = getattr(instance, attribute, None)
    return value if type(value) is int else None


def _ids(outputs: Outputs, place: tuple[str, str] | None) -> Sequence[str]:
    if place is None:
        return []
    component, socket = place
    return [document.id for document in outputs.get(component, {}).get(socket) or []]
