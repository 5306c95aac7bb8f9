"""Training killed at random moments: `python tests/benchmarks/kill.py [--kills N] [--seed S]`.

`python -m training.cusines` on a tiny random model over the demo law, 12 steps, a checkpoint every
2. Each run is killed with SIGKILL at a random moment between the first file that it writes and its
end, and started again: the model must be, bit for bit, that of a run left alone, and so must the
metrics, seconds aside.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bench
from runs import of_aldermere, outcome, work_of
from tiny_bert import save_bert, trained_wordpiece

from components.statutes.corpus import StatuteCorpus


def start(model: Path, output: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "training.cusines", *of_aldermere(model, output)],
        cwd=bench.ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_work(process: subprocess.Popen[str], output: Path) -> None:
    while process.poll() is None and not work_of(output).exists():
        time.sleep(0.01)


def whereabouts(output: Path) -> str:
    """What a killed run left."""
    if output.exists():
        return "model made" if work_of(output).exists() else "done"
    kept = [int(path.name.partition("-")[2]) for path in work_of(output).glob("step-*")]
    return f"step {max(kept)}" if kept else "nothing"


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        texts = [article.text for article in StatuteCorpus.read("aldermere")]
        model = save_bert(place / "bert", trained_wordpiece(texts, 600), longest=48, spread=0.2)
        process = start(model, place / "alone")
        wait_for_work(process, place / "alone")
        began = time.perf_counter()
        _, said = process.communicate()
        took = time.perf_counter() - began
        if process.returncode:
            sys.exit(f"the run left alone failed:\n{said}")
        expected = outcome(place / "alone")
        print(f"left alone: {took:.1f} s from its first file to its end\n", flush=True)
        print(f"{'kill':>5}{'after':>9}{'it had':>14}{'exit':>6}{'weights':>9}{'metrics':>9}")
        held = 0
        for number in range(options.kills):
            output = place / f"killed-{number}"
            # One in each of as many equal parts of the time, so that all of it is met.
            moment = took * (number + chance.random()) / options.kills
            process = start(model, output)
            wait_for_work(process, output)
            try:
                process.communicate(timeout=moment)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
            left = whereabouts(output)
            again = start(model, output)
            _, said = again.communicate()
            # Nothing was interrupted where the run was done before.
            code = 0 if left == "done" else again.returncode
            weights = metrics = False
            if code == 0:
                weights, metrics = (
                    one == other for one, other in zip(outcome(output), expected, strict=True)
                )
            whole = weights and metrics and not work_of(output).exists()
            held += whole
            print(
                f"{number + 1:>5}{moment:>8.2f}s{left:>14}{code:>6}"
                f"{'same' if weights else 'OTHER':>9}{'same' if metrics else 'OTHER':>9}",
                flush=True,
            )
            if not whole:
                print(said[-1_000:])
    print(
        f"\n{held} of {options.kills} end as the run left alone: "
        f"{bench.verdict(held == options.kills)}"
    )
    sys.exit(held < options.kills)


if __name__ == "__main__":
    main()
