"""Learned fusion: the lists of several searches and the tree of the law, in one ranking.

Each list scores some articles of the law. LambdaMART (Burges, 2010; LightGBM's `lambdarank`) reads
for every candidate what each list says of it, and what it says of the articles around: in the same
division, next to it, in the same law. It learns that from questions with known articles.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, FiniteFloat

from components.models.folder import FUSION_PART, ModelError, find_model, manifest_of, parsed_record
from components.statutes.fusion import Group, LawArrays, RankedList, Rows, Scores

if TYPE_CHECKING:
    from lightgbm import Booster

# What is known of a candidate

# Of the candidate in a list.
SCORE_FEATURES = ("score", "log_rank", "share", "gap")
# Of what stands around it in the law.
STRUCTURE_FEATURES = (
    *("best_in_division", "best_in_parent", "best_in_law", "best_neighbour", "best_second"),
    *("among_first_in_division", "among_first_in_law", "tree_distance", "sequence_distance"),
)
PLACE_FEATURES = ("depth", "siblings")
TEXT_FEATURES = ("length", "question_length", "coverage")

_FIRST = 50


def feature_names(lists: Sequence[str]) -> list[str]:
    """Names of the columns that `features` gives for these lists: "bm25.score", ..., "depth"."""
    own = [f"{name}.{each}" for name in lists for each in (*SCORE_FEATURES, *STRUCTURE_FEATURES)]
    return [*own, *PLACE_FEATURES, *TEXT_FEATURES]


def features(
    law: LawArrays,
    lists: Mapping[str, RankedList],
    candidates: Rows,
    *,
    question: str,
    coverage: float,
) -> Scores:
    """Everything that the ranker reads of a question's candidates.

    For each list, s(a) being the score of an article in it, NaN where the list does not hold it:

    | column | |
    |---|---|
    | score, log_rank | s(a), ln(rank) |
    | share, gap | s(a) / best and best - s(a), with the list's best score |
    | best_in_division, best_in_parent, best_in_law | highest s(b) over the articles b there |
    | best_neighbour, best_second | highest s(b) at distance 1, and at distance 2, in the law |
    | among_first_in_division, among_first_in_law | how many of the first 50 stand there |
    | tree_distance, sequence_distance | from the first article of the list |

    Then of the article: depth, siblings, length; and of the question, alike for all candidates:
    its length and the coverage.

    Args:
        law: Where the articles stand.
        lists: By name, in the order of the columns.
        candidates: Rows, int64 `[n]`.
        question: Its words.
        coverage: Share of the question's terms in the first article that words find.

    Returns:
        float32 `[n, len(feature_names(lists))]`.
    """
    columns: list[NDArray[Any]] = []
    for each in lists.values():
        columns += _list_columns(law, each, candidates)
    columns += [law.depth[candidates], law.siblings[candidates], law.length[candidates]]
    columns += [np.full(len(candidates), each) for each in (np.log1p(len(question)), coverage)]
    return np.column_stack(columns).astype(np.float32)


def _list_columns(law: LawArrays, found: RankedList, candidates: Rows) -> list[NDArray[Any]]:
    rows, scores, ranks = found
    if not len(rows):
        missing = np.full(len(candidates), np.nan, dtype=np.float32)
        return [missing] * (len(SCORE_FEATURES) + len(STRUCTURE_FEATURES))
    # One place more than there are articles: row -1, of no article, reads NaN there.
    score_of = np.full(len(law) + 1, np.nan, dtype=np.float32)
    score_of[rows] = scores
    rank_of = np.full(len(law), np.nan, dtype=np.float32)
    rank_of[rows] = np.log(ranks)
    own = score_of[candidates]
    best = scores[0]
    # fmax passes over NaN.
    neighbours = score_of[law.neighbours[:, candidates]]
    first = int(rows[0])
    return [
        own,
        rank_of[candidates],
        own / best if best > 0 else np.full_like(own, np.nan),
        best - own,
        *(_best(group, rows, scores)[group.number[candidates]] for group in law.groups),
        np.fmax(neighbours[0], neighbours[1]),
        np.fmax(neighbours[2], neighbours[3]),
        *(
            _counts(group, rows[:_FIRST])[group.number[candidates]]
            for group in (law.groups[0], law.groups[2])
        ),
        law.tree_distance(candidates, first),
        law.sequence_distance(candidates, first),
    ]


def _best(group: Group, rows: Rows, scores: Scores) -> Scores:
    """Highest score in each group, NaN where the list has none."""
    best = np.full(group.size, np.nan, dtype=np.float32)
    # Of repeated indices NumPy keeps the last value; read from its end, the list's best comes last.
    best[group.number[rows[::-1]]] = scores[::-1]
    return best


def _counts(group: Group, rows: Rows) -> NDArray[np.intp]:
    return np.bincount(group.number[rows], minlength=group.size)


# Boosted trees: LambdaMART (Burges, 2010), which is LightGBM's `lambdarank`

FEW_QUESTIONS = 300
"""With fewer questions than this the trees are smaller, and training.fusion cross-validates."""

_PARAMETERS: Mapping[str, Any] = {
    "objective": "lambdarank",
    "metric": "ndcg",
    "eval_at": [10],
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_data_in_leaf": 100,
    "feature_fraction": 0.5,
    "lambda_l2": 5,
    "lambdarank_truncation_level": 30,
    "num_threads": 1,
    "deterministic": True,
    # Otherwise LightGBM times both histogram methods, and on a busy machine either may win.
    "force_row_wise": True,
    "verbosity": -1,
}
_LEAVES_OF_FEW = 5
_MOST_ROUNDS = 600
_PATIENCE = 100
_VALIDATION = 6  # one in so many questions decides when to stop


@dataclass(frozen=True)
class Example:
    """A question to learn from.

    Attributes:
        table: One row for each candidate, float32 `[n, n_columns]`.
        relevant: Which candidates answer it, bool `[n]`.
    """

    table: NDArray[np.float32]
    relevant: NDArray[np.bool_]


CANDIDATES = 200
"""How many of the articles that rank fusion puts first are ranked again."""

_FORMAT: Literal[1] = 1
_RECORD_FILE = "fusion.json"
_BOOSTER_FILE = "booster.txt"


@dataclass(frozen=True)
class FusionRecord:
    """The contents of `fusion.json`, format 1.

    Attributes:
        lists: Names of the lists that are fused, in the order of their features.
        features: Names of the columns.
        weights: Of the lists in the rank fusion that chooses the candidates.
        model: Digest of the bi-encoder whose vectors were searched.
        booster_sha256: Of `booster.txt`.
        format: Of the file.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid", "strict": True}

    lists: tuple[str, ...]
    features: tuple[str, ...]
    weights: Mapping[str, Annotated[FiniteFloat, Field(ge=0)]]
    model: str
    booster_sha256: str
    format: Literal[1] = _FORMAT


class LearnedFusion:
    """A ranker over the candidates of several lists: boosted trees over `features`.

    Args:
        booster: The LightGBM model, over the columns of `feature_names(weights)`.
        weights: Of the lists, in the order of the columns, in the rank fusion that chooses the
            candidates.
    """

    def __init__(self, booster: Booster, weights: Mapping[str, float]) -> None:
        self._booster = booster
        self.weights = dict(weights)
        self.lists = tuple(weights)

    @classmethod
    def learn(
        cls, examples: Sequence[Example], weights: Mapping[str, float], *, seed: int = 0
    ) -> LearnedFusion:
        """Learn from questions; the same ones and the same seed give the same trees.

        A random sixth of the questions is held out, and learning stops when their nDCG@10 no longer
        rises. The trees are small if there are fewer than `FEW_QUESTIONS` questions.

        Questions without a candidate that answers them are left out.

        Args:
            examples: At least two with a candidate that answers, each with the table that
                `features` gives.
            weights: Of the lists that their columns are of, as they chose the candidates.
            seed: Of what is drawn.

        Raises:
            ModelError: Fewer than two questions have a candidate that answers; or LightGBM cannot
                be loaded.
        """
        lightgbm = _load_lightgbm()
        useful = [each for each in examples if each.relevant.any()]
        if len(useful) < 2:
            raise ModelError(
                f"Questions with a candidate that answers them: {len(useful)}. Learning needs at "
                "least 2. Give more questions."
            )
        order = np.random.default_rng(seed).permutation(len(useful)).tolist()
        n_stopping = max(1, len(useful) // _VALIDATION)

        def dataset(places: Sequence[int], reference: Any = None) -> Any:
            chosen = [useful[place] for place in sorted(places)]
            return lightgbm.Dataset(
                np.concatenate([each.table for each in chosen]),
                label=np.concatenate([each.relevant for each in chosen]).astype(np.float32),
                group=[len(each.relevant) for each in chosen],
                feature_name=feature_names(tuple(weights)),
                reference=reference,
                params={"verbosity": -1},
            )

        parameters = {**_PARAMETERS, "seed": seed}
        if len(useful) < FEW_QUESTIONS:
            parameters["num_leaves"] = _LEAVES_OF_FEW
        learnt = dataset(order[n_stopping:])
        booster = lightgbm.train(
            parameters,
            learnt,
            _MOST_ROUNDS,
            valid_sets=[dataset(order[:n_stopping], learnt)],
            callbacks=[lightgbm.early_stopping(_PATIENCE, verbose=False)],
        )
        # Read back from its text: what is measured now is what will be loaded.
        text = booster.model_to_string(num_iteration=booster.best_iteration)
        return cls(lightgbm.Booster(model_str=text), weights)

    def scores(self, table: NDArray[np.float32]) -> NDArray[np.float64]:
        """The score of each candidate, float64 `[n]`: higher is better, within one question."""
        # A question's table is too small for a second thread to pay.
        return np.asarray(self._booster.predict(table, num_threads=1), dtype=np.float64)

    def ranked(
        self,
        law: LawArrays,
        lists: Mapping[str, RankedList],
        candidates: Rows,
        *,
        question: str,
        coverage: float,
    ) -> tuple[Rows, NDArray[np.float64]]:
        """Candidates in the order of their scores.

        Args:
            law: Where the articles stand.
            lists: At least those of `self.lists`, by name.
            candidates: Rows, best first by rank fusion, which decides where scores are equal; those
                behind the first `CANDIDATES` are left out.
            question: As for `features`.
            coverage: As for `features`.

        Returns:
            Rows int64 and scores float64, both `[at most CANDIDATES]`, best first.
        """
        first = candidates[:CANDIDATES]
        if not len(first):
            return first, np.empty(0)
        own = {name: lists[name] for name in self.lists}
        scores = self.scores(features(law, own, first, question=question, coverage=coverage))
        order = np.argsort(-scores, kind="stable")
        return first[order], scores[order]

    def save(self, folder: Path, model: str) -> None:
        """Write `booster.txt` and `fusion.json` into a folder that exists.

        Args:
            folder: Where to.
            model: Digest of the bi-encoder whose vectors were searched.
        """
        text = self._booster.model_to_string().encode()
        (folder / _BOOSTER_FILE).write_bytes(text)
        columns = tuple(feature_names(self.lists))
        digest = hashlib.sha256(text).hexdigest()
        record = FusionRecord(self.lists, columns, self.weights, model, digest)
        written = json.dumps({"format": _FORMAT, **asdict(record)}, indent=2) + "\n"
        (folder / _RECORD_FILE).write_text(written, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, *, lists: Sequence[str], model: str) -> LearnedFusion:
        """Read what `save` wrote.

        Args:
            folder: The part `fusion/` of a model folder.
            lists: Names of the lists that there are.
            model: Digest of the bi-encoder whose vectors are searched.

        Raises:
            ModelError: The files are missing, broken or changed; the fusion was learnt on other
                features, from a list that there is not, or over another model; or LightGBM cannot
                be loaded.
        """
        lightgbm = _load_lightgbm()
        place = folder / _RECORD_FILE
        try:
            record = parsed_record(FusionRecord, place.read_text(encoding="utf-8"))
            if missing := [name for name in record.lists if name not in lists]:
                raise ValueError(f"field 'lists' names {missing[0]!r}, which is not searched here")
            known = feature_names(record.lists)
            if list(record.features) != known:
                wrong = min(set(record.features) ^ set(known), default="another order")
                raise ValueError(f"field 'features' differs from ours ({wrong})")
            if missing := [name for name in record.lists if name not in record.weights]:
                raise ValueError(f"field 'weights' lacks {missing[0]!r}")
            if record.model != model:
                raise ValueError("field 'model': the fusion was learnt over another model")
            place = folder / _BOOSTER_FILE
            content = place.read_bytes()
            # What a copy damaged is refused here, before anything reads it.
            if hashlib.sha256(content).hexdigest() != record.booster_sha256:
                raise ValueError("is not what was saved (digest differs)")
            _check_trees(content.decode(), len(known))
            booster = lightgbm.Booster(model_str=content.decode())
            if booster.feature_name() != known:
                raise ValueError("its columns are not the expected ones")
        except (OSError, KeyError, ValueError, lightgbm.basic.LightGBMError) as error:
            raise ModelError(
                f"{place}: cannot be used ({error}). Learn the fusion again (training.fusion)."
            ) from error
        return cls(booster, {name: record.weights[name] for name in record.lists})


def _check_trees(text: str, n_features: int) -> None:
    """Refuse trees that LightGBM, which trusts what it reads, would follow in a circle or too far.

    Raises:
        KeyError, ValueError: the text does not describe such trees.
    """
    header, _, _ = text.partition("\n\n")
    start = len(header) + 2
    blocks = []
    for number, size in enumerate(map(int, _fields_of(header)["tree_sizes"].split())):
        blocks.append(text[start : start + size])
        if size < 1 or not blocks[-1].startswith(f"Tree={number}\n"):
            raise ValueError(f"the length of tree {number} does not match tree_sizes")
        start += size
    if not text.startswith("end of trees", start):
        raise ValueError("the trees do not end where tree_sizes says")
    for fields in map(_fields_of, blocks):
        n_leaves = int(fields["num_leaves"])
        if n_leaves < 1 or int(fields["num_cat"]):
            raise ValueError("a tree has no leaf, or splits by category")
        if n_leaves == 1:
            continue
        # A node's children come after it; -1 - n stands for the n-th leaf.
        for side in ("left_child", "right_child"):
            children = [int(child) for child in fields[side].split()]
            if len(children) != n_leaves - 1 or not all(
                node < child < n_leaves - 1 or -n_leaves <= child < 0
                for node, child in enumerate(children)
            ):
                raise ValueError(f"the nodes of a tree do not fit together ({side})")
        columns = [int(column) for column in fields["split_feature"].split()]
        counts = [len(fields[name].split()) for name in ("threshold", "leaf_value")]
        if len(columns) != n_leaves - 1 or counts != [n_leaves - 1, n_leaves]:
            raise ValueError("a tree has too few or too many numbers")
        if not all(0 <= column < n_features for column in columns):
            raise ValueError("a tree reads a column that is not there")


def _fields_of(block: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in block.splitlines() if "=" in line)


def _load_lightgbm() -> Any:
    """LightGBM, imported when it is first needed.

    Raises:
        ModelError: It cannot be loaded; names the packages to install.
    """
    try:
        import lightgbm
    except (ImportError, OSError) as error:
        raise ModelError(
            f"boosted trees need LightGBM ({error}): pip install lightgbm, and OpenMP's library "
            "(Debian: apt install libgomp1, Fedora: libgomp, macOS: brew install libomp)."
        ) from error
    return lightgbm


def learned_fusion_of(
    name_or_path: str | Path, *, lists: Sequence[str], model: str
) -> LearnedFusion | None:
    """The learned fusion of a model; None where it has none.

    Args:
        name_or_path: As for `find_model`.
        lists: Names of the lists that there are.
        model: Digest of what the searched vectors were made with, as a store records it.

    Raises:
        ModelError: The model cannot be found, or it or its fusion is broken or does not fit.
    """
    folder = find_model(name_or_path)
    manifest = manifest_of(folder)
    if manifest is None or FUSION_PART not in manifest.parts:
        return None
    return LearnedFusion.load(folder / FUSION_PART, lists=lists, model=model)
