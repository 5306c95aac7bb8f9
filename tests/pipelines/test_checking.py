"""A definition's faults are named as component.parameter before anything is built."""

import copy
import subprocess
import sys
from typing import Any

import pytest
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.utils import ComponentDevice

from components.stores.sqlite import StatuteDocumentStore
from pipelines.allow_list import AllowList
from pipelines.checking import check_definition
from pipelines.files import LoadingError, pipeline_file, pipeline_names, read_pipeline_file

STORE = {"type": "components.stores.sqlite.StatuteDocumentStore", "init_parameters": {"path": None}}
BM25 = "components.retrievers.bm25.StatuteBM25Retriever"
FUSER = "components.joiners.rank_fusion.StatuteRankFuser"
LEXICAL: dict[str, Any] = {
    "components": {
        "bm25": {"type": BM25, "init_parameters": {"document_store": STORE, "top_k": 5}},
        "fuser": {"type": FUSER, "init_parameters": {"stages": ["bm25"], "weights": {"bm25": 1}}},
    },
    "connections": [{"sender": "bm25.documents", "receiver": "fuser.bm25"}],
    "inputs": {"query": ["bm25.query"], "top_k": "fuser.top_k"},
    "outputs": {"documents": "fuser.documents"},
}


def changed(place: str, value: Any) -> dict[str, Any]:
    """LEXICAL with the value at "a/b/c" replaced."""
    definition = copy.deepcopy(LEXICAL)
    *above, last = place.split("/")
    inner: Any = definition
    for key in above:
        inner = inner[int(key) if isinstance(inner, list) else key]
    inner[last] = value
    return definition


def test_a_sound_definition_passes() -> None:
    check_definition(LEXICAL, "x.yaml")


@pytest.mark.parametrize("name", pipeline_names())
def test_our_own_files_pass(name: str) -> None:
    check_definition(read_pipeline_file(pipeline_file(name)), name)


PARAMETERS = "components/bm25/init_parameters"


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("component", {}, r"unknown key 'component' \(did you mean 'components'"),
        ("input", {}, r"unknown key 'input' \(did you mean 'inputs'"),
        ("components", [], r"components: \[\] is no dict"),
        ("components", {}, "components: there are none"),
        ("components/bm25", "text", "components.bm25: 'text' is no mapping"),
        ("components/bm25/init_params", {}, r"'init_params' \(did you mean 'init_parameters'"),
        ("components/bm25/init_parameters", [1], r"bm25.init_parameters: \[1\] is no mapping"),
        ("components/bm25/type", None, "components.bm25.type: None is not a class"),
        ("components/bm25/type", "os.system", "components.bm25.type: os.system .*allowed_classes"),
        ("components/bm25/type", f"{BM25}s", f"did you mean '{BM25}'"),
        ("components/bm25/type", BM25.replace("bm25", "bm52"), f"did you mean '{BM25}'"),
        (
            "components/bm25/type",
            "components.stores.sqlite.StatuteDocumentStore",
            "is no Haystack component",
        ),
        (f"{PARAMETERS}/topk", 3, r"bm25.topk: .*did you mean 'top_k'"),
        (f"{PARAMETERS}/top_k", "ten", "bm25.top_k: 'ten' is no whole number"),
        (f"{PARAMETERS}/top_k", True, "bm25.top_k: True is no whole number"),
        (f"{PARAMETERS}/top_k", 2.5, "bm25.top_k: 2.5 is no whole number"),
        (f"{PARAMETERS}/top_k", None, "bm25.top_k: None is no whole number"),
        (f"{PARAMETERS}/k1", "1.5", "bm25.k1: '1.5' is no number"),
        (f"{PARAMETERS}/filters", ["x"], r"bm25.filters: \['x'\] is no dict of .* or null"),
        (f"{PARAMETERS}/document_store", 7, "bm25.document_store: 7 is no DocumentStore"),
        (
            f"{PARAMETERS}/document_store",
            "law.db",
            r"'law.db' is no DocumentStore \(as the mapping that its to_dict\(\) gives\)",
        ),
        (
            f"{PARAMETERS}/document_store",
            StatuteDocumentStore("law.db"),
            r"is no DocumentStore \(as the mapping that its to_dict\(\) gives\)",
        ),
        (
            f"{PARAMETERS}/document_store/init_parameters/pth",
            "law.db",
            r"bm25.document_store.pth: .*did you mean 'path'",
        ),
        (
            f"{PARAMETERS}/document_store/init_parameters/path",
            3,
            "bm25.document_store.path: 3 is no text or null",
        ),
        (
            f"{PARAMETERS}/document_store/init_parameters/path",
            {"name": "law.db"},
            "bm25.document_store.path: .* is no text or null",
        ),
        (f"{PARAMETERS}/document_store/type", "evil.Store", "document_store.type: evil.Store is"),
        (f"{PARAMETERS}/document_store/init", {}, "bm25.document_store: unknown key 'init'"),
        ("components/fuser/init_parameters/stages", ["bm25", 3], "fuser.stages"),
        ("components/fuser/init_parameters/weights", {"bm25": "1"}, "fuser.weights"),
        ("connections/0/sender", "bm52.documents", r"'bm52' \(did you mean 'bm25'"),
        ("connections/0/sender", None, "entry 1: sender: None is no 'component.socket'"),
        ("connections/0/from", "bm25.documents", "unknown key 'from'"),
        ("inputs/query", ["bm25"], "inputs.query: 'bm25' is no 'component.socket'"),
        ("outputs/documents", "fusr.documents", r"'fusr' \(did you mean 'fuser'"),
        ("max_runs_per_component", "many", "max_runs_per_component: 'many' is no int"),
    ],
)
def test_a_fault_is_named(place: str, value: Any, message: str) -> None:
    with pytest.raises(LoadingError, match=message) as refusal:
        check_definition(changed(place, value), "x.yaml")
    assert str(refusal.value).startswith("x.yaml: ")


def test_a_missing_parameter_is_named() -> None:
    with pytest.raises(LoadingError, match=r"bm25.document_store: .* needs this parameter"):
        check_definition(changed(PARAMETERS, {}), "x.yaml")


def test_an_enumeration_is_given_by_name() -> None:
    writer = {
        "type": "haystack.components.writers.document_writer.DocumentWriter",
        "init_parameters": {"document_store": STORE, "policy": "OVERWRIT"},
    }
    with pytest.raises(LoadingError, match=r"writer.policy: 'OVERWRIT' is no .*OVERWRITE"):
        check_definition({"components": {"writer": writer}}, "x.yaml")
    writer["init_parameters"]["policy"] = "OVERWRITE"  # type: ignore[index]
    check_definition({"components": {"writer": writer}}, "x.yaml")


def test_an_enumeration_may_be_given_by_value() -> None:
    # As Haystack writes it.
    retriever = InMemoryBM25Retriever(InMemoryDocumentStore()).to_dict()
    assert retriever["init_parameters"]["filter_policy"] == "replace"
    check_definition({"components": {"retriever": retriever}}, "x.yaml")


def test_an_object_is_a_mapping_and_a_function_or_a_class_a_name() -> None:
    embedder: dict[str, Any] = {
        "type": "components.embedders.text.StatuteTextEmbedder",
        "init_parameters": {"device": "cpu"},
    }
    with pytest.raises(LoadingError, match=r"embedder\.device: 'cpu' is no ComponentDevice \(as"):
        check_definition({"components": {"embedder": embedder}}, "x.yaml")
    embedder["init_parameters"]["device"] = ComponentDevice.from_str("cpu").to_dict()
    callback = "haystack.components.generators.utils.print_streaming_chunk"
    generator = {
        "type": "haystack.components.generators.chat.openai.OpenAIChatGenerator",
        "init_parameters": {"streaming_callback": callback},
    }
    joiner = {
        "type": "haystack.components.joiners.branch.BranchJoiner",
        "init_parameters": {"type_": "str"},
    }
    named = frozenset({generator["type"], callback})
    definition = {"components": {"e": embedder, "g": generator, "j": joiner}}
    check_definition(definition, "x.yaml", AllowList(named))  # type: ignore[arg-type]


def test_a_foreign_class_is_refused_before_anything_is_imported() -> None:
    code = (
        "import sys\n"
        "from pipelines.checking import check_definition\n"
        "a = 'components.builders.quote_verifier.QuoteVerifier'\n"
        "definition = {'components': {'a': {'type': a}, 'b': {'type': 'os.system'}}}\n"
        "try:\n    check_definition(definition, 'x.yaml')\n"
        "except ValueError as error:\n    print(error)\n"
        "assert 'haystack' not in sys.modules\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "components.b.type: os.system is not an allowed class" in run.stdout
