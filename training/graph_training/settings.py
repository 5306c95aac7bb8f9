"""The settings of `python -m training.graph`."""

from __future__ import annotations

from dataclasses import dataclass

from components.models.folder import BUNDLED_MODEL
from components.models.graph import GraphKind
from components.models.head import Init
from training.command_line import Place, Target
from training.run_settings import RunSettings
from training.setting_checks import at_least


@dataclass(frozen=True, kw_only=True)
class GraphSettings(RunSettings):
    """A graph network over the tree of the law (G-DSR: Louis, van Dijck, Spanakis, EACL 2023).

    Args:
        model: The trained bi-encoder below: name or folder. Its vectors of articles, headings and
            questions stay as they are.
        vectors: Folder that keeps these vectors for later runs, found by digest; default: only as
            long as the run is not finished.
        network: How nodes take up their neighbours; mlp is the control that has no graph.
            G-DSR: gatv2.
        layers: So many steps in the tree a vector travels. G-DSR: 3.
        heads: Of the attention.
        init: Whether a fresh network starts as an identity, or at random as published.
        neighbours: Whether articles that follow each other in a law are joined too. G-DSR: false.
        citations: Whether an article is joined to those that its text cites. G-DSR: false.
        views: Where a negative's difficulty comes from. G-DSR: bm25, with schedule fixed and one
            bucket. CuSINeS: tree, sequence, semantic.
        epochs: Times that each (question, positive) pair is seen. G-DSR: 10, CuSINeS: 25.
        min_steps: Steps that are taken at least, whatever the epochs.
        batch_size: Pairs a step. G-DSR: 512.
        learning_rate: At every step the same. G-DSR: 2e-4.
        weight_decay: AdamW's. G-DSR: 0.1.

    Raises:
        SettingsError: A value is out of its range, or two do not fit together.
    """

    model: Place | None = None
    vectors: Target | None = None
    network: GraphKind = "gatv2"
    layers: int = 3
    heads: int = 4
    init: Init = "identity"
    neighbours: bool = False
    citations: bool = False
    epochs: int = 10
    min_steps: int = 500
    batch_size: int = 512
    learning_rate: float = 2e-4
    weight_decay: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "layers", "heads")
        at_least(self, 0, "min_steps")

    def total_steps(self, epoch_steps: int) -> int:
        """Steps of the whole run."""
        return self.max_steps or max(self.min_steps, super().total_steps(epoch_steps))

    @property
    def start(self) -> str:
        """Name of the bi-encoder below."""
        return str(self.model or BUNDLED_MODEL)
