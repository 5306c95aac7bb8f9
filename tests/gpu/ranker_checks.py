"""The cross-encoder on a GPU: its logits, and the speed compared with the bare model."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import CrossEncoder
from torch import Tensor, nn

from components.models.cross_encoder import CrossEncoderRanker
from training.ranker import open_starting_model

DIFFERENCE = 1e-4
FORWARD_RATIO = 1.2
# Of one list's logits. A random model's lie close together, so that the very top is chance.
CORRELATION = 0.998
CANDIDATES = 90
SIZES = (128, 512, 2048)


def check_ranker(
    checks: Callable[[str, bool], None],
    device: torch.device,
    seconds: Callable[..., float],
    texts: Callable[..., list[str]],
    base_model: Callable[[Path, int, int], None],
    *,
    n_questions: int = 100,
    hidden: int = 384,
    layers: int = 6,
) -> dict[str, Any]:
    """Logits against CrossEncoder.predict, bfloat16 against float32, and the speed."""
    words = [text.split() for text in texts(CANDIDATES + n_questions)]
    passages = [" ".join(own[:100]) for own in words[:CANDIDATES]]
    pairs = [(" ".join(own[:12]), passage) for own in words[CANDIDATES:] for passage in passages]
    with tempfile.TemporaryDirectory() as folder:
        base_model(Path(folder), hidden, layers)
        encoder = open_starting_model(Path(folder), device, 0)
    # Wide enough that candidates can be told apart.
    encoder.model.classifier.weight.data.normal_(0.0, 1.0)
    encoder.eval()
    exact = CrossEncoderRanker(encoder, dtype="float32").logits(pairs)
    few = pairs[: 4 * CANDIDATES]
    expected = encoder.predict(few, activation_fn=nn.Identity(), convert_to_tensor=True)
    difference = float((exact[: len(few)] - expected.float().cpu()).abs().max())
    checks(f"ranker: fp32 within {DIFFERENCE} of CrossEncoder.predict", difference <= DIFFERENCE)

    ranker = CrossEncoderRanker(encoder, dtype="bfloat16")
    alike = min(
        float(torch.corrcoef(torch.stack(lists))[0, 1])
        for lists in zip(
            exact.split(CANDIDATES), ranker.logits(pairs).split(CANDIDATES), strict=True
        )
    )
    checks(f"ranker: bf16 logits correlate by {CORRELATION} with fp32's", alike >= CORRELATION)

    ours = seconds(lambda: ranker.logits(pairs), device)
    bare = {size: _bare(encoder, pairs, size, device, seconds) for size in SIZES}
    ratio = ours / min(bare.values())
    checks(f"ranker: within {FORWARD_RATIO} times of the bare forward pass", ratio <= FORWARD_RATIO)
    return {
        "pairs": len(pairs),
        "fp32_difference": difference,
        "bf16_correlation": alike,
        "pairs_per_second": len(pairs) / ours,
        "bare_forward_seconds": {str(size): value for size, value in bare.items()},
        "forward_ratio": ratio,
    }


def _bare(
    encoder: CrossEncoder,
    pairs: Sequence[tuple[str, str]],
    size: int,
    device: torch.device,
    seconds: Callable[..., float],
) -> float:
    """The model alone, on batches of equal number that are tokenized and on the device already."""
    order = np.argsort([len(question) + len(passage) for question, passage in pairs])
    batches = []
    for start in range(0, len(pairs), size):
        features = encoder.preprocess([pairs[place] for place in order[start : start + size]])
        batches.append(
            {
                name: value.to(device) if isinstance(value, Tensor) else value
                for name, value in features.items()
            }
        )

    def forward() -> None:
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16):
            for batch in batches:
                encoder(dict(batch))

    return seconds(forward, device)
