"""python -m training.cusines: train a bi-encoder with CuSINeS.

    python -m training.cusines --config training/configs/demo.yaml --output models/demo

The same command goes on where it was interrupted.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from training.command_line import SettingsError, run, say, settings_from
from training.settings import CusinesSettings

if TYPE_CHECKING:
    from accelerate import Accelerator

    from components.models.biencoder import BiEncoder
    from training.data import TrainingData
    from training.negatives import CurriculumNegatives
    from training.resuming import RunState

_DESCRIPTION = """\
Trains a bi-encoder on questions with known articles, with negatives whose difficulty comes from the
tree of the law, its sequence and the model itself, from easy to difficult. Writes a model folder
that every pipeline takes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("cusines", _DESCRIPTION, CusinesSettings, arguments)
    return run(lambda: train(settings))


def train(settings: CusinesSettings) -> None:
    """Train from the settings' files to the settings' model folder.

    Raises:
        SettingsError: A setting does not fit the data.
        CorpusError: A file cannot be read.
        ModelError: A model cannot be opened, or the output folder is not empty.
        TrainingError: A loss or weight is not finite.
    """
    from accelerate import Accelerator

    from components.models.artifacts import check_target
    from components.models.devices import resolve_device
    from training.data import TrainingData

    output = Path(settings.output)
    check_target(output)
    data = TrainingData.read(
        settings.corpus, settings.questions, dev_share=settings.dev_share, seed=settings.seed
    )
    if settings.final and not data.dev:
        raise SettingsError("final: there are no dev questions to choose the epoch by. Leave it.")
    accelerator = Accelerator(
        cpu=resolve_device(settings.device).type == "cpu", log_with=list(settings.trackers) or None
    )
    work = output.with_name(output.name + ".work")
    work.mkdir(parents=True, exist_ok=True)
    accelerator.init_trackers("cusines", init_kwargs={})
    model, state = fit(settings, data, accelerator, work)
    records = state.records
    if settings.final:
        assert state.best is not None
        epoch = state.best["epoch"]
        say(f"Training anew on train and dev, up to epoch {epoch}, which was best on dev")
        (work / "final").mkdir(exist_ok=True)
        model, final = fit(settings, data.joined(), accelerator, work / "final", stop_after=epoch)
        records = [*records, *({**record, "final": True} for record in final.records)]
    if accelerator.is_main_process:
        _finish(settings, data, model, state, records, work)
    accelerator.wait_for_everyone()
    accelerator.end_training()


def fit(
    settings: CusinesSettings,
    data: TrainingData,
    accelerator: Accelerator,
    work: Path,
    *,
    stop_after: int | None = None,
) -> tuple[BiEncoder, RunState]:
    """Train one model; what is wrong with settings and data is said before any model is opened.

    Returns:
        The model with its best weights, and the state at the end.
    """
    import torch

    from training.loop import CusinesLoop
    from training.starting import start_digests, starting_model

    negatives = curriculum_negatives(settings, data, str(accelerator.device))
    torch.manual_seed(settings.seed)  # for a fresh head
    model = starting_model(settings, accelerator.device)
    loop = CusinesLoop(
        settings,
        data,
        negatives,
        model,
        accelerator,
        work,
        start=start_digests(settings),
        stop_after=stop_after,
    )
    return model, loop.run()


def curriculum_negatives(
    settings: CusinesSettings, data: TrainingData, device: str
) -> CurriculumNegatives:
    """The negatives that the settings describe, for the training questions.

    Raises:
        SettingsError: The data cannot give them.
    """
    from training.negatives import CurriculumNegatives

    try:
        return CurriculumNegatives(
            data.corpus,
            data.train,
            views=settings.views,
            negatives_per_question=settings.negatives_per_question,
            buckets=settings.buckets,
            schedule=settings.schedule,
            share_of=settings.share_of,
            ties=settings.ties,
            k=settings.k,
            cross_law=settings.cross_law,
            bm25_k1=settings.bm25_k1,
            bm25_b=settings.bm25_b,
            run=settings.run_file,
            permute_tree=settings.permute_tree,
            text_rule=settings.text_rule,
            seed=settings.seed,
            device=device,
        )
    except ValueError as error:
        raise SettingsError(str(error)) from error


def _finish(
    settings: CusinesSettings,
    data: TrainingData,
    model: BiEncoder,
    state: RunState,
    records: list[dict[str, Any]],
    work: Path,
) -> None:
    """Make the model folder, and let the work folder go."""
    from training.plots import plot_run
    from training.records import METRICS_FILE, environment, write_metrics
    from training.starting import kept_parts

    output = Path(settings.output)
    metrics: dict[str, Any] = {"environment": environment()}
    if state.best is not None:
        best = next(record for record in records if record["epoch"] == state.best["epoch"])
        metrics |= {"epoch": state.best["epoch"], "dev": best["dev"]}
    model.save(
        output,
        base_model=settings.start,
        config=settings.to_dict(),
        data=data.digests(),
        metrics=metrics,
        kept=kept_parts(settings.start),
    )
    write_metrics(output / METRICS_FILE, records)
    plot_run(records, output, settings.select_by)
    shutil.rmtree(work)
    say(f"The model is in {output}")


if __name__ == "__main__":
    sys.exit(main())
