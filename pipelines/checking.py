"""Checks of a pipeline's definition before anything in it is built."""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePath
from typing import Any

from pipelines.addresses import MILVUS_STORE, QDRANT_STORE
from pipelines.files import WRITER, LoadingError, did_you_mean

# A file may come from anyone, and Haystack's own allow-list admits the whole of Haystack, agents,
# tools and file converters included. So the classes are listed here one by one: ours, and those of
# Haystack that read no file, write none, call no one and run nothing.


_TOLERANT = "components.generators.tolerant.TolerantChatGenerator"
_OPENAI = "haystack.components.generators.chat.openai.OpenAIChatGenerator"
_CHAT_PROMPT = "haystack.components.builders.chat_prompt_builder.ChatPromptBuilder"
_PROMPT = "haystack.components.builders.prompt_builder.PromptBuilder"

OUR_CLASSES = (
    "components.builders.citation_auditor.CitationAuditor",
    "components.builders.cited_answer.CitedAnswerBuilder",
    "components.builders.prompt.StatutePromptBuilder",
    "components.builders.quote_verifier.QuoteVerifier",
    "components.converters.statutes.StatuteConverter",
    "components.embedders.document.StatuteDocumentEmbedder",
    "components.embedders.graph.LegislativeGraphEmbedder",
    "components.embedders.sparse_document.StatuteSparseDocumentEmbedder",
    "components.embedders.sparse_text.StatuteSparseTextEmbedder",
    "components.embedders.text.StatuteTextEmbedder",
    "components.evaluators.retrieval.RetrievalEvaluator",
    _TOLERANT,
    "components.joiners.rank_fusion.StatuteRankFuser",
    "components.joiners.sections.StatuteSectionMerger",
    "components.rankers.cross_encoder.StatuteRanker",
    "components.rankers.gate.AnswerabilityGate",
    "components.retrievers.bm25.StatuteBM25Retriever",
    "components.retrievers.citation.CitationRetriever",
    "components.retrievers.embedding.StatuteEmbeddingRetriever",
    "components.retrievers.engines.EngineCitationRetriever",
    "components.retrievers.engines.EngineEmbeddingRetriever",
    "components.retrievers.engines.EngineLexicalRetriever",
    "components.retrievers.hybrid.StatuteHybridRetriever",
    "components.retrievers.structure.StructureExpander",
    "components.stores.sqlite.StatuteDocumentStore",
)

# Each with the parameters that a file may not set freely, and the values (besides the parameter's
# default) that it may give them. Regular expressions are among them: one of a few characters can
# run for hours. Splitters are left out: by sentence or by token they download data, and the length
# that they are given they reserve in memory.
HAYSTACK_CLASSES: dict[str, dict[str, tuple[Any, ...]]] = {
    "haystack.components.builders.answer_builder.AnswerBuilder": {
        "pattern": (),
        "reference_pattern": (r"\[(\d+)\]",),
    },
    _CHAT_PROMPT: {},
    _PROMPT: {},
    "haystack.components.caching.cache_checker.CacheChecker": {},
    "haystack.components.evaluators.answer_exact_match.AnswerExactMatchEvaluator": {},
    "haystack.components.evaluators.document_map.DocumentMAPEvaluator": {},
    "haystack.components.evaluators.document_mrr.DocumentMRREvaluator": {},
    "haystack.components.evaluators.document_ndcg.DocumentNDCGEvaluator": {},
    "haystack.components.evaluators.document_recall.DocumentRecallEvaluator": {},
    "haystack.components.generators.chat.mock.MockChatGenerator": {
        "response_fn": (),
        "streaming_callback": (),
    },
    "haystack.components.joiners.answer_joiner.AnswerJoiner": {},
    "haystack.components.joiners.branch.BranchJoiner": {},
    "haystack.components.joiners.document_joiner.DocumentJoiner": {},
    "haystack.components.joiners.list_joiner.ListJoiner": {},
    "haystack.components.joiners.string_joiner.StringJoiner": {},
    "haystack.components.preprocessors.document_cleaner.DocumentCleaner": {
        "remove_regex": (),
        "replace_regexes": (),
    },
    "haystack.components.preprocessors.text_cleaner.TextCleaner": {"remove_regexps": ()},
    "haystack.components.rankers.lost_in_the_middle.LostInTheMiddleRanker": {},
    "haystack.components.rankers.meta_field.MetaFieldRanker": {},
    "haystack.components.rankers.meta_field_grouping_ranker.MetaFieldGroupingRanker": {},
    "haystack.components.retrievers.auto_merging_retriever.AutoMergingRetriever": {},
    "haystack.components.retrievers.filter_retriever.FilterRetriever": {},
    "haystack.components.retrievers.in_memory.bm25_retriever.InMemoryBM25Retriever": {},
    "haystack.components.retrievers.in_memory.embedding_retriever.InMemoryEmbeddingRetriever": {},
    "haystack.components.retrievers.multi_query_embedding_retriever"
    ".MultiQueryEmbeddingRetriever": {},
    "haystack.components.retrievers.multi_query_text_retriever.MultiQueryTextRetriever": {},
    "haystack.components.retrievers.multi_retriever.MultiRetriever": {},
    "haystack.components.retrievers.sentence_window_retriever.SentenceWindowRetriever": {},
    "haystack.components.retrievers.text_embedding_retriever.TextEmbeddingRetriever": {},
    "haystack.components.routers.document_length_router.DocumentLengthRouter": {},
    "haystack.components.routers.metadata_router.MetadataRouter": {},
    "haystack.components.samplers.top_p.TopPSampler": {},
    WRITER: {},
    "haystack.document_stores.in_memory.document_store.InMemoryDocumentStore": {
        "bm25_tokenization_regex": (),
        "async_executor": (),
    },
    # The engines are called, and nothing but asked: these parameters empty a collection, change it,
    # run a function by name or stand in for the address and key that the others give.
    QDRANT_STORE: {"recreate_index": (), "payload_fields_to_index": (), "client_kwargs": ()},
    MILVUS_STORE: {"drop_old": (), "collection_properties": (), "builtin_function": ([],)},
}

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
_SPELLED = {"Pow": "**", "Mul": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Call": "a call"}


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
                "with --generator URL --generator-model NAME (in Python with overrides="
                "generator_overrides(...) of pipelines.generators)."
            )
        raise LoadingError(
            f"{where}.type: {name} is not an allowed class{_near(name)}. {_allowing(name)}"
        )

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
            only = f"only {' and '.join(known)}" if known else "no variable"
            raise LoadingError(
                f"{where}: the environment variable {variables!r} is not allowed; here a file may "
                f"name {only}. In Python, overrides give one to a class of allowed_classes."
            )

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
        values = f" to anything but {', '.join(map(repr, allowed))}" if allowed else ""
        raise LoadingError(
            f"{where}: a file may not set this{values}. In Python, overrides may, or "
            f"allowed_classes=['{name}']."
        )


def is_closed(class_name: str, socket: str) -> bool:
    """Whether no connection and no input of a file may lead into a socket."""
    return socket in (*_CLOSED_SOCKETS.get(class_name, ()), *HAYSTACK_CLASSES.get(class_name, ()))


def is_secret(value: object) -> bool:
    """Whether a value is what Haystack reads from the environment."""
    return isinstance(value, dict) and value.get("type") in ("env_var", "token")


def is_template(value: object) -> bool:
    """Whether a value is a text that Jinja would have something to do with."""
    return isinstance(value, str) and ("{{" in value or "{%" in value)


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
        raise LoadingError(
            f"{where}: the template has {len(text):,} characters; a file's has at most "
            f"{_LONGEST_TEMPLATE:,}."
        )
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
    fault = None
    if isinstance(node, nodes.CallBlock) and isinstance(node.call.node, nodes.ExtensionAttribute):
        # {% message role="user" meta={...} %} and {% insert messages %}, as Haystack parses them.
        inside = [*node.call.args, *node.body]
        for each in node.call.args:
            if isinstance(each, nodes.Dict):
                inside.remove(each)
                inside += [part for pair in each.items for part in (pair.key, pair.value)]
    elif type(node).__name__ not in _NODES:
        kind = type(node).__name__
        fault = _SPELLED.get(kind, kind.lower())
    elif isinstance(node, nodes.List | nodes.Tuple):
        is_target = getattr(node, "ctx", "load") == "store"  # for key, value in ...
        if not is_target and not all(isinstance(each, nodes.Const) for each in node.items):
            fault = "a list of anything but constants"
    elif isinstance(node, nodes.For):
        loops += 1
        if loops > _DEEPEST_LOOPS:
            fault = f"more than {_DEEPEST_LOOPS} loops within each other"
        elif node.recursive or not _is_variable(node.iter):
            fault = "a loop over anything but a variable"
    elif isinstance(node, nodes.Filter):
        fault = _fault_of_filter(node)
    if fault is not None:
        raise LoadingError(
            f"{where}: line {node.lineno} of the template: {fault} is not allowed in a file "
            "(docs/pipelines.md lists what is). In Python, overrides may give any template."
        )
    for each in inside:
        _check_node(each, where, loops)


def _is_variable(node: Any) -> bool:
    """Whether an expression is a variable, an attribute or part of it, with filters or without."""
    from jinja2 import nodes

    while isinstance(node, nodes.Getattr | nodes.Getitem | nodes.Filter):
        node = node.node
    return isinstance(node, nodes.Name)


def _fault_of_filter(node: Any) -> str | None:
    from jinja2 import nodes

    options = {each.key: each.value for each in node.kwargs}
    if node.name not in _FILTERS:
        return f"the filter {node.name}"
    if node.dyn_args is not None or node.dyn_kwargs is not None:
        return "*"
    if len(list(node.find_all(nodes.Filter))) >= _DEEPEST_FILTERS:
        return f"more than {_DEEPEST_FILTERS} filters on one value"
    if node.name == "map" and (node.args or not options.keys() <= {"attribute", "default"}):
        return "map with anything but an attribute"
    if node.name == "join":
        for separator in [*node.args[:1], *(options[key] for key in options if key == "d")]:
            if not isinstance(separator, nodes.Const) or (
                len(str(separator.value)) > _LONGEST_SEPARATOR
            ):
                return f"join with anything but up to {_LONGEST_SEPARATOR} characters"
    return None


def _near(name: str) -> str:
    """' (did you mean ...?)' for the allowed class whose own name is nearest, or nothing."""
    by_name = {each.rsplit(".", 1)[1]: each for each in (*OUR_CLASSES, *HAYSTACK_CLASSES)}
    near = difflib.get_close_matches(name.rsplit(".", 1)[-1], by_name, n=1, cutoff=0.8)
    return f" (did you mean '{by_name[near[0]]}'?)" if near else ""


def _allowing(name: str) -> str:
    return f"If you trust it, load_pipeline(..., allowed_classes=['{name}']) allows it."


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
_MOST_RUNS = 1_000
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
    if not 1 <= definition.get("max_runs_per_component", 1) <= _MOST_RUNS:
        raise LoadingError(f"{where}: max_runs_per_component is a number from 1 to {_MOST_RUNS}.")
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
        LoadingError: it is not such a text, or there is no such component.
    """
    if not isinstance(socket, str) or socket.count(".") != 1:
        raise LoadingError(f"{where}: {socket!r} is not a 'component.socket'.")
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
            from haystack.errors import FilterError

            from components.stores.filters import check_filters

            try:
                check_filters(value)
            except FilterError as error:
                raise LoadingError(f"{place}: {error}") from error
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


def _class_of(name: str, where: str, component: bool) -> type:
    module_name, class_name = name.rsplit(".", 1)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        extra = next((extra for start, extra in _EXTRAS.items() if name.startswith(start)), None)
        hint = f" Install it with pip install 'lexarbor[{extra}]'." if extra else ""
        raise LoadingError(f"{where}: {name} cannot be imported ({error}).{hint}") from error
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
        raise LoadingError(f"{where}: {name} is not a Haystack component.")
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
    return LoadingError(f"{where}: {shown} is not a {expected}.")


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
