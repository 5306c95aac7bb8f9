"""What computes on a CPU: number formats, linear layers, attention, and the races between them."""

import threading
from contextlib import nullcontext

import pytest
import torch
from torch import nn

from components.models import devices
from components.models.devices import (
    LINEAR,
    _OneDnnLinear,
    fast_attention,
    fast_linear,
    inference,
    plain_attention,
)
from components.models.errors import ModelError

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
    monkeypatch.setattr(devices.LINEAR, "_settled", None)
    monkeypatch.setattr(devices.LINEAR, "gain", lambda: gain)
    calls = []
    monkeypatch.setattr(devices, "_onednn_linear", lambda *args: calls.append(1) or torch.zeros(1))
    with torch.no_grad(), fast_linear(torch.device("cpu")):
        nn.Linear(4, 4)(torch.ones(1, 4))
    assert bool(calls) == taken
    assert LINEAR.on(torch.device("cpu")) == ("onednn" if taken else "torch")
    assert LINEAR.on(on_gpu) == "torch"
    assert isinstance(fast_linear(on_gpu), nullcontext)


# Attention

fused = torch.nn.functional.scaled_dot_product_attention


def parts(n=5, tokens=9, others=9, width=8):
    generator = torch.Generator().manual_seed(0)
    shapes = [(n, 3, tokens, width), (n, 3, others, width), (n, 3, others, width)]
    return [torch.randn(shape, generator=generator).bfloat16() for shape in shapes]


def by_hand(parts, looked_at, scale):
    """In float64, text by text and head by head."""
    query, key, value = (part.double() for part in parts)
    found = torch.zeros_like(query)
    for text in range(len(query)):
        for head in range(query.shape[1]):
            for token in range(query.shape[2]):
                kept = looked_at[text, token]
                scores = (key[text, head, kept] @ query[text, head, token]) * scale
                found[text, head, token] = torch.softmax(scores, 0) @ value[text, head, kept]
    return found


ALL = torch.ones(5, 1, 9, 7, dtype=torch.bool)
SEEN = (torch.arange(7) < torch.tensor([7, 3, 7, 1, 5])[:, None])[:, None, None].expand_as(ALL)
FOUR = (torch.arange(7) < 4).expand_as(ALL)
MASKS = {
    "none": (None, ALL),
    "bool": (SEEN.clone(), SEEN),
    "bool of one row": (SEEN, SEEN),
    "added": (torch.zeros(5, 1, 9, 7).masked_fill(~SEEN, -1e30), SEEN),
    "of one text": (FOUR[:1].clone(), FOUR),
}


@pytest.mark.parametrize("chunk", [1, 2**20])
@pytest.mark.parametrize(("mask", "seen"), MASKS.values(), ids=MASKS)
def test_it_is_attention(monkeypatch, chunk, mask, seen):
    monkeypatch.setattr(devices, "_CHUNK_BYTES", chunk)
    given = parts(others=7)
    found = plain_attention(*given, mask, 0.2)
    assert found.dtype == torch.bfloat16
    assert (found.double() - by_hand(given, seen[:, 0], 0.2)).abs().max() < 0.03
    # Laid out as PyTorch lays it out: heads side by side, token after token.
    assert found.transpose(1, 2).is_contiguous()


def test_a_text_that_looks_at_nothing_gives_numbers():
    found = plain_attention(*parts(), torch.zeros(5, 1, 9, 9, dtype=torch.bool), None)
    assert found.isfinite().all()


@pytest.fixture
def plain_calls(monkeypatch):
    """A processor on which the plain way is the faster, and the calls that it got."""
    calls = []

    def spy(*given):
        calls.append(given)
        return plain_attention(*given)

    monkeypatch.setattr(devices.ATTENTION, "_settled", None)
    monkeypatch.setattr(devices.ATTENTION, "gain", lambda: 2.0)
    monkeypatch.setattr(devices, "plain_attention", spy)
    return calls


def test_the_block_takes_what_an_encoder_asks_for(plain_calls):
    mask = torch.ones(5, 1, 9, 9, dtype=torch.bool)
    with torch.no_grad(), fast_attention(CPU):
        found = torch.nn.functional.scaled_dot_product_attention(*parts(), attn_mask=mask)
    assert len(plain_calls) == 1
    assert (found.float() - fused(*parts()).float()).abs().max() < 0.03


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ([each.float() for each in parts()], {}),
        (parts(others=257), {}),
        (parts(), {"is_causal": True}),
        (parts(), {"dropout_p": 0.5}),
        (parts(), {"attn_mask": torch.ones(5, 3, 9, 9, dtype=torch.bool)}),
    ],
)
def test_all_else_goes_the_fused_way(plain_calls, given, options):
    with torch.no_grad(), fast_attention(CPU):
        torch.nn.functional.scaled_dot_product_attention(*given, **options)
    assert not plain_calls


# Races


def test_best_round_counts_against_best_round_in_turns(monkeypatch):
    now = 0.0
    run = []
    monkeypatch.setattr(devices.time, "perf_counter", lambda: now)

    def way(name, seconds):
        def compute():
            nonlocal now
            now += seconds[run.count(name)]
            run.append(name)

        return compute

    known = way("known", [9, 6, 7, 8, 9, 9, 9, 9])
    other = way("other", [5, 5, 5, 5, 5, 5, 5, 2])
    assert devices.gain(known, other) == 3
    assert run == ["known", "other"] * 8
