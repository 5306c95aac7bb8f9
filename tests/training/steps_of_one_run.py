"""What `test_processes.py` compares: the same steps, done by however many processes there are.

    RANK=0 WORLD_SIZE=2 ... python tests/training/steps_of_one_run.py FOLDER [FLAGS of cusines]

Needs `FOLDER/law` and `FOLDER/bert`; writes `FOLDER/rank-N.json` and `FOLDER/rank-N.safetensors`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from safetensors.torch import save_file

from components.models.encoding import Tower
from training.cusines import RunTexts, loss_and_gradient, main, starting_model
from training.data import TrainingData
from training.negatives.sampling import CurriculumNegatives
from training.objective import make_batch, share, sum_gradients
from training.settings import CusinesSettings

# Name to (first pair, last pair, negatives a question, settings).
STEPS: dict[str, tuple[int, int, int, dict[str, Any]]] = {
    "whole epoch": (0, 22, 3, {}),
    "cached": (0, 22, 3, {"gradient_caching": True, "token_budget": 60}),
    "short of memory": (0, 22, 3, {"gradient_caching": True, "token_budget": 60}),
    "question_sum": (0, 22, 3, {"reduction": "question_sum"}),
    "uneven": (0, 7, 2, {}),
    "one question": (0, 1, 4, {}),
    "one question, cached": (0, 1, 4, {"gradient_caching": True, "token_budget": 20}),
    "head": (0, 22, 3, {"head": "paper", "passage_tokens": 16}),
    "without in-batch": (0, 9, 3, {"in_batch": False}),
}


def run_out_once(tower: Tower) -> None:
    """No memory for the first pass that keeps activations."""
    forward = tower.forward

    def short(*arguments: Any) -> torch.Tensor:
        if torch.is_grad_enabled():
            tower.forward = forward
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(*arguments)

    tower.forward = short


def steps(accelerator: Accelerator, folder: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Losses and sizes by step, and the summed gradients as "step/parameter"."""
    files = {name: str(folder / "law" / f"{name}.jsonl") for name in ("articles", "questions")}
    data = TrainingData.read(files["articles"], files["questions"])
    facts: dict[str, Any] = {}
    gradients: dict[str, torch.Tensor] = {}
    for name, (first, stop, n, fields) in STEPS.items():
        settings = CusinesSettings(
            corpus=files["articles"],
            questions=files["questions"],
            output="unused",
            model=str(folder / "bert"),
            dtype="float32",
            temperature=0.05,
            **fields,
        )
        torch.manual_seed(0)
        model = starting_model(settings, accelerator.device).eval()
        negatives = CurriculumNegatives(
            data.corpus, data.train, views=("tree", "sequence"), negatives_per_question=n
        )
        batch = make_batch(
            data.pairs[first:stop], negatives.draw(0, 0.0), negatives.gold,
            in_batch=settings.in_batch,
        )  # fmt: skip
        texts = RunTexts(model, data, settings.token_budget)
        if name == "short of memory" and accelerator.is_last_process:
            run_out_once(model.query)
        loss = loss_and_gradient(batch, texts, settings, accelerator)
        sum_gradients(accelerator, model.parameters())
        facts[name] = {
            "loss": loss.loss,
            "token_budget": texts.budget.tokens,
            "own_questions": len(share(accelerator, len(batch.questions))),
            "with_gradient": sorted(n for n, p in model.named_parameters() if p.grad is not None),
        }
        gradients |= {
            f"{name}/{n}": p.grad for n, p in model.named_parameters() if p.grad is not None
        }
    vectors = texts.encode(accelerator, train=True)
    gradients |= {f"vectors/{side}": getattr(vectors, side) for side in ("articles", "train")}
    return facts, gradients


if __name__ == "__main__":
    place = Path(sys.argv[1])
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    found, tensors = steps(accelerator, place)
    rank = accelerator.process_index
    found["processes"] = accelerator.num_processes
    found["exit code"] = main(sys.argv[2:])
    save_file({name: each.contiguous() for name, each in tensors.items()},
              place / f"rank-{rank}.safetensors")  # fmt: skip
    (place / f"rank-{rank}.json").write_text(json.dumps(found))
