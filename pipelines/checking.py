"""Pipeline files: reading one without trusting it, and checking it before anything is built."""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
import tomllib
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Union

import yaml

if TYPE_CHECKING:
    from haystack import Pipeline

    from components.stores.sqlite import StatuteDocumentStore

FOLDER = Path(__file__).parent
MAX_BYTES = 65_536
MAX_DEPTH = 20
WRITER = "haystack.components.writers.document_writer.DocumentWriter"
QDRANT_STORE = "haystack_integrations.document_stores.qdrant.document_store.QdrantDocumentStore"
MILVUS_STORE = "milvus_haystack.document_store.MilvusDocumentStore"


class LoadingError(ValueError):
    """A pipeline cannot be loaded; the message says what, where, and how to fix it."""


def pipeline_names() -> list[str]:
    """Names of the pipelines that come with Lexarbor."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def names_to_ask() -> list[str]:
    """Names of the pipelines that answer questions, without those that fill a store."""
    return [
        name
        for name in pipeline_names()
        if not fills_a_store(read_pipeline_file(FOLDER / f"{name}.yaml"))
    ]


def fills_a_store(definition: Mapping[str, Any]) -> bool:
    """Whether an unchecked definition writes into a store."""
    return any(type_ == WRITER for _, type_, _ in components_in(definition))


def pipeline_file(name_or_path: str | Path) -> Path:
    """The file of a pipeline given by name ("hybrid") or by path ("my/hybrid.yaml").

    Raises:
        LoadingError: there is no such pipeline; says which name may be meant.
    """
    text = str(name_or_path)
    if text in pipeline_names():
        return FOLDER / f"{text}.yaml"
    path = Path(name_or_path).expanduser()
    if path.is_file():
        return path
    raise LoadingError(
        f"There is no pipeline '{text}'{did_you_mean(text, pipeline_names())}. "
        f"The names are {', '.join(names_to_ask())}; a file is given by its path."
    )


def components_in(definition: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name, class and parameters of every component of an unchecked definition.

    Invalid components are skipped, and invalid parameters count as empty: the loader refuses both
        later and says where. The parameters are the definition's own and may be changed.
    """
    components = definition.get("components")
    for name, fields in components.items() if isinstance(components, dict) else ():
        if isinstance(fields, dict) and isinstance(fields.get("type"), str):
            parameters = fields.get("init_parameters")
            yield name, fields["type"], parameters if isinstance(parameters, dict) else {}


def stores_in(
    definition: Mapping[str, Any], *classes: str
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Component, class and parameters of every document store of these classes; as above."""
    for name, _, parameters in components_in(definition):
        for value in parameters.values():
            if isinstance(value, dict) and value.get("type") in classes:
                inner = value.setdefault("init_parameters", {})
                if isinstance(inner, dict):
                    yield name, str(value["type"]), inner


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """' (did you mean ...?)' for the nearest known word, or nothing."""
    near = difflib.get_close_matches(str(word), list(known), n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""


# libyaml if available: the pure Python parser needs a second for the largest file.
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _PlainLoader(_SafeLoader):  # type: ignore[misc]
    """Refuses keys that are repeated, and those that YAML reads as anything but text."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
        seen = set()
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                raise LoadingError(f"{line}: a key must be plain text. Put it in quotes.")
            if key.value in seen:
                raise LoadingError(f"{line}: key '{key.value}' is repeated. Keep one.")
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_pipeline_file(path: Path) -> dict[str, Any]:
    """The mapping that a pipeline file holds, as plain values.

    It refuses, before anything is built: files over `MAX_BYTES`, anchors and aliases (a few hundred
        bytes of them can expand to gigabytes), tags, nesting deeper than `MAX_DEPTH`, several
        documents, and repeated keys.

    Raises:
        LoadingError: the file is refused or not YAML; the message starts with file and line.
    """
    try:
        size = path.stat().st_size
        raw = path.read_bytes() if size <= MAX_BYTES else b""
    except OSError as error:
        raise LoadingError(f"{path} cannot be read ({error.strerror}).") from error
    if size > MAX_BYTES:
        raise LoadingError(f"{path} has {size:,} bytes; a pipeline file has at most {MAX_BYTES:,}.")
    try:
        text = raw.decode("utf-8-sig")
        _check_events(text)
        document = yaml.load(text, Loader=_PlainLoader)  # noqa: S506 - a safe loader
    except LoadingError as error:
        raise LoadingError(f"{path}:{error}") from error
    except UnicodeDecodeError as error:
        raise LoadingError(f"{path} is not UTF-8 text. Save it as UTF-8.") from error
    except yaml.YAMLError as error:
        raise LoadingError(f"{path}: is not YAML ({' '.join(str(error).split())}).") from error
    except (ValueError, RecursionError) as error:
        raise LoadingError(f"{path}: holds a value that cannot be read ({error}).") from error
    if not isinstance(document, dict):
        raise LoadingError(f"{path}: must hold a mapping with 'components' and 'connections'.")
    return document


def _check_events(text: str) -> None:
    """Refuse what may grow, while the parser has built nothing yet."""
    depth = documents = 0
    event: Any
    for event in yaml.parse(text, Loader=_SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        documents += isinstance(event, yaml.DocumentStartEvent)
        fault = None
        if name := getattr(event, "anchor", None):
            kind = "alias '*" if isinstance(event, yaml.AliasEvent) else "anchor '&"
            fault = f"{kind}{name}'. Write the value out (before dumps(): copy.deepcopy)."
        elif tag := getattr(event, "tag", None):
            fault = f"tag '{tag}'. Pipeline files have plain values only."
        elif depth > MAX_DEPTH:
            fault = f"nested deeper than {MAX_DEPTH} levels."
        elif documents > 1:
            fault = "a second YAML document. Keep one per file."
        if fault:
            raise LoadingError(f"{event.start_mark.line + 1}: {fault}")


_TOLERANT = "components.generators.tolerant.TolerantChatGenerator"
_OPENAI = "haystack.components.generators.chat.openai.OpenAIChatGenerator"
_CHAT_PROMPT = "haystack.components.builders.chat_prompt_builder.ChatPromptBuilder"
_PROMPT = "haystack.components.builders.prompt_builder.PromptBuilder"

# The one list of what a file may name; it says there why each limit is set.
_ALLOWED = tomllib.loads((FOLDER / "allowed.toml").read_text(encoding="utf-8"))
OUR_CLASSES: tuple[str, ...] = tuple(_ALLOWED["ours"])
HAYSTACK_CLASSES: dict[str, dict[str, list[Any]]] = _ALLOWED["haystack"]

# Where a file may name an environment variable, and which.
_KEYS = {
    (QDRANT_STORE, "api_key"): ("QDRANT_API_KEY",),
    (MILVUS_STORE, "connection_args.token"): ("MILVUS_TOKEN",),
    (_OPENAI, "api_key"): ("LEXARBOR_GENERATOR_KEY", "OPENAI_API_KEY"),
}

# Sockets that neither a connection nor an input may lead into: what comes could not be checked.
_CLOSED_SOCKETS = {_PROMPT: ("template",), _CHAT_PROMPT: ("template",)}

# The types that a joiner or a router may be said to pass on.
_TYPES = frozenset(
    "str int float bool bytes list dict set tuple None "  # noqa: SIM905 - shorter than a list
    "typing.Any typing.Optional typing.Union typing.List typing.Dict "
    "haystack.dataclasses.answer.GeneratedAnswer haystack.dataclasses.byte_stream.ByteStream "
    "haystack.dataclasses.chat_message.ChatMessage haystack.dataclasses.document.Document".split()
)

_LONGEST_TEMPLATE = 10_000
_LONGEST_SEPARATOR = 20
_DEEPEST_LOOPS = 2
_DEEPEST_FILTERS = 2
# Filters whose result is about as long as what they are given (`join` is looked at more closely).
_FILTERS = frozenset(
    "capitalize count d default e escape first float int join last "  # noqa: SIM905
    "length lower map reverse sort title trim truncate unique upper".split()
)
_NODES = frozenset(
    "Template Output TemplateData Name Const List Tuple Getattr Getitem "  # noqa: SIM905
    "Slice Filter Keyword Test For If CondExpr And Or Not Compare Operand Add Sub Neg "
    "Concat".split()
)


@dataclass(frozen=True)
class AllowList:
    """What one file may name, and what its caller adds.

    Attributes:
        named: classes and functions that the caller allows, by their dotted names.
        given: the `component.parameter`s whose values are the caller's and not the file's.
    """

    named: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()

    def is_given(self, label: str) -> bool:
        """Whether the caller gives what stands at "component.parameter", or around it."""
        return any(f"{label}.".startswith(f"{each}.") for each in self.given)

    def check_class(self, name: str, where: str, label: str, holder: tuple[str, str]) -> None:
        """Refuse a class that is not allowed in its place.

        Args:
            name: of the class.
            where: the place, as messages name it.
            label: the place as component.parameter.
            holder: the class and the parameter that have it, both "" for a component.

        Raises:
            LoadingError: it is not allowed there.
        """
        if name in self.named or name in OUR_CLASSES or name in HAYSTACK_CLASSES:
            return
        if name == _OPENAI and holder == (_TOLERANT, "chat_generator"):
            if self.is_given(label):
                return
            raise LoadingError(
                f"{where}: a file may not choose the server that writes the answers. Choose it "
                "with --generator URL --generator-model NAME (in Python: generator_overrides)."
            )
        near = did_you_mean(name, (*OUR_CLASSES, *HAYSTACK_CLASSES))
        raise LoadingError(f"{where}.type: {name} is not an allowed class{near}. {_allowing(name)}")

    def check_names(self, text: str, where: str) -> None:
        """Refuse the name of a function or a type that is not allowed.

        Raises:
            LoadingError: names it.
        """
        for name in re.findall(r"[^\W\d][\w.]*", text):
            if name not in self.named and name not in _TYPES:
                raise LoadingError(
                    f"{where}: the function or type {name} is not allowed. {_allowing(name)}"
                )

    def check_secret(
        self, value: dict[str, Any], where: str, label: str, holder: tuple[str, str]
    ) -> None:
        """Refuse an environment variable that is not the documented one of its place.

        Raises:
            LoadingError: another variable, or another place.
        """
        if holder[0] in self.named and self.is_given(label):
            return
        variables, known = value.get("env_vars"), _KEYS.get(holder, ())
        if not isinstance(variables, list) or any(each not in known for each in variables):
            raise LoadingError(
                f"{where}: the environment variable {variables!r} is not allowed here, only "
                f"{' and '.join(known) or 'none'}."
            )

    def check_template(self, text: str, where: str, label: str) -> None:
        """Refuse a template of the file's that could take long, as `check_template`."""
        if not self.is_given(label):
            check_template(text, where)

    def check_parameter(self, value: object, where: str, holder: tuple[str, str]) -> None:
        """Refuse what a file may not set.

        Raises:
            LoadingError: names the parameter.
        """
        name, parameter = holder
        if parameter == "unsafe" and value is not False:
            raise LoadingError(f"{where}: a file may not turn Haystack's own checks off.")
        allowed = HAYSTACK_CLASSES.get(name, {}).get(parameter)
        if allowed is None or name in self.named or value in allowed:
            return
        raise LoadingError(
            f"{where}: a file may not set this to anything but {allowed}. {_allowing(name)}"
        )


def check_template(text: str, where: str) -> None:
    """Refuse a template that could take long to compile or to render, without compiling it.

    Jinja computes constants when it compiles: `{{ 9**9999999 }}` takes a minute. What passes is
    bounded by the lengths of the template and of what is put into it.

    Raises:
        LoadingError: names the line, and what is not allowed there.
    """
    from haystack.utils.jinja2_chat_extension import ChatMessageExtension
    from jinja2 import Environment, TemplateError

    if len(text) > _LONGEST_TEMPLATE:
        raise LoadingError(f"{where}: the template has over {_LONGEST_TEMPLATE:,} characters.")
    environment = Environment(extensions=[ChatMessageExtension])  # noqa: S701 - it renders nothing
    try:
        _check_node(environment.parse(text), where, loops=0)
    except LoadingError:
        raise
    except (TemplateError, ValueError, AttributeError, RecursionError) as error:
        raise LoadingError(f"{where}: the template cannot be read ({error}).") from error


def _check_node(node: Any, where: str, loops: int) -> None:
    from jinja2 import nodes

    inside = list(node.iter_child_nodes())
    allowed = type(node).__name__ in _NODES
    if isinstance(node, nodes.CallBlock) and isinstance(node.call.node, nodes.ExtensionAttribute):
        # {% message role="user" meta={...} %} and {% insert messages %}, as Haystack parses them.
        allowed = True
        inside = [*node.call.args, *node.body]
        for each in node.call.args:
            if isinstance(each, nodes.Dict):
                inside.remove(each)
                inside += [part for pair in each.items for part in (pair.key, pair.value)]
    elif isinstance(node, nodes.List | nodes.Tuple):
        is_target = getattr(node, "ctx", "load") == "store"  # for key, value in ...
        allowed = is_target or all(isinstance(each, nodes.Const) for each in node.items)
    elif isinstance(node, nodes.For):
        loops += 1
        # Over a variable, an attribute or part of it, with filters or without.
        over: Any = node.iter
        while isinstance(over, nodes.Getattr | nodes.Getitem | nodes.Filter):
            over = over.node
        allowed = loops <= _DEEPEST_LOOPS and not node.recursive and isinstance(over, nodes.Name)
    elif isinstance(node, nodes.Filter):
        allowed = _is_bounded(node)
    if not allowed:
        kind = type(node).__name__.lower()
        raise LoadingError(
            f"{where}: line {node.lineno} of the template: this {kind} is not allowed in a file "
            "(docs/pipelines.md lists what is). In Python, overrides may give any template."
        )
    for each in inside:
        _check_node(each, where, loops)


def _is_bounded(node: Any) -> bool:
    """Whether a filter's result is about as long as what it is given."""
    from jinja2 import nodes

    options = {each.key: each.value for each in node.kwargs}
    if (
        node.name not in _FILTERS
        or node.dyn_args is not None
        or node.dyn_kwargs is not None
        or len(list(node.find_all(nodes.Filter))) >= _DEEPEST_FILTERS
    ):
        return False
    if node.name == "map":
        return not node.args and options.keys() <= {"attribute", "default"}
    separators = [*node.args[:1], *(options[key] for key in options if key == "d")]
    return node.name != "join" or all(
        isinstance(each, nodes.Const) and len(str(each.value)) <= _LONGEST_SEPARATOR
        for each in separators
    )


def _allowing(name: str) -> str:
    return f"If you trust it, load_pipeline(..., allowed_classes=['{name}']) allows it."


_COMPONENT = ("", "")  # a component is not the parameter of another class
_CONNECTION = ("sender", "receiver")


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
    allowed = allowed or AllowList()
    forms = _forms()
    _check_fields(definition, forms["definition"], f"{where}: ")
    components = definition["components"]
    if not components:
        raise LoadingError(f"{where}: components: there are none. Name at least one.")
    names: set[str] = set()
    for name, fields in components.items():
        if "." in name:
            # "a.b" is parameter b of component a, in connections and in what the caller gives.
            raise LoadingError(f"{where}: components: a name has no dot, as '{name}' has.")
        names.update(_class_names(fields, f"{where}: components.{name}", name, allowed))
    for number, connection in enumerate(definition.get("connections", []), start=1):
        place = f"{where}: connections, entry {number}"
        _check_fields(connection, forms["connection"], f"{place}: ")
        _check_socket(connection["sender"], components, f"{place}: sender")
        _check_socket(connection["receiver"], components, f"{place}: receiver", into=True)
    for side in ("inputs", "outputs"):
        for name, sockets in definition.get(side, {}).items():
            for socket in sockets if isinstance(sockets, list) else [sockets]:
                _check_socket(socket, components, f"{where}: {side}.{name}", into=side == "inputs")
    for name, fields in components.items():
        _check_parameters(fields, f"{where}: components.{name}", name, allowed, component=True)
    return sorted({name.rpartition(".")[0] for name in names | allowed.named})


def _form(fields: Mapping[str, Any], needed: Collection[str], extra: Any = "forbid") -> Any:
    """A TypedDict that pydantic checks strictly, with these types of fields."""
    # Imported here: no command should wait for pydantic before it reads a file.
    from pydantic import ConfigDict, with_config
    from typing_extensions import TypedDict

    typed = {
        name: kind if name in needed else typing.NotRequired[kind] for name, kind in fields.items()
    }
    form = TypedDict("Form", typed)  # type: ignore[misc]
    return with_config(ConfigDict(strict=True, extra=extra))(form)


@cache
def _forms() -> dict[str, Any]:
    """The forms of a definition, of an object and of a connection."""
    from pydantic import Field

    definition = {
        **dict.fromkeys(("components", "inputs", "outputs", "metadata"), dict[str, Any]),
        "connections": list[Any],
        "max_runs_per_component": typing.Annotated[int, Field(ge=1, le=1_000)],
        "connection_type_validation": bool,
    }
    fields = {"type": str, "init_parameters": dict[str, Any]}
    return {
        "definition": _form(definition, ["components"]),
        "object": _form(fields, ["type"]),
        "connection": _form(dict.fromkeys(_CONNECTION, str), _CONNECTION),
    }


def _check_fields(values: object, form: Any, prefix: str) -> None:
    """Check names and types of a mapping's fields against a TypedDict, by pydantic."""
    from pydantic import TypeAdapter, ValidationError

    try:
        TypeAdapter(form).validate_python(values)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        fault, reason = faults[0]["type"], " or ".join(dict.fromkeys(f["msg"] for f in faults))
        if not isinstance(values, Mapping):
            raise LoadingError(f"{prefix.rstrip(' :.')}: {_short(values)}: {reason}.") from error
        name = str(faults[0]["loc"][0])
        if fault == "extra_forbidden":
            known = list(form.__annotations__)
            hint = f"{did_you_mean(name, known)}. There is {', '.join(known) or 'none'}"
            raise LoadingError(f"{prefix}{name}: there is no such key{hint}.") from error
        given = f"{_short(values[name])}: " if name in values else ""
        raise LoadingError(f"{prefix}{name}: {given}{reason}.") from error


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def _check_socket(
    socket: object, components: Mapping[str, Any], where: str, *, into: bool = False
) -> None:
    """Refuse what is not "component.socket", and a socket that nothing of a file may lead into."""
    if not isinstance(socket, str) or socket.count(".") != 1:
        raise LoadingError(f"{where}: {socket!r} is not a 'component.socket'.")
    component, name = socket.split(".")
    if component not in components:
        raise LoadingError(
            f"{where}: unknown component '{component}'{did_you_mean(component, components)}. "
            f"There is {', '.join(components)}."
        )
    kind = components[component]["type"]
    closed = (*_CLOSED_SOCKETS.get(kind, ()), *HAYSTACK_CLASSES.get(kind, ()))
    if into and name in closed:
        raise LoadingError(
            f"{where}: a file may not lead anything into {socket}: give it to pipeline.run."
        )


def _class_names(
    fields: Any, where: str, label: str, allowed: AllowList, holder: tuple[str, str] = _COMPONENT
) -> Iterator[str]:
    """Names of an object's class and of all classes within it, each of them checked."""
    form = _forms()["object"]
    named = isinstance(fields, Mapping) and "type" in fields
    _check_fields({"type": fields["type"]} if named else fields, form, f"{where}.")
    name = fields["type"]
    allowed.check_class(name, where, label, holder)
    _check_fields(fields, form, f"{where}.")
    yield name
    for path, value in _leaves(fields.get("init_parameters", {})):
        if _is_object(value):
            yield from _class_names(
                value, f"{where}.{path}", f"{label}.{path}", allowed, (name, path)
            )


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, Any]]:
    """Paths and values of all that is not a plain mapping or list; objects count as one value."""
    if isinstance(value, dict) and not _is_object(value) and not _is_secret(value):
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


def _is_secret(value: object) -> bool:
    """Whether a value is what Haystack reads from the environment."""
    return isinstance(value, dict) and value.get("type") in ("env_var", "token")


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
    form, hints = _form_of(cls)
    _check_fields(parameters, form, f"{where}: {label}.")
    accepted = _init_parameters(cls)
    for parameter, value in parameters.items():
        own = f"{label}.{parameter}"
        place = f"{where}: {own}"
        if parameter in accepted and _is_default(value, accepted[parameter].default):
            continue
        if not allowed.is_given(own):
            allowed.check_parameter(value, place, (name, parameter))
        for text in _named_code(value, hints.get(parameter)):
            allowed.check_names(text, place)
        for path, inner in _leaves({parameter: value}):
            within = f"{label}.{path}"
            if _is_object(inner):
                _check_parameters(inner, where, within, allowed)
            elif _is_secret(inner):
                allowed.check_secret(inner, f"{where}: {within}", within, (name, path))
            elif isinstance(inner, str) and re.search(r"{[{%]", inner):
                allowed.check_template(inner, f"{where}: {within}", within)
        if parameter == "filters" and value and name in OUR_CLASSES:
            from haystack.errors import FilterError

            from components.stores.filters import check_filters

            try:
                check_filters(value)
            except FilterError as error:
                raise LoadingError(f"{place}: {error}") from error


def _is_default(value: object, default: Any) -> bool:
    return bool(value == (default.to_dict() if hasattr(default, "to_dict") else default))


def _named_code(value: Any, expected: Any) -> Iterator[str]:
    """The texts in a value that stand for functions and classes, by a parameter's annotation."""
    origin, arguments = typing.get_origin(expected), typing.get_args(expected)
    if origin in (typing.Union, types.UnionType):
        for member in arguments:
            yield from _named_code(value, member)
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


def _class_of(name: str, where: str, component: bool) -> type:
    module_name, class_name = name.rsplit(".", 1)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        extra = {QDRANT_STORE: "qdrant", MILVUS_STORE: "milvus"}.get(name)
        hint = f" pip install 'lexarbor[{extra}]' brings it." if extra else ""
        raise LoadingError(f"{where}: {name} cannot be imported ({error}).{hint}") from error
    found = getattr(module, class_name, None)
    if not inspect.isclass(found) or found.__module__ != module_name:
        # A name that a module only imports would get past the list.
        raise LoadingError(f"{where}: {module_name} defines no class {class_name}.")
    from haystack import component as haystack_component

    if component and name not in haystack_component.registry:
        raise LoadingError(f"{where}: {name} is not a Haystack component.")
    return found


def _init_parameters(cls: type) -> dict[str, inspect.Parameter]:
    parameters = dict(inspect.signature(cls.__init__).parameters)  # type: ignore[misc]
    parameters.pop("self", None)
    return parameters


@cache
def _form_of(cls: type) -> tuple[Any, dict[str, Any]]:
    """The parameters of a class as a TypedDict of plain values, and as they are annotated."""
    try:
        hints = typing.get_type_hints(cls.__init__)  # type: ignore[misc]
    except NameError:
        hints = {}  # a foreign class may name types that exist for type checkers only
    parameters = _init_parameters(cls)
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    named = {
        name: each.default
        for name, each in parameters.items()
        if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
    }
    fields = {name: _plain(hints.get(name, Any)) for name in named}
    if takes_any:
        return _form(fields, (), "allow"), hints
    needed = [name for name, default in named.items() if default is inspect.Parameter.empty]
    return _form(fields, needed), hints


def _plain(hint: Any) -> Any:
    """The type of the plain value that stands for an annotation in a file."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return Union[tuple(_plain(member) for member in arguments)]  # noqa: UP007 - made at run time
    kind = origin or hint
    if origin is typing.Literal or hint in (None, bool, int, float, str, types.NoneType):
        return hint
    if not inspect.isclass(kind) or kind in (object, Any):
        return Any
    if issubclass(kind, Enum):
        # Haystack's classes write some by their names, others by their values.
        return typing.Literal[(*kind.__members__, *(str(member.value) for member in kind))]
    if issubclass(kind, PurePath):
        return str
    if issubclass(kind, Mapping):
        return dict[tuple(map(_plain, arguments))] if arguments else dict  # type: ignore[misc]
    if kind.__module__ in ("builtins", "collections.abc") and issubclass(list, kind):
        return list[_plain(arguments[0])] if arguments else list  # type: ignore[misc]
    # Haystack writes an object as a mapping, but a function or a class as its name.
    named = issubclass(kind, Callable)  # type: ignore[arg-type]
    return Union[dict, str] if named else dict  # noqa: UP007


def check_has_articles(store: StatuteDocumentStore) -> None:
    """Refuse a store that nothing was indexed into yet, or not to its end.

    From an empty store every answer would be that nothing was found.

    Raises:
        StoreError: it holds no article, or its file cannot be read.
    """
    from components.stores.database import StoreError

    store.database.follow()
    if next(store.database.rows("SELECT 1 FROM documents LIMIT 1"), None) is None:
        raise StoreError(
            f"{store.path} holds no article yet: run python -m pipelines.index --corpus ... "
            f"--store {store.path} (again, where it was interrupted)."
        )


def check_stores(pipeline: Pipeline) -> None:
    """The same of every store that the pipeline's components read.

    Raises:
        StoreError: one holds no article, or its file cannot be read.
    """
    from components.stores.sqlite import StatuteDocumentStore

    for _, instance in pipeline.walk():
        store = getattr(instance, "document_store", None)
        if isinstance(store, StatuteDocumentStore):
            check_has_articles(store)
