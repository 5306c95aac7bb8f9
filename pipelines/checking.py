"""Pipeline files: reading one without trusting it, and checking it before anything is built."""

from __future__ import annotations

import importlib
import inspect
import re
import tomllib
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, NotRequired, Union

import yaml
from annotated_types import Interval, MinLen
from typing_extensions import TypedDict

from components.aliases import trusted_name
from components.statutes.sources.reading import did_you_mean

if TYPE_CHECKING:
    from haystack import Pipeline

    from components.stores.sqlite import StatuteDocumentStore

FOLDER = Path(__file__).parent
MAX_BYTES = 65_536
MAX_DEPTH = 20
WRITER = "haystack.components.writers.document_writer.DocumentWriter"
QDRANT_STORE = "haystack_integrations.document_stores.qdrant.document_store.QdrantDocumentStore"
POSTGRES_STORE = (
    "haystack_integrations.document_stores.pgvector.document_store.PgvectorDocumentStore"
)
ENGINE_EXTRAS = {QDRANT_STORE: "qdrant", POSTGRES_STORE: "postgres"}
"""The document stores of engines, each with the extra that brings it."""


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
            parameters = fields.setdefault("init_parameters", {})
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


class _PlainLoader(yaml.SafeLoader):
    """Refuses what may grow, and keys that are repeated or that YAML reads as anything but text."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        fault = None
        if name := getattr(event, "anchor", None):
            kind = "alias '*" if isinstance(event, yaml.AliasEvent) else "anchor '&"
            fault = f"{kind}{name}'. Write the value out (before dumps(): copy.deepcopy)."
        elif tag := getattr(event, "tag", None):
            fault = f"tag '{tag}'. Pipeline files have plain values only."
        elif self.depth > MAX_DEPTH:
            fault = f"nested deeper than {MAX_DEPTH} levels."
        if fault:
            raise LoadingError(f"{event.start_mark.line + 1}: {fault}")
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
        seen = set()
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if key.tag != "tag:yaml.org,2002:str":
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
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise LoadingError(f" a pipeline file has at most {MAX_BYTES:,} bytes.")
        document = yaml.load(raw.decode("utf-8-sig"), Loader=_PlainLoader)  # noqa: S506 - a safe one
    except LoadingError as error:
        raise LoadingError(f"{path}:{error}") from error
    except (OSError, yaml.YAMLError, ValueError, OverflowError) as error:
        raise LoadingError(f"{path}: cannot be read ({' '.join(str(error).split())}).") from error
    if not isinstance(document, dict):
        raise LoadingError(f"{path}: must hold a mapping with 'components' and 'connections'.")
    named: dict[str, Any] = with_trusted_names(document)
    return named


def with_trusted_names(value: Any) -> Any:
    """A plain value in which every class of ours has the name that `components.aliases` gives it.

    Files written before those names have the names in `components`.
    """
    if isinstance(value, list):
        return [with_trusted_names(each) for each in value]
    if not isinstance(value, dict):
        return value
    named = {key: with_trusted_names(inner) for key, inner in value.items()}
    if isinstance(named.get("type"), str):
        named["type"] = trusted_name(named["type"])
    return named


# The forms of a file's parts, which pydantic checks.


class _Object(TypedDict):
    type: str
    init_parameters: NotRequired[dict[str, Any]]


class _Connection(TypedDict):
    sender: str
    receiver: str


class _Definition(TypedDict):
    components: Annotated[dict[str, _Object], MinLen(1)]
    connections: NotRequired[list[_Connection]]
    inputs: NotRequired[dict[str, str | list[str]]]
    outputs: NotRequired[dict[str, str | list[str]]]
    metadata: NotRequired[dict[str, Any]]
    max_runs_per_component: NotRequired[Annotated[int, Interval(ge=1, le=1_000)]]
    connection_type_validation: NotRequired[bool]


for _form in (_Object, _Connection, _Definition):
    setattr(_form, "__pydantic_config__", {"strict": True, "extra": "forbid"})  # noqa: B010

ASKS_GENERATOR = (
    trusted_name("components.generators.tolerant.TolerantChatGenerator"),
    trusted_name("components.generators.rewriter.StatuteQueryRewriter"),
)
"""The components whose `chat_generator` the user names."""
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
    (POSTGRES_STORE, "connection_string"): ("PG_CONN_STR",),
    (_OPENAI, "api_key"): ("LEXARBOR_GENERATOR_KEY", "OPENAI_API_KEY"),
}

# Sockets that neither a connection nor an input may lead into: what comes could not be checked.
_CLOSED_SOCKETS = {_PROMPT: ("template",), _CHAT_PROMPT: ("template",)}


# Filters whose result is about as long as what they are given (`join` is looked at more closely).
_FILTERS = frozenset(
    "capitalize count d default e escape first float int join last "  # noqa: SIM905
    "length lower map reverse sort title trim truncate unique upper".split()
)
_NODES = frozenset(
    "Template Output TemplateData Name Const Pair Getattr Getitem "  # noqa: SIM905
    "Slice Keyword Test If CondExpr And Or Not Compare Operand Add Sub Neg Concat".split()
)
_LONGEST_TEMPLATE = 10_000
_LONGEST_SEPARATOR = 20
_MOST_FILTERS = 2
_DEEPEST_LOOPS = 2


def _template_fault(text: str) -> str:
    """What in a text, if it is a template, could take long to compile or to render, or "".

    Jinja computes constants when it compiles, `{{ 9**9999999 }}` for a minute, so this only parses.
    What passes is bounded by the lengths of the template and of what is put into it.
    """
    if not re.search(r"{[{%]", text):
        return ""
    from haystack.utils.jinja2_chat_extension import ChatMessageExtension
    from jinja2 import Environment, TemplateError

    if len(text) > _LONGEST_TEMPLATE:
        return f"the template has over {_LONGEST_TEMPLATE:,} characters."
    environment = Environment(extensions=[ChatMessageExtension])  # noqa: S701 - it renders nothing
    try:
        return next(_unbounded(environment.parse(text)), "")
    except (TemplateError, ValueError, AttributeError, RecursionError) as error:
        return f"the template cannot be read ({error})."


def _unbounded(node: Any, loops: int = 0) -> Iterator[str]:
    """What in a template's syntax tree has no bound, inside as many loops."""
    from jinja2 import nodes

    inside = list(node.iter_child_nodes())
    allowed = type(node).__name__ in _NODES
    if isinstance(node, nodes.CallBlock) and isinstance(node.call.node, nodes.ExtensionAttribute):
        # {% message role="user" meta={...} %} and {% insert messages %}, as Haystack parses them.
        # They render JSON; each message around another would double the backslashes in it.
        allowed = node.find(nodes.CallBlock) is None
        inside = list(node.body)
        for each in node.call.args:
            inside += each.items if isinstance(each, nodes.Dict) else [each]
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
        yield (
            f"line {node.lineno} of the template: this {type(node).__name__.lower()} is not "
            "allowed in a file (docs/pipelines.md lists what is); overrides may give any template."
        )
    for each in inside:
        yield from _unbounded(each, loops)


def _is_bounded(node: Any) -> bool:
    """Whether a filter's result is about as long as what it is given."""
    from jinja2 import nodes

    options = {each.key: each.value for each in node.kwargs}
    if (
        node.name not in _FILTERS
        or node.dyn_args is not None
        or node.dyn_kwargs is not None
        or len(list(node.find_all(nodes.Filter))) >= _MOST_FILTERS
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


def check_definition(
    definition: Mapping[str, Any],
    where: str,
    named: Collection[str] = (),
    given: Collection[str] = (),
) -> list[str]:
    """Check a definition's keys, connections, classes and parameters.

    No class is imported before its name is found to be allowed.

    Args:
        definition: what the file holds.
        where: the file, as messages name it.
        named: classes and functions that the caller allows, by their dotted names.
        given: the `component.parameter`s whose values are the caller's and not the file's.

    Returns:
        The modules of the classes and functions that the definition may name.

    Raises:
        LoadingError: names the faulty key as `component.parameter`.
    """
    _check_form(_Definition, definition, where)
    components = definition["components"]
    for name in components:
        if "." in name:
            # "a.b" is parameter b of component a, in connections and in what the caller gives.
            raise LoadingError(f"{where}: components: a name has no dot, as '{name}' has.")
    places = [
        (f"{side}.{name}", socket, side == "inputs")
        for side in ("inputs", "outputs")
        for name, sockets in definition.get(side, {}).items()
        for socket in ([sockets] if isinstance(sockets, str) else sockets)
    ]
    for number, connection in enumerate(definition.get("connections", [])):
        for side in ("sender", "receiver"):
            place = f"connections.{number}.{side}"
            places.append((place, connection[side], side == "receiver"))
    for place, socket, is_input in places:
        component, _, name = socket.partition(".")
        if component not in components or not name or "." in name:
            raise LoadingError(f"{where}: {place}: there is no component.socket '{socket}'.")
        kind = components[component]["type"]
        if is_input and name in (*_CLOSED_SOCKETS.get(kind, ()), *HAYSTACK_CLASSES.get(kind, ())):
            raise LoadingError(
                f"{where}: {place}: a file may not lead anything into {socket}: give it to "
                "pipeline.run."
            )
    checker = _Checker(f"{where}: components", named, given)
    for name, fields in components.items():
        checker.check_object(fields, name)
    return sorted(checker.modules)


class _Checker:
    """Checks the objects of one file; `named` and `given` as of `check_definition`."""

    def __init__(self, where: str, named: Collection[str], given: Collection[str]) -> None:
        self._where = where
        self._named = named
        self._given = given
        self.modules = {name.rpartition(".")[0] for name in named}

    def check_object(
        self, fields: Mapping[str, Any], label: str, holder: tuple[str, str] | None = None
    ) -> None:
        """Check an object and all within it.

        Args:
            fields: its class and its parameters.
            label: its place as component.parameter.
            holder: the class and the parameter that have it; None for a component.

        Raises:
            LoadingError: names the place.
        """
        name = fields["type"]
        if not isinstance(name, str):
            self._refuse(f"{label}.type", "the name of a class is text.")
        listed = name in self._named or name in OUR_CLASSES or name in HAYSTACK_CLASSES
        places = [(each, "chat_generator") for each in ASKS_GENERATOR]
        if not listed and (name != _OPENAI or holder not in places):
            self._refuse(f"{label}.type", f"{name} is not an allowed class. {_allowing(name)}")
        if not listed and not self._is_given(label):
            self._refuse(
                label,
                "a file may not choose the server of a chat generator. Choose it with "
                "--generator URL --generator-model NAME (in Python: generator_overrides).",
            )
        _check_form(_Object, fields, self._where, label)
        cls = self._class_of(name, f"{label}.type", is_component=holder is None)
        parameters = fields.get("init_parameters", {})
        form, defaults = _form_of(cls)
        _check_form(form, parameters, self._where, label)
        limits = {} if name in self._named else HAYSTACK_CLASSES.get(name, {})
        for parameter, value in parameters.items():
            own = f"{label}.{parameter}"
            if parameter in defaults and _is_default(value, defaults[parameter]):
                continue
            if value not in limits.get(parameter, [value]) and not self._is_given(own):
                self._refuse(own, f"a file may not set this, or not so. {_allowing(name)}")
            for path, inner in _leaves(value, parameter):
                self._check_leaf(inner, f"{label}.{path}", (name, path))
            if parameter == "filters" and value and name in OUR_CLASSES:
                self._check_filters(value, own)

    def _check_leaf(self, value: Any, label: str, holder: tuple[str, str]) -> None:
        if _is_object(value):
            self.check_object(value, label, holder)
        elif _is_secret(value):
            variables = value.get("env_vars")
            of_caller = holder[0] in self._named and self._is_given(label)
            own = _KEYS.get(holder, ())
            known = isinstance(variables, list) and all(each in own for each in variables)
            if not (of_caller or known):
                self._refuse(label, f"the environment variable {variables!r} is not allowed here.")
        elif holder[0] in self._named or self._is_given(label):
            return
        elif isinstance(value, str) and (fault := _template_fault(value)):
            self._refuse(label, fault)

    def _check_filters(self, filters: Any, label: str) -> None:
        from haystack.errors import FilterError

        from components.stores.filters import check_filters

        try:
            check_filters(filters)
        except FilterError as error:
            self._refuse(label, str(error))

    def _class_of(self, name: str, label: str, *, is_component: bool) -> type:
        from haystack import component

        module, _, own = name.rpartition(".")
        self.modules.add(module)
        try:
            found: type = getattr(importlib.import_module(module), own)
        except (ImportError, AttributeError) as error:
            extra = ENGINE_EXTRAS.get(name)
            hint = f" pip install 'lexarbor[{extra}]' brings it." if extra else ""
            self._refuse(label, f"{name} cannot be imported ({error}).{hint}")
        if is_component and name not in component.registry:
            self._refuse(label, f"{name} is not a Haystack component.")
        return found

    def _is_given(self, label: str) -> bool:
        """Whether the caller gives what stands at "component.parameter", or around it."""
        return any(f"{label}.".startswith(f"{each}.") for each in self._given)

    def _refuse(self, label: str, reason: str) -> NoReturn:
        raise LoadingError(f"{self._where}.{label}: {reason}")


def _check_form(form: Any, values: object, where: str, label: str = "") -> None:
    """Check names and types of a mapping's fields against a TypedDict, by pydantic."""
    # Imported here: no command should wait for pydantic before it reads a file.
    from pydantic import TypeAdapter, ValidationError

    try:
        TypeAdapter(form).validate_python(values)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(map(str, [*([label] if label else []), *fault["loc"]]))
        separator = "." if label else ": "
        raise LoadingError(f"{where}{separator}{place}: {fault['msg']}.") from error


def _leaves(value: object, path: str) -> Iterator[tuple[str, Any]]:
    """Paths and values of all that is not a plain mapping or list; objects count as one value."""
    if isinstance(value, dict) and not _is_object(value) and not _is_secret(value):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}")
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


def _is_default(value: object, default: Any) -> bool:
    return bool(value == (default.to_dict() if hasattr(default, "to_dict") else default))


@cache
def _form_of(cls: type) -> tuple[Any, dict[str, Any]]:
    """The parameters of a class as a TypedDict of plain values, and their defaults."""
    try:
        hints = typing.get_type_hints(cls.__init__)  # type: ignore[misc]
    except NameError:
        hints = {}  # a foreign class may name types that exist for type checkers only
    fields, defaults = {}, {}
    extra = "forbid"
    for each in list(inspect.signature(cls.__init__).parameters.values())[1:]:  # type: ignore[misc]
        if each.kind is each.VAR_KEYWORD:
            extra = "allow"
        elif each.kind is not each.VAR_POSITIONAL:
            fields[each.name] = _plain(hints.get(each.name, Any))
            if each.default is not each.empty:
                fields[each.name] = NotRequired[fields[each.name]]
                defaults[each.name] = each.default
    form = TypedDict("form", fields)  # type: ignore[misc]
    form.__pydantic_config__ = {"strict": True, "extra": extra}  # type: ignore[attr-defined]
    return form, defaults


def _plain(hint: Any) -> Any:
    """The type of the plain value that stands for an annotation in a file."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return Union[tuple(_plain(member) for member in arguments)]  # noqa: UP007 - made at run time
    kind: Any = origin or hint
    if origin is typing.Literal or hint in (None, bool, int, float, str, types.NoneType):
        return hint
    if not inspect.isclass(kind) or kind in (object, Any):
        return Any
    if issubclass(kind, Mapping):
        return dict[tuple(map(_plain, arguments))] if arguments else dict  # type: ignore[misc]
    if kind.__module__ in ("builtins", "collections.abc") and issubclass(list, kind):
        return list[_plain(arguments[0])] if arguments else list  # type: ignore[misc]
    # Haystack writes an object as a mapping, but these as text.
    return str if kind is Callable or issubclass(kind, (PurePath, Enum, type)) else dict


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
