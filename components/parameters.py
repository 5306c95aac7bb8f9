"""What Lexarbor's components share: serialisation, async runs, and parameter checks."""

import asyncio
from collections.abc import Callable, Collection, Coroutine
from copy import deepcopy
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeGuard, TypeVar, cast

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.utils import ComponentDevice

from components.aliases import trusted_name
from components.models.folder import portable_place

Instance = TypeVar("Instance")


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def in_thread(
    method: Callable[Concatenate[Any, Parameters], Result],
) -> Callable[Concatenate[Any, Parameters], Coroutine[Any, Any, Result]]:
    """A method's twin for an event loop, which runs it in a worker thread."""

    @wraps(method)
    async def twin(self: Any, *args: Parameters.args, **options: Parameters.kwargs) -> Result:
        return await asyncio.to_thread(getattr(self, method.__name__), *args, **options)

    twin.__name__ += "_async"
    twin.__qualname__ += "_async"
    twin.__doc__ = f"`{method.__name__}` without blocking the event loop."
    return cast("Callable[Concatenate[Any, Parameters], Coroutine[Any, Any, Result]]", twin)


def from_named(cls: type[Instance], data: dict[str, Any]) -> Instance:
    """What `to_dict` described, under the name of `components.aliases` or where it is defined."""
    named = {key: trusted_name(str(name)) for key, name in data.items() if key == "type"}
    # The from_dict of what a component holds, such as a chat generator, may change its argument.
    return default_from_dict(cls, deepcopy(data | named))


class StatuteComponent:
    """A component that keeps each parameter as an attribute of the same name.

    Unless it defines its own, `run_async` is `run` in a worker thread. Haystack knows it by the
    name that `components.aliases` gives it and, for older files, by where it is defined.
    """

    run_async: Callable[..., Coroutine[Any, Any, dict[str, Any]]]

    # The folder of the store whose record filled in the component's models, where one did.
    models_from: Path | None = None
    _defined_in: str

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "run" not in vars(cls):
            return
        # `@component` makes a second class with the attributes of the first, these included.
        if (trusted := trusted_name(cls.__module__)) != cls.__module__:
            cls._defined_in, cls.__module__ = cls.__module__, trusted
        if "_defined_in" in vars(cls):
            component.registry[f"{cls._defined_in}.{cls.__name__}"] = cls
        if "run_async" in vars(cls):
            return

        cls.run_async = in_thread(vars(cls)["run"])

    def to_dict(self) -> dict[str, Any]:
        """Serialise every parameter.

        Models that `load_pipeline` filled in are written by name or relative to their store.
        """
        named = [
            each.name
            for each in signature(type(self).__init__).parameters.values()
            if each.kind is each.POSITIONAL_OR_KEYWORD and each.name != "self"
        ]
        values = {name: getattr(self, name) for name in named}
        for name in ("model", "biencoder"):
            if self.models_from is not None and isinstance(values.get(name), str):
                values[name] = portable_place(values[name], self.models_from)
        return default_to_dict(self, **values)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The component that `to_dict` described."""
        return from_named(cls, data)


class AsyncWarmUp:
    """`warm_up_async` for a component with `warm_up`.

    A pipeline in an event loop warms up before every question, and without it would call `warm_up`
    in the loop itself. Loading a model or reading a law again takes seconds.
    """

    async def warm_up_async(self: Any) -> None:
        """`warm_up` in a worker thread."""
        await asyncio.to_thread(self.warm_up)


def checked_device(component: str, device: object) -> ComponentDevice | None:
    """`device` unchanged.

    Raises:
        TypeError: it is not a ComponentDevice, such as the "cpu" of other libraries; names the
            component.
    """
    if device is not None and not isinstance(device, ComponentDevice):
        raise TypeError(f'{component}.device must be a ComponentDevice, such as from_str("cpu").')
    return device


_MOST = 10_000_000  # articles; more than any collection of law has


def checked_top_k(component: str, top_k: object, *, at_least: int) -> int:
    """`top_k` unchanged.

    Raises:
        TypeError: it is not a whole number; names the component.
        ValueError: it is less than `at_least`, or beyond any law; names the component.
    """
    if not isinstance(top_k, int) or isinstance(top_k, bool):
        raise TypeError(f"{component}.top_k must be a whole number, got {top_k!r}.")
    if not at_least <= top_k <= _MOST:
        raise ValueError(f"{component}.top_k must be {at_least} to {_MOST:,}.")
    return top_k


def check_count(parameter: str, value: object, at_least: int) -> None:
    """Refuse a parameter ("Component.name") that is not a whole number from `at_least`.

    Raises:
        ValueError: it is not; names the parameter.
    """
    if type(value) is not int or value < at_least:
        raise ValueError(f"{parameter} must be a whole number from {at_least}, got {value!r}.")


def check_number(
    parameter: str, value: object, is_valid: Callable[[float], bool], requirement: str
) -> None:
    """Refuse a parameter ("Component.name") that is not a number in its range.

    A YAML file may hold "0.5", which is text and cannot be compared.

    Args:
        parameter: component and parameter.
        value: as given.
        is_valid: whether a number is in the range.
        requirement: the range in words, for the message: "above 0".

    Raises:
        ValueError: it is not; names the parameter.
    """
    if not (is_number(value) and is_valid(value)):
        raise ValueError(f"{parameter} must be {requirement}, got {value!r}.")


def check_numbers(
    parameter: str,
    values: object,
    names: Collection[str],
    is_valid: Callable[[float], bool],
    requirement: str,
) -> None:
    """Refuse a parameter ("Component.name") that is not numbers in their range, by known names.

    Args:
        parameter: component and parameter.
        values: as given; None is accepted.
        names: that there may be numbers for.
        is_valid: as for `check_number`.
        requirement: as for `check_number`.

    Raises:
        ValueError: it is not; names the parameter.
    """
    if not isinstance(values, dict | None):
        raise ValueError(f"{parameter} must be numbers by name, got {values!r}.")
    for name, value in (values or {}).items():
        if name not in names:
            raise ValueError(f"{parameter} names {name!r}; known are {', '.join(names)}.")
        check_number(f"{parameter}[{name!r}]", value, is_valid, requirement)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value can be compared with numbers."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_documents(component: str, documents: object) -> None:
    """Refuse anything but a list of documents with content.

    Args:
        component: name of the embedder, for the message.
        documents: as given.

    Raises:
        TypeError: `documents` is not a list of Documents.
        ValueError: a document has no content; names it.
    """
    if not isinstance(documents, list) or not all(
        isinstance(document, Document) for document in documents
    ):
        other = "StatuteSparseTextEmbedder" if "Sparse" in component else "StatuteTextEmbedder"
        raise TypeError(f"{component} takes Documents; {other} takes questions.")
    for document in documents:
        if not document.content or document.content.isspace():
            raise ValueError(f"document '{document.id}' has no content to embed. Leave it out.")
