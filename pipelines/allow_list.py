"""What a pipeline file may name: classes, a few of their parameters, key variables and templates.

A file may come from anyone, and Haystack's own allow-list admits the whole of Haystack, agents,
tools and file converters included. So the classes are listed here one by one: ours, and those of
Haystack that read no file, write none, call no one and run nothing.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Any

from pipelines.engines.addresses import MILVUS_STORE, QDRANT_STORE
from pipelines.files import WRITER, LoadingError

_TOLERANT = "components.generators.tolerant.TolerantChatGenerator"
_OPENAI = "haystack.components.generators.chat.openai.OpenAIChatGenerator"
_CHAT_PROMPT = "haystack.components.builders.chat_prompt_builder.ChatPromptBuilder"
_PROMPT = "haystack.components.builders.prompt_builder.PromptBuilder"

OUR_CLASSES = (
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
    "components.rankers.cross_encoder.StatuteRanker",
    "components.rankers.gate.AnswerabilityGate",
    "components.retrievers.bm25.StatuteBM25Retriever",
    "components.retrievers.citation.CitationRetriever",
    "components.retrievers.embedding.StatuteEmbeddingRetriever",
    "components.retrievers.engines.EngineCitationRetriever",
    "components.retrievers.engines.EngineEmbeddingRetriever",
    "components.retrievers.engines.EngineLexicalRetriever",
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
