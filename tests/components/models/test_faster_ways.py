"""What computes on a CPU: number formats, linear layers, and the races between them."""

import threading
from contextlib import nullcontext

import pytest
import torch
from torch import nn

from components.models import devices, onednn
from components.models.devices import inference, pack_linear_layers
from components.models.folder import ModelError
from components.models.onednn import LINEAR, _OneDnnLinear, fast_linear

# Devices and number formats

CPU = torch.device("cpu")


@pytest.mark.parametrize("name", ["gpu", "cuda:99"])
def test_a_device_that_is_not_there_is_refused_by_name(name):
    with pytest.raises(ModelError, match=f"{name!r}"):
        devices.resolve_device(name)


@pytest.mark.parametrize(("gain", "expected"), [(4.0, torch.bfloat16), (0.9, torch.float32)])
def test_auto_follows_what_was_measured(monkeypatch, gain, expected):
    monkeypatch.setattr(devices.BF16, "_settled", None)
    monkeypatch.setattr(devices.BF16, "gain", lambda: gain)
    formats = [devices.resolve_dtype(each, CPU) for each in ("auto", "float32", "bfloat16")]
    assert formats == [expected, torch.float32, torch.bfloat16]


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_one_thread_within_the_block_and_as_many_as_before_behind_it(three_threads):
    with pytest.raises(KeyError), devices.single_thread(CPU):
        assert torch.get_num_threads() == 1
        raise KeyError
    assert torch.get_num_threads() == 3
    with devices.single_thread(CPU, when=False):
        assert torch.get_num_threads() == 3


def test_a_thread_that_begins_while_another_is_on_one_core_gets_all(three_threads):
    begun, behind = threading.Event(), threading.Event()
    seen = []

    def computes():
        torch.get_num_threads()  # its first call
        begun.set()
        behind.wait()
        for _ in range(2):
            with inference([], CPU, torch.float32):
                seen.append(torch.get_num_threads())
        with devices.single_thread(CPU):
            seen.append(torch.get_num_threads())

    for is_over in (False, True):
        begun.clear()
        behind.clear()
        thread = threading.Thread(target=computes)
        with devices.single_thread(CPU):
            thread.start()
            begun.wait()
            if not is_over:
                behind.set()
                thread.join()
        behind.set()
        thread.join()
        assert torch.get_num_threads() == 3
    assert seen == [3, 3, 1] * 2


# Linear layers

needs_onednn = pytest.mark.skipif(
    LINEAR.gain() == 0, reason="this build of PyTorch brings no oneDNN"
)


@needs_onednn
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", ["matrix", "batch", "transposed", "strided", "vector", "empty"])
def test_a_linear_layer_and_its_gradients_are_the_same(kind, bias):
    torch.manual_seed(0)
    layer = nn.Linear(24, 33, bias=bias)
    states = {
        "matrix": torch.randn(7, 24),
        "batch": torch.randn(3, 5, 24),
        "transposed": torch.randn(24, 5).T,
        "strided": torch.randn(4, 6, 24)[::2, 1:4],
        "vector": torch.randn(24),
        "empty": torch.empty(0, 24),
    }[kind].requires_grad_()

    def computed(block):
        with torch.no_grad(), block():
            unrecorded = layer(states)
        with block():
            out = layer(states)
        loss = (out * torch.linspace(-1, 1, 33)).square().sum()
        return unrecorded, torch.autograd.grad(loss, [states, *layer.parameters()])

    (expected, slopes), (found, found_slopes) = map(computed, (nullcontext, _OneDnnLinear))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found_slopes, slopes, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize(("gain", "taken"), [(2.0, True), (1.0, False)])
def test_the_faster_of_the_two_is_taken(monkeypatch, gain, taken):
    on_gpu = torch.device("cuda")
    monkeypatch.setattr(LINEAR, "_settled", None)
    monkeypatch.setattr(LINEAR, "gain", lambda: gain)
    calls = []
    monkeypatch.setattr(onednn, "_onednn_linear", lambda *args: calls.append(1) or torch.zeros(1))
    with torch.no_grad(), fast_linear(torch.device("cpu")):
        nn.Linear(4, 4)(torch.ones(1, 4))
    assert bool(calls) == taken
    assert LINEAR.on(torch.device("cpu")) == ("onednn" if taken else "torch")
    for device in (torch.device("cpu"), on_gpu):
        pack_linear_layers(layer := nn.Linear(4, 4), device, torch.float32)
        assert ("forward" in vars(layer)) == (taken and device.type == "cpu")
    assert LINEAR.on(on_gpu) == "torch"
    assert isinstance(fast_linear(on_gpu), nullcontext)


@needs_onednn
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("bias", [True, False])
def test_packed_layers_compute_the_same_however_many_rows(monkeypatch, dtype, bias):
    monkeypatch.setattr(LINEAR, "_settled", "onednn")
    if dtype == torch.bfloat16 and not devices.fast_bf16(CPU):
        pytest.skip("bfloat16 is not fast here")
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(24, 48, bias=bias), nn.GELU(), nn.Linear(48, 16, bias=bias))
    inputs = [torch.randn(rows, 24) for rows in (1, 5, 700)]

    def computed():
        with inference([module], CPU, dtype):
            return [module(each).float() for each in inputs]

    expected = computed()
    pack_linear_layers(module, CPU, dtype)
    assert "forward" in vars(module[0])
    exact = dtype == torch.float32
    torch.testing.assert_close(
        computed(), expected, atol=1e-6 if exact else 1e-2, rtol=1e-5 if exact else 1e-2
    )
