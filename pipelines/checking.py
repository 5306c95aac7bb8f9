"""Checks of a pipeline's definition before anything in it is built."""

from __future__ import annotations

import importlib
import inspect
import re
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any

from pipelines.allow_list import AllowList, check_template, is_closed, is_secret, is_template
from pipelines.files import LoadingError, did_you_mean

# What brings the packages of an engine.
_EXTRAS = {"haystack_integrations.document_stores.qdrant": "qdrant", "milvus_haystack": "milvus"}

_TOP_LEVEL = {
    "components": dict,
    "connections": list,
    "inputs": dict,
    "outputs": dict,
    "metadata": dict,
    "max_runs_per_component": int,
    "connection_type_validation": bool,
}
_SERIALISED = ("type", "init_parameters")
_CONNECTION = ("sender", "receiver")
_COMPONENT = ("", "")  # a component is not the parameter of another class
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")


def check_definition(
    definition: Mapping[str, Any], where: str, allowed: AllowList | None = None
) -> list[str]:
    """Check a definition's keys, classes, connections and parameters, in this order.

    Nothing is imported before the keys, all classes at any depth and the connections are sound.

    Args:
        definition: what the file holds.
        where: the file, as messages name it.
        allowed: what the caller allows besides, and gives in place of the file.

    Returns:
        The modules of the classes and functions that the definition may name.

    Raises:
        LoadingError: names the faulty key as `component.parameter`.
    """
    for key, value in definition.items():
        _known(key, _TOP_LEVEL, where, "key")
        if type(value) is not _TOP_LEVEL[key]:
            raise _wrong_type(f"{where}: {key}", value, _TOP_LEVEL[key].__name__)
    components = definition.get("components")
    if not components:
        raise LoadingError(f"{where}: components: there are none. Name at least one.")
    for name in components:
        if "." in name:
            # "a.b" is parameter b of component a, in connections and in what the caller gives.
            raise LoadingError(f"{where}: components: a name has no dot, as '{name}' has.")
    allowed = allowed or AllowList()
    names = {
        found
        for name, fields in components.items()
        for found in _class_names(fields, f"{where}: components.{name}", name, allowed)
    }
    for number, connection in enumerate(definition.get("connections", []), start=1):
        place = f"{where}: connections, entry {number}"
        if not isinstance(connection, dict):
            raise _wrong_type(place, connection, "mapping with 'sender' and 'receiver'")
        for key in connection:
            _known(key, _CONNECTION, place, "key")
        for key in _CONNECTION:
            check_socket(connection.get(key), components, f"{place}: {key}")
        _check_open(connection["receiver"], components, f"{place}: receiver")
    for side in ("inputs", "outputs"):
        for name, sockets in definition.get(side, {}).items():
            for socket in sockets if isinstance(sockets, list) else [sockets]:
                check_socket(socket, components, f"{where}: {side}.{name}")
                if side == "inputs":
                    _check_open(socket, components, f"{where}: inputs.{name}")
    for name, fields in components.items():
        _check_parameters(fields, f"{where}: components.{name}", name, allowed, component=True)
    return sorted({name.rpartition(".")[0] for name in names | allowed.named})


def check_socket(socket: object, components: Collection[str], where: str) -> tuple[str, str]:
    """Component and socket of "component.socket".

    Raises:
        LoadingError: it is no such text, or there is no such component.
    """
    if not isinstance(socket, str) or socket.count(".") != 1:
        raise LoadingError(f"{where}: {socket!r} is no 'component.socket'.")
    component, name = socket.split(".")
    _known(component, components, where, "component")
    return component, name


def _check_open(socket: str, components: Mapping[str, Any], where: str) -> None:
    component, name = socket.split(".")
    if is_closed(components[component]["type"], name):
        raise LoadingError(
            f"{where}: a file may not lead anything into {socket}, since it could not be checked. "
            f"In Python, give it to pipeline.run as {{'{component}': {{'{name}': ...}}}}."
        )


def _class_names(
    fields: object,
    where: str,
    label: str,
    allowed: AllowList,
    holder: tuple[str, str] = _COMPONENT,
) -> Iterator[str]:
    """Names of an object's class and of all classes within it, each of them checked."""
    if not isinstance(fields, dict):
        raise _wrong_type(where, fields, "mapping with 'type'")
    name = fields.get("type")
    if not isinstance(name, str) or "." not in name:
        raise LoadingError(
            f"{where}.type: {name!r} is not a class. Write it as 'package.module.Class'."
        )
    allowed.check_class(name, where, label, holder)
    # A class that the caller allows may be written in its own way where it is a parameter.
    if name not in allowed.named or holder == _COMPONENT:
        for key in fields:
            _known(key, _SERIALISED, where, "key")
    parameters = fields.get("init_parameters", {})
    if not isinstance(parameters, dict):
        raise _wrong_type(f"{where}.init_parameters", parameters, "mapping")
    yield name
    others = {key: value for key, value in fields.items() if key not in _SERIALISED}
    for path, value in (*_leaves(others), *_leaves(parameters)):
        if _is_object(value):
            yield from _class_names(
                value, f"{where}.{path}", f"{label}.{path}", allowed, (name, path)
            )


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, Any]]:
    """Paths and values of all that is not a plain mapping or list; objects count as one value."""
    if isinstance(value, dict) and not _is_object(value) and not is_secret(value):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _leaves(inner, f"{path}.{number}")
    else:
        yield path, value


def _is_object(value: object) -> bool:
    """Whether a value is written as a class with its parameters."""
    return isinstance(value, dict) and "." in str(value.get("type", ""))


def _check_parameters(
    fields: Mapping[str, Any],
    where: str,
    label: str,
    allowed: AllowList,
    *,
    component: bool = False,
) -> None:
    name = fields["type"]
    cls = _class_of(name, f"{where}.type" if component else f"{where}: {label}.type", component)
    parameters = fields.get("init_parameters", {})
    accepted = _init_parameters(cls)
    hints = _type_hints(cls)
    for parameter, value in parameters.items():
        own = f"{label}.{parameter}"
        place = f"{where}: {own}"
        if accepted is not None and parameter not in accepted:
            raise LoadingError(
                f"{place}: {cls.__name__} has no such parameter"
                f"{did_you_mean(parameter, accepted)}. It has {', '.join(accepted) or 'none'}."
            )
        expected = hints.get(parameter, Any)
        if not _fits(value, expected):
            raise _wrong_type(place, value, _spelled(expected))
        if accepted is not None and _is_default(value, accepted[parameter]):
            continue
        if not allowed.is_given(own):
            allowed.check_parameter(value, place, (name, parameter))
        for text in _named_code(value, expected):
            allowed.check_names(text, place)
        _check_values({parameter: value}, where, label, allowed, name)
        if parameter == "filters" and value and cls.__module__.startswith("components."):
            _check_filters(value, place)
    others = {key: value for key, value in fields.items() if key not in _SERIALISED}
    _check_values(others, where, label, allowed, name)
    for path, value in _leaves(others):
        # Tools and hooks are written so, with their functions by name.
        if isinstance(value, str) and _DOTTED.fullmatch(value):
            allowed.check_names(value, f"{where}: {label}.{path}")
    missing = [
        parameter
        for parameter, of in (accepted or {}).items()
        if of.default is of.empty and parameter not in parameters
    ]
    if missing and not others:
        raise LoadingError(f"{where}: {label}.{missing[0]}: {cls.__name__} needs this parameter.")


def _check_values(
    values: Mapping[str, Any], where: str, label: str, allowed: AllowList, name: str
) -> None:
    """Check the objects, secrets and templates within the parameters of a class."""
    for path, value in _leaves(values):
        own = f"{label}.{path}"
        if _is_object(value):
            _check_parameters(value, where, own, allowed)
        elif is_secret(value):
            allowed.check_secret(value, f"{where}: {own}", own, (name, path))
        elif is_template(value) and not allowed.is_given(own):
            check_template(value, f"{where}: {own}")


def _is_default(value: object, parameter: inspect.Parameter) -> bool:
    default = parameter.default
    return bool(value == (default.to_dict() if hasattr(default, "to_dict") else default))


def _named_code(value: Any, expected: Any) -> Iterator[str]:
    """The texts in a value that stand for functions and classes, by a parameter's annotation."""
    origin, arguments = typing.get_origin(expected), typing.get_args(expected)
    if origin in (typing.Union, types.UnionType):
        for each in arguments:
            yield from _named_code(value, each)
    elif isinstance(value, str):
        kind = origin or expected
        if inspect.isclass(kind) and issubclass(kind, Callable):  # type: ignore[arg-type]
            yield value
    elif isinstance(value, dict) and len(arguments) == 2:
        for inner in value.values():
            yield from _named_code(inner, arguments[1])
    elif isinstance(value, list) and arguments:
        for inner in value:
            yield from _named_code(inner, arguments[0])


def _check_filters(filters: object, where: str) -> None:
    from haystack.errors import FilterError

    from components.stores.filters import check_filters

    try:
        check_filters(filters)
    except FilterError as error:
        raise LoadingError(f"{where}: {error}") from error


def _class_of(name: str, where: str, component: bool) -> type:
    module_name, class_name = name.rsplit(".", 1)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        extra = next((extra for start, extra in _EXTRAS.items() if name.startswith(start)), None)
        mend = f" Install it with pip install 'lexarbor[{extra}]'." if extra else ""
        raise LoadingError(f"{where}: {name} cannot be imported ({error}).{mend}") from error
    found = getattr(module, class_name, None)
    if not inspect.isclass(found):
        raise LoadingError(f"{where}: {module_name} has no class {class_name}.")
    if found.__module__ != module_name:
        raise LoadingError(
            f"{where}: {class_name} is defined in {found.__module__}. "
            f"Write {found.__module__}.{class_name}."
        )
    from haystack import component as haystack_component

    if component and name not in haystack_component.registry:
        raise LoadingError(f"{where}: {name} is no Haystack component.")
    return found


def _init_parameters(cls: type) -> dict[str, inspect.Parameter] | None:
    """The parameters of `__init__`, or None when it takes any."""
    parameters = dict(inspect.signature(cls.__init__).parameters)  # type: ignore[misc]
    parameters.pop("self", None)
    kinds = {parameter.kind for parameter in parameters.values()}
    return None if inspect.Parameter.VAR_KEYWORD in kinds else parameters


def _type_hints(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls.__init__)  # type: ignore[misc]
    except NameError:
        # A foreign class may name types that exist for type checkers only.
        return {}


def _fits(value: Any, expected: Any) -> bool:
    """Whether a plain value can stand for an annotation; what is not known fits."""
    origin, arguments = typing.get_origin(expected), typing.get_args(expected)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, each) for each in arguments)
    if origin is typing.Literal:
        return value in arguments
    if expected is Any:  # a class of its own to Python, and none that a value could be of
        return True
    if expected in (None, type(None)):
        return value is None
    if expected is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if expected in (bool, str, int):
        return type(value) is expected
    kind = origin or expected
    if not inspect.isclass(kind) or kind is object:
        return True
    if issubclass(kind, Enum):
        # Haystack's classes write some by their names, others by their values.
        return isinstance(value, str) and (
            value in kind.__members__ or any(value == each.value for each in kind)
        )
    if issubclass(kind, PurePath):
        return isinstance(value, str)
    if issubclass(kind, Mapping):
        return isinstance(value, dict) and all(
            _fits(part, hint)
            for key, item in value.items()
            for part, hint in zip((key, item), arguments, strict=False)
        )
    if kind.__module__ in ("builtins", "collections.abc") and issubclass(list, kind):
        return isinstance(value, list) and all(
            _fits(each, *arguments[:1] or [Any]) for each in value
        )
    # Haystack writes an object as a mapping, but a function or a class as its name.
    named = issubclass(kind, Callable)  # type: ignore[arg-type]
    return isinstance(value, dict) or (named and isinstance(value, str))


def _known(word: object, known: Collection[str], where: str, kind: str) -> None:
    if word not in known:
        raise LoadingError(
            f"{where}: unknown {kind} '{word}'{did_you_mean(word, known)}. "
            f"There is {', '.join(known)}."
        )


def _wrong_type(where: str, value: object, expected: str) -> LoadingError:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return LoadingError(f"{where}: {shown} is no {expected}.")


def _spelled(annotation: Any) -> str:
    names = {int: "whole number", float: "number", str: "text", bool: "true or false"}
    if annotation in names:
        return names[annotation]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(_spelled(each) for each in arguments))
    if origin is typing.Literal:
        return " or ".join(repr(each) for each in arguments)
    if annotation is type(None):
        return "null"
    if inspect.isclass(annotation) and issubclass(annotation, Enum):
        return " or ".join(annotation.__members__)
    if inspect.isclass(annotation) and issubclass(annotation, PurePath):
        return names[str]
    if origin is not None and arguments:
        return f"{origin.__name__} of {', '.join(_spelled(each) for each in arguments)}"
    name = getattr(annotation, "__name__", str(annotation))
    if inspect.isclass(annotation) and annotation.__module__ != "builtins":
        return f"{name} (as the mapping that its to_dict() gives)"
    return name
