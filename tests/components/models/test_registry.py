"""Models are shared until their files change."""

import gc
import shutil
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from components.models.biencoder import BiEncoder
from components.models.folder import graph_model_digest, model_digest
from components.models.graph import LegislativeGraphEncoder
from components.models.registry import shared_graph, shared_model


def test_another_number_format_or_other_files_are_another_model(tiny_bert, tiny_roberta, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(tiny_bert, folder)
    first = shared_model(folder, "cpu", "float32")
    assert first.name == str(folder)
    assert shared_model(folder, "cpu", "bfloat16") is not first
    shutil.rmtree(folder)
    shutil.copytree(tiny_roberta, folder)
    second = shared_model(folder, "cpu", "float32")
    assert second is not first
    assert second.digest != first.digest


@pytest.fixture(scope="module")
def graph_folders(tiny_bert, tmp_path_factory):
    """Two networks over one bi-encoder, and the bi-encoder alone."""
    folder = tmp_path_factory.mktemp("graphs")
    encoder = BiEncoder.load(tiny_bert, device="cpu")
    for name in ("one", "two"):
        network = LegislativeGraphEncoder(32, layers=1)
        encoder.save(folder / name, kept={"graph": network.save})
    encoder.save(folder / "plain")
    return folder / "one", folder / "two", folder / "plain"


def test_a_graph_network_is_shared_ready_for_use_and_released(graph_folders):
    one, two, _ = graph_folders
    with ThreadPoolExecutor(4) as threads:
        networks = list(threads.map(lambda _: shared_graph(one, "cpu"), range(8)))
    assert len({id(network) for network in networks}) == 1
    assert not networks[0].training
    other = shared_graph(two, "cpu")
    assert other is not networks[0]
    watch = weakref.ref(other)
    del other
    gc.collect()
    assert watch() is None


def test_a_graph_counts_in_its_own_digest_and_never_in_the_bi_encoders(graph_folders):
    one, two, plain = graph_folders
    assert len({model_digest(folder) for folder in graph_folders}) == 1
    digests = {graph_model_digest(one), graph_model_digest(two), model_digest(plain)}
    assert len(digests) == 3
    assert BiEncoder.load(one, device="cpu").digest == model_digest(plain)
