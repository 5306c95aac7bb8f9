"""python -m training.pretrain: let an encoder read a law before it is trained to search it.

    python -m training.pretrain --corpus aldermere --output models/read
    python -m training.pretrain --corpus aldermere --model scratch --output models/fresh

The same command goes on where it was interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from training.command_line import SettingsError, run, say, settings_from
from training.pretraining import PretrainSettings

if TYPE_CHECKING:
    from components.statutes.corpus import StatuteCorpus
    from components.statutes.lexical import Segmentation
    from training.pretraining import Blocks, Start

_DESCRIPTION = """\
Lets an encoder read a law by guessing hidden words (masked-language modelling), either a model at
hand or, with --model scratch, a fresh one with a tokenizer trained on that law. Writes a model
folder that training.cusines starts from."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("pretrain", _DESCRIPTION, PretrainSettings, arguments)
    return run(lambda: pretrain(settings))


def pretrain(settings: PretrainSettings) -> None:
    """Train from the settings' corpus to the settings' model folder.

    Raises:
        SettingsError: A setting does not fit the corpus, the model, or the run to go on with.
        CorpusError: The corpus cannot be read.
        ModelError: The model cannot be opened or trained this way, or the output folder is not
            empty.
        TrainingError: A loss or weight is not finite.
    """
    from components.models.devices import resolve_device, resolve_dtype
    from components.models.folder import check_target, find_model, model_digest
    from components.models.tower import no_progress_bars
    from components.statutes.article import indexed_text
    from components.statutes.corpus import StatuteCorpus
    from components.statutes.lexical import words_joined
    from training.checkpoint import (
        claim,
        compute_as_begun,
        made,
        move_in,
        only_process,
        work_folder_of,
    )
    from training.pretraining import open_start, segmentation_of, start_folder, train_masked

    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise SettingsError("pretraining runs in one process. Start it with python, not torchrun.")
    output = Path(settings.output)
    work = work_folder_of(output)
    # A bar for each file that is read or written would hide our own lines.
    with no_progress_bars(), only_process(output):
        if made(output, settings.to_dict()):
            move_in(output)
            return
        check_target(output)
        corpus = StatuteCorpus.read(settings.corpus)
        compute_as_begun(work)
        device = resolve_device(settings.device)
        dtype = resolve_dtype(settings.dtype, device)
        fixed = {
            **settings.to_dict(),
            "device": device.type,
            "dtype": str(dtype).removeprefix("torch."),
            "corpus_sha256": corpus.sha256,
        }
        if not settings.from_scratch:
            fixed["model_sha256"] = model_digest(find_model(settings.model))
        texts = [indexed_text(each.headings, each.text, settings.text_rule) for each in corpus]
        segmentation = segmentation_of(settings)
        claim(work, fixed)
        if segmentation is not None:
            texts = [words_joined(text) for text in texts]
        start = open_start(start_folder(settings, texts, work), settings.seed)
        blocks = _blocks(settings, texts, start)
        records = train_masked(settings, start, blocks, work)
        _finish(settings, corpus, start, segmentation, blocks, records, work)


def _blocks(settings: PretrainSettings, texts: Sequence[str], start: Start) -> Blocks:
    from training.pretraining import make_blocks

    tokenizer = start.tokenizer
    blocks = make_blocks(
        texts,
        start.tower.tokenizer,
        block_tokens=settings.block(start.tower.max_tokens),
        separator=tokenizer.sep_token_id,
        unknown=tokenizer.unk_token_id,
        held_out=settings.held_out,
        seed=settings.seed,
    )
    say(
        f"{len(texts):,} articles, {blocks.tokens:,} tokens: {len(blocks.train):,} blocks of "
        f"{blocks.train.shape[1]} tokens to read, {len(blocks.held_out):,} held out"
    )
    if blocks.unknown:
        say(f"{blocks.unknown / blocks.tokens:.2%} of the tokens are unknown to the tokenizer")
    return blocks


def _finish(
    settings: PretrainSettings,
    corpus: StatuteCorpus,
    start: Start,
    segmentation: Segmentation | None,
    blocks: Blocks,
    records: list[dict[str, Any]],
    work: Path,
) -> None:
    """Make the model folder, and let the work folder go."""
    from components.models.biencoder import BiEncoder
    from components.models.devices import resolve_device
    from training.checkpoint import move_in
    from training.pretraining import plot_losses
    from training.records import METRICS_FILE, environment, write_metrics
    from training.start import kept_parts

    output = Path(settings.output)
    write_metrics(work / METRICS_FILE, records)
    plot_losses(records, work)
    before, after = records[0], records[-1]
    say(
        f"Perplexity on held-out blocks: {before['perplexity']:.2f} before, "
        f"{after['perplexity']:.2f} after"
    )
    model = BiEncoder(start.trained(), text_rule=settings.text_rule, segmentation=segmentation)
    model.save(
        output,
        base_model=settings.model,
        config=settings.to_dict(),
        data={"corpus_sha256": corpus.sha256},
        kept={} if settings.from_scratch else kept_parts(settings.model),
        metrics={
            "environment": environment(resolve_device(settings.device).type),
            "steps": after["step"],
            "blocks": len(blocks.train),
            "held_out_blocks": len(blocks.held_out),
            "held_out_loss": {"before": before["held_out_loss"], "after": after["held_out_loss"]},
        },
    )
    move_in(output)


if __name__ == "__main__":
    sys.exit(main())
