"""From settings to a model folder: what every training run does around its loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from training.command_line import SettingsError, say
from training.run_settings import RunSettings

if TYPE_CHECKING:
    from accelerate import Accelerator

    from training.data import TrainingData
    from training.learner import Learner
    from training.negatives.sampling import CurriculumNegatives
    from training.records import Progress
    from training.resuming import RunState

S = TypeVar("S", bound=RunSettings)
L = TypeVar("L", bound="Learner")


def train(
    command: str, settings: S, start: Callable[[S, TrainingData, Accelerator], Learner]
) -> None:
    """Train from the settings' files to the settings' model folder.

    Args:
        command: Name of the module; what trackers call the run.
        settings: Of the run.
        start: Opens what training starts from.

    Raises:
        SettingsError: A setting does not fit the data, or another process trains into the output.
        CorpusError: A file cannot be read.
        ModelError: A model cannot be opened, or the output folder is not empty.
        TrainingError: A loss or weight is not finite.
    """
    from accelerate import Accelerator

    from training.processes import sees_what_main_writes, take_device
    from training.work_folder import TRACKERS, only_process, work_folder_of

    output = Path(settings.output)
    _check_trackers(settings.trackers)
    device = take_device(settings.device)
    accelerator = Accelerator(
        cpu=device.type == "cpu",
        log_with=list(settings.trackers) or None,
        project_dir=str(work_folder_of(output) / TRACKERS),
    )
    if not sees_what_main_writes(accelerator, output.parent):
        accelerator.end_training()
        raise SettingsError(
            f"output: {output} is not one folder for all processes. Name one on a file system "
            "that all machines share."
        )
    with only_process(output) if accelerator.is_main_process else nullcontext():
        _train(command, settings, accelerator, work_folder_of(output), start)
    accelerator.end_training()


def _train(
    command: str,
    settings: S,
    accelerator: Accelerator,
    work: Path,
    start: Callable[[S, TrainingData, Accelerator], Learner],
) -> None:
    from components.models.folder import check_target
    from training.data import TrainingData
    from training.processes import from_main
    from training.records import environment
    from training.work_folder import made, move_in

    output = Path(settings.output)
    if from_main(accelerator, made(output, settings.to_dict())):
        if accelerator.is_main_process:
            move_in(output)
        accelerator.wait_for_everyone()
        return
    check_target(output)
    data = TrainingData.read(
        settings.corpus,
        settings.questions,
        dev_share=settings.dev_share,
        run_file=settings.run_file,
        final=settings.final,
    )
    if settings.final and not data.dev:
        raise SettingsError("final: there are no dev questions to choose the epoch by. Leave it.")
    accelerator.init_trackers(command, init_kwargs={})
    if settings.final:
        learner, state, records = _fit_twice(settings, data, accelerator, work, start)
    else:
        learner, state = fit(settings, data, accelerator, work, start)
        records = state.records
    if accelerator.is_main_process:
        metrics = {"environment": environment(accelerator.device.type)}
        _finish(settings, data, learner, state, records, work, metrics)
    accelerator.wait_for_everyone()


def fit(
    settings: S,
    data: TrainingData,
    accelerator: Accelerator,
    work: Path,
    start: Callable[[S, TrainingData, Accelerator], L],
    *,
    negatives: CurriculumNegatives | None = None,
    progress: Progress | None = None,
    stop_after: int | None = None,
) -> tuple[L, RunState]:
    """Train one model; what is wrong with settings and data is said before any model is opened.

    Args:
        settings: Of the run.
        data: What to learn from and to choose by.
        accelerator: Device and processes.
        work: Folder of the checkpoints.
        start: Opens what training starts from.
        negatives: Default: those that the settings describe.
        progress: As for `TrainingLoop`.
        stop_after: As for `TrainingLoop`.

    Returns:
        The learner with its best weights, and the state at the end.
    """
    from training.as_begun import compute_as_begun
    from training.loop import TrainingLoop

    if negatives is None:
        negatives = curriculum_negatives(settings, data, str(accelerator.device))
    compute_as_begun(work)
    learner = start(settings, data, accelerator)
    work.mkdir(parents=True, exist_ok=True)
    loop = TrainingLoop(
        *(settings, data, negatives, learner, accelerator, work),
        progress=progress,
        stop_after=stop_after,
    )
    return learner, loop.run()


def _fit_twice(
    settings: S,
    data: TrainingData,
    accelerator: Accelerator,
    work: Path,
    start: Callable[[S, TrainingData, Accelerator], L],
) -> tuple[L, RunState, list[dict[str, Any]]]:
    """`final`: choose the epoch on dev, then train anew on train and dev up to it.

    Returns:
        The learner of the second training, the state of the first, the records of both.
    """
    from training.records import Length, Progress

    joined = data.joined()
    # Both before any work starts: the second training must not be what finds a fault of the data.
    chosen, whole = (
        curriculum_negatives(settings, each, str(accelerator.device)) for each in (data, joined)
    )
    # Which epoch will be the best is not known yet; at most the second training is as long.
    one, two = (Length.of(settings, len(each.pairs)) for each in (data, joined))
    both = Progress(work, steps=one.steps + two.steps, epochs=one.epochs + two.epochs)
    state = fit(settings, data, accelerator, work, start, negatives=chosen, progress=both)[1]
    assert state.best is not None
    epoch = state.best["epoch"]
    say(f"Training anew on train and dev, up to epoch {epoch}, which was best on dev")
    one = Length(state.step, state.epoch)
    two = Length.of(settings, len(joined.pairs), stop_after=epoch)
    both = Progress(work, steps=one.steps + two.steps, epochs=one.epochs + two.epochs, before=one)
    learner, final = fit(
        *(settings, joined, accelerator, work / "final", start),
        negatives=whole,
        progress=both,
        stop_after=epoch,
    )
    return learner, state, [*state.records, *({**each, "final": True} for each in final.records)]


def curriculum_negatives(
    settings: RunSettings, data: TrainingData, device: str
) -> CurriculumNegatives:
    """The negatives that the settings describe, for the training questions.

    Raises:
        SettingsError: The data cannot give them.
    """
    from training.negatives.sampling import CurriculumNegatives

    try:
        return CurriculumNegatives(
            data.corpus,
            data.train,
            views=settings.views,
            negatives_per_question=settings.negatives_per_question,
            buckets=settings.buckets,
            schedule=settings.schedule,
            share_of=settings.share_of,
            candidates=settings.candidates,
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
    settings: RunSettings,
    data: TrainingData,
    learner: Learner,
    state: RunState,
    records: Sequence[dict[str, Any]],
    work: Path,
    metrics: dict[str, Any],
) -> None:
    """Make the model folder, and let the work folder go."""
    from training.plots import plot_run
    from training.records import METRICS_FILE, write_metrics
    from training.work_folder import move_in

    output = Path(settings.output)
    write_metrics(work / METRICS_FILE, records)
    plot_run(records, work, settings.select_by)
    if state.best is not None:
        best = next(record for record in records if record["epoch"] == state.best["epoch"])
        metrics |= {"epoch": state.best["epoch"], "dev": best["dev"]}
    learner.save(output, data, metrics)
    move_in(output)


def _check_trackers(names: Sequence[str]) -> None:
    """Refuse a tracker that is not installed; Accelerate leaves it out without a word."""
    from accelerate.tracking import get_available_trackers

    there = [str(each.value) for each in get_available_trackers()]
    for name in names:
        if name not in there:
            raise SettingsError(
                f"trackers: {name!r} is not installed; here are {', '.join(there) or 'none'}. "
                "Install its package, or leave it out."
            )
