"""load_pipeline: the one door through which pipeline files come in."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.allow_list import AllowList
from pipelines.checking import check_definition
from pipelines.files import LoadingError, did_you_mean, pipeline_file, read_pipeline_file

if TYPE_CHECKING:
    from haystack import Pipeline

__all__ = ["LoadingError", "allow_replies", "load_pipeline"]


def load_pipeline(
    name_or_path: str | Path,
    store: str | Path | None = None,
    model: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    allowed_classes: Iterable[type | str] = (),
) -> Pipeline:
    """Load a pipeline by name ("hybrid") or from a YAML file, checked and ready to run.

    ```python
    from pipelines.loading import load_pipeline

    pipeline = load_pipeline("hybrid", store="adgm.db")
    question = "May a fund manager delegate its duties?"
    documents = pipeline.run({"query": question, "text": question})["fuser"]["documents"]
    ```

    The file's `inputs` and `outputs` are in the pipeline's metadata; `pipelines.asking.ask` uses
    them, and needs no names of sockets.

    Args:
        name_or_path: name of a pipeline of Lexarbor, or path of a file.
        store: the store, in place of every path that the file gives. Where the file has
            `path: null`, the default is the demo store.
        model: the model, in place of those that the file gives. Where the file has `model: null`,
            the default is the model that the store was indexed with. A pipeline that reads none,
            such as lexical, passes it over, so that several can be loaded alike.
        overrides: `{"component.parameter": value}`, in place of what the file says.
        allowed_classes: classes that the file may name besides those of `pipelines.allow_list`,
            as classes or as "package.module.Class"; functions that it may name, by their names.
            An allowed class may do all that its parameters let it do.

    Raises:
        LoadingError: the file is refused, or its store and model do not fit; says what, where
            and how to mend it.
        StoreError: the store's file cannot be read.
        ModelError: the model cannot be loaded.
    """
    path = pipeline_file(name_or_path)
    read = _with_sides(read_pipeline_file(path))
    definition = _overridden(read, overrides or {}, str(path))
    allowed = AllowList(
        named=frozenset(
            each if isinstance(each, str) else f"{each.__module__}.{each.__name__}"
            for each in allowed_classes
        ),
        given=frozenset(overrides or {}),
    )
    modules = check_definition(definition, str(path), allowed)
    # Haystack takes seconds to import; a file that is refused is refused before that.
    from pipelines.binding import bind, check_models
    from pipelines.thresholds import fill_thresholds

    bind(definition, str(path), store, model)
    pipeline = _built(definition, path, modules)
    check_models(definition, pipeline, str(path))
    fill_thresholds(pipeline, str(path))
    return pipeline


@contextmanager
def allow_replies() -> Iterator[None]:
    """Let Haystack resume a snapshot of an answer pipeline, which has checked replies in it.

    ```python
    with allow_replies():
        pipeline.run({}, pipeline_snapshot=snapshot)
    ```

    Otherwise Haystack loads no class but its own from a snapshot. Resume your own snapshots only:
    Haystack allows all of its classes there.
    """
    # Haystack has no public way that ends: `allow_deserialization_module` holds for the process.
    from haystack.core.serialization_security import _deserialization_context

    from components.statutes.replies.checked import CheckedReply

    with _deserialization_context([CheckedReply.__module__]):
        yield


def _with_sides(definition: dict[str, Any]) -> dict[str, Any]:
    """With `inputs` and `outputs` where a pipeline's own `dumps()` have them: in its metadata."""
    metadata = definition.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    return {**{side: known[side] for side in ("inputs", "outputs") if side in known}, **definition}


def _overridden(
    definition: dict[str, Any], overrides: Mapping[str, Any], where: str
) -> dict[str, Any]:
    changed = copy.deepcopy(definition)
    components = changed.get("components")
    for key, value in overrides.items():
        name, _, parameter = key.partition(".")
        fields = components.get(name) if isinstance(components, dict) else None
        if not parameter or not isinstance(fields, dict):
            known = [f"{each}.{parameter}" for each in components or {}]
            raise LoadingError(
                f"{where}: override '{key}' names no component{did_you_mean(key, known)}. "
                "Write it as 'component.parameter'."
            )
        # A malformed init_parameters is reported by the checks that follow.
        parameters = fields.setdefault("init_parameters", {})
        if isinstance(parameters, dict):
            parameters[parameter] = value
    return changed


def _built(definition: dict[str, Any], path: Path, modules: list[str]) -> Pipeline:
    from haystack import Pipeline
    from haystack.core.errors import DeserializationError, PipelineError

    from pipelines.wiring import check_wiring

    try:
        pipeline = Pipeline.from_dict(definition, allowed_modules=modules)
    except (PipelineError, DeserializationError) as error:
        # Haystack repeats the component's whole definition before the reason.
        head = str(error).split(" with the following data", maxsplit=1)[0]
        reason = error.__cause__ if error.__cause__ else ""
        said = " ".join(f"{head}{': ' if reason else ''}{reason}".split())
        raise LoadingError(f"{path}: {said}") from error
    declared = {
        side: {
            name: [target] if isinstance(target, str) else target
            for name, target in definition.get(side, {}).items()
        }
        for side in ("inputs", "outputs")
    }
    check_wiring(pipeline, declared, str(path))
    pipeline.metadata.update(declared)
    pipeline.metadata.setdefault("name", path.stem)
    return pipeline
