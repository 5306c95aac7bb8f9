"""Checks of a built pipeline's sockets: what would fail or be missing, unsaid, at the first run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args, get_origin

from haystack import Document, Pipeline

from components.joiners.rank_fusion import StatuteRankFuser
from pipelines.files import LoadingError, did_you_mean

_Sockets = Mapping[str, Mapping[str, Any]]
_Declared = Mapping[str, Mapping[str, list[str]]]


def check_wiring(pipeline: Pipeline, declared: _Declared, where: str) -> None:
    """Check that the declared sockets are there, and that no component waits in vain.

    A file without inputs is run with whatever its user gives it: of it nothing is known to lack.

    Args:
        pipeline: built, its components connected.
        declared: `inputs` and `outputs`, each with its names and their `component.socket`s.
        where: the file, as messages name it.

    Raises:
        LoadingError: names the socket, and how to mend it.
    """
    inputs = pipeline.inputs(include_components_with_connected_inputs=True)
    outputs = pipeline.outputs(include_components_with_connected_outputs=True)
    for side, present in (("inputs", inputs), ("outputs", outputs)):
        for name, targets in declared[side].items():
            for component, socket in (target.split(".") for target in targets):
                if socket not in present.get(component, {}):
                    raise LoadingError(
                        f"{where}: {side}.{name}: {component} has no open socket "
                        f"'{socket}'{did_you_mean(socket, present.get(component, {}))}."
                    )
    for target in declared["outputs"].get("documents", []):
        component, socket = target.split(".")
        if not _is_list(outputs[component][socket]):
            raise LoadingError(
                f"{where}: outputs.documents: {target} is no list of documents. Name the socket "
                "that hands out the articles found, such as fuser.documents."
            )
    fed = {f"{to}.{edge['to_socket'].name}" for _, to, edge in pipeline.graph.edges(data=True)}
    fed.update(target for targets in declared["inputs"].values() for target in targets)
    for component, sockets in inputs.items() if declared["inputs"] else ():
        unfed = {name: of for name, of in sockets.items() if f"{component}.{name}" not in fed}
        _check_fed(pipeline.get_component(component), component, unfed, where)


def _check_fed(instance: object, component: str, unfed: _Sockets, where: str) -> None:
    for socket, of in unfed.items():
        if of["is_mandatory"]:
            raise LoadingError(
                f"{where}: components.{component}: nothing goes into its input '{socket}'. Connect "
                f"{component}.{socket}, name it under 'inputs', or take the component out."
            )
        # A stage without its list would be an empty one.
        if isinstance(instance, StatuteRankFuser) and _is_list(of):
            raise LoadingError(
                f"{where}: {component}.stages: nothing is connected to the stage '{socket}'. Add "
                f"the connection of a list to {component}.{socket}, or take it out of the stages."
            )
    if isinstance(instance, StatuteRankFuser) and instance.full_coverage and "query" in unfed:
        raise LoadingError(
            f"{where}: {component}.full_coverage needs the question: add {component}.query to "
            "inputs.query, or take full_coverage out."
        )


def _is_list(socket: Mapping[str, Any]) -> bool:
    type_ = socket["type"]
    return get_origin(type_) is list and get_args(type_) == (Document,)
