"""A small law, a tiny random model, and training runs of seconds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from graph_runs import GRAPH_SHORT, Settings
from tiny_bert import save_bert, trained_wordpiece

from components.models.biencoder import BiEncoder
from components.models.devices import BF16, LINEAR
from components.statutes.corpus import StatuteCorpus
from training.checkpoint import RunState
from training.command_line import DONE
from training.compare import CompareSettings
from training.cusines import BiEncoderLearner, RunTexts, main, starting_model
from training.data import TrainingData
from training.loop import fit
from training.settings import CusinesSettings, GraphSettings

SUBJECTS = ("rent", "repairs", "deposit", "notice", "wages", "leave", "custody", "support")
OFFICES = ("landlord", "tenant", "employer", "worker", "parent")


@pytest.fixture(scope="package", autouse=True)
def one_thread() -> Iterator[None]:
    """Models this small only lose by a second thread, most of all on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def nothing_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is taken up again settles what computes: for its test, not for the next."""
    for way in (LINEAR, BF16):
        monkeypatch.setattr(way, "_settled", None)


def bert(folder: Path, *, seed: int) -> Path:
    """2 layers, 32 wide, with a tokenizer of the demo law's words and random weights."""
    texts = [article.text for article in StatuteCorpus.read("aldermere")]
    # Wide enough that texts differ from the start.
    return save_bert(folder, trained_wordpiece(texts, 600), longest=48, spread=0.2, seed=seed)


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain Hugging Face folder, 32 dimensions, 48 tokens, dropout 0.1."""
    return bert(tmp_path_factory.mktemp("tiny") / "bert", seed=0)


@pytest.fixture(scope="session")
def other_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with other weights."""
    return bert(tmp_path_factory.mktemp("tiny") / "other", seed=1)


def an_article(number: int, **fields: Any) -> dict[str, Any]:
    subject, office = SUBJECTS[number % len(SUBJECTS)], OFFICES[number % len(OFFICES)]
    return {
        "id": f"a{number}",
        "law": f"Code {number * 2 // 30}",
        "number": str(number),
        "headings": [f"Title {number // 10}", f"Chapter {number // 4}. Of {subject}"],
        "text": f"Rule {number}: on {subject} the {office} must give notice within {number} days.",
        "language": "en",
        **fields,
    }


def a_question(number: int, relevant: Sequence[int], split: str = "train") -> dict[str, Any]:
    words = f"What must the {OFFICES[number % 5]} do about {SUBJECTS[number % 8]} in case {number}?"
    asked = {"id": f"q{number}", "text": words, "relevant": [f"a{n}" for n in relevant]}
    return {**asked, "split": split, **({} if relevant else {"answerable": False})}


# 12 questions to learn from (22 pairs), 4 to choose by, and one of each that no article answers.
LAW = [an_article(number) for number in range(30)]
QUESTIONS = [
    *(a_question(n, [n, n + 7, n + 12][: 1 + n % 2 + n // 8]) for n in range(12)),
    *(a_question(n, [n + 10, n + 1], "dev") for n in range(12, 16)),
    a_question(16, []),
    a_question(17, [], "dev"),
]

Lines = Sequence[dict[str, Any]]


@pytest.fixture(scope="session")
def article() -> Callable[..., dict[str, Any]]:
    """`article(number, **fields)`: one article of the small law, in the native format."""
    return an_article


@pytest.fixture(scope="session")
def question() -> Callable[..., dict[str, Any]]:
    """`question(number, relevant_numbers, split)`: one question, in the native format."""
    return a_question


def write(folder: Path, articles: Lines = LAW, questions: Lines = QUESTIONS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in (("articles", articles), ("questions", questions)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def write_law() -> Callable[..., Path]:
    """`write_law(folder, articles, questions)`: both files of a law, by default the small one's."""
    return write


@pytest.fixture(scope="session")
def small_law(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30 articles of two laws, 12 questions of train (22 pairs) and 4 of dev; not written to."""
    return write(tmp_path_factory.mktemp("law"))


@pytest.fixture(scope="session")
def data(small_law: Path) -> TrainingData:
    """The small law, read."""
    return TrainingData.read(str(small_law / "articles.jsonl"), str(small_law / "questions.jsonl"))


# What runs of a test share: 2 epochs of 3 steps.
SHORT = {
    "negatives_per_question": 3,
    "epochs": 2,
    "batch_size": 8,
    "learning_rate": 1e-3,
    "temperature": 0.05,
    "dtype": "float32",
    "device": "cpu",
}


@pytest.fixture(scope="session")
def any_flags(small_law: Path, tiny_bert: Path) -> Callable[..., list[str]]:
    """`any_flags(output=..., field=value, ...)`: a command line of `training.cusines`."""

    def of(**fields: Any) -> list[str]:
        values = {
            "corpus": small_law / "articles.jsonl",
            "questions": small_law / "questions.jsonl",
            "model": tiny_bert,
            **SHORT,
            **fields,
        }
        return [part for n, v in values.items() if v is not None for part in (f"--{n}", f"{v}")]

    return of


@pytest.fixture
def flags(any_flags: Callable[..., list[str]], tmp_path: Path) -> Callable[..., list[str]]:
    """As `any_flags`; the output is `tmp_path/model` unless given."""
    return lambda **fields: any_flags(**{"output": tmp_path / "model", **fields})


@pytest.fixture(scope="session")
def cusines_model(
    any_flags: Callable[..., list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """What one run of `training.cusines` makes, with its plots; not written to."""
    output = tmp_path_factory.mktemp("cusines") / "model"
    fields = {"pooling": "cls", "max_tokens": 20, "seed": 5, "views": "[bm25,tree]"}
    assert main(any_flags(output=output, **fields)) == DONE
    return output


@pytest.fixture(scope="session")
def settings(small_law: Path, tiny_bert: Path) -> Callable[..., CusinesSettings]:
    """`settings(field=value, ...)`: as `flags`, without the command line and the output."""

    def of(**fields: Any) -> CusinesSettings:
        values: dict[str, Any] = {
            "corpus": str(small_law / "articles.jsonl"),
            "questions": str(small_law / "questions.jsonl"),
            "output": "unused",
            "model": str(tiny_bert),
            **SHORT,
            **fields,
        }
        return CusinesSettings(**values)

    return of


@pytest.fixture(scope="session")
def train_in(settings: Callable[..., CusinesSettings]) -> Callable[..., tuple[BiEncoder, RunState]]:
    """`train_in(work, field=value, ...)`: model and state at the end; checkpoints in `work`."""

    def run(work: Path, **fields: Any) -> tuple[BiEncoder, RunState]:
        chosen = settings(**fields)
        data = TrainingData.read(chosen.corpus, chosen.questions, dev_share=0.0)
        work.mkdir(exist_ok=True)
        learner, state = fit(chosen, data, Accelerator(cpu=True), work, BiEncoderLearner)
        return learner.model, state

    return run


@pytest.fixture
def train(train_in: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """`train(name, field=value, ...)`: as `train_in`, in `tmp_path/name`."""
    return lambda name="work", **fields: train_in(tmp_path / name, **fields)


@pytest.fixture
def start(settings: Callable[..., CusinesSettings]) -> Callable[..., BiEncoder]:
    """`start(field=value, ...)`: the model that such a run starts from, weight for weight."""

    def model(**fields: Any) -> BiEncoder:
        chosen = settings(**fields)
        torch.manual_seed(chosen.seed)
        return starting_model(chosen, torch.device("cpu"))

    return model


@pytest.fixture
def no_dev(tmp_path: Path) -> dict[str, str]:
    """Settings of a law whose questions are all to be learnt, so that the last weights count."""
    questions = [a_question(n, [n, n + 9]) for n in range(10)]
    folder = write(tmp_path / "no-dev", LAW, questions)
    return {"corpus": str(folder / "articles.jsonl"), "questions": str(folder / "questions.jsonl")}


@pytest.fixture
def dev_says(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[float]], None]:
    """`dev_says(values)`: what the metric that selects is, measurement after measurement."""

    def script(values: list[float]) -> None:
        ahead = iter(values)

        def measured(*arguments: Any) -> dict[str, float]:
            return {arguments[4]: next(ahead)}

        monkeypatch.setattr("training.loop.validate", measured)

    return script


@pytest.fixture
def boundaries(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, torch.Tensor]]:
    """The tower's weights at each boundary between epochs that encodes."""
    seen: list[dict[str, torch.Tensor]] = []
    encode = RunTexts.encode

    def remembering(self: RunTexts, *arguments: Any, train: bool) -> Any:
        tower = self.articles.encoder.tower
        seen.append({n: t.detach().clone() for n, t in tower.state_dict().items()})
        return encode(self, *arguments, train=train)

    monkeypatch.setattr(RunTexts, "encode", remembering)
    return seen


@pytest.fixture(autouse=True)
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of one test draw nothing, which takes longer than training; those of modules do."""
    for plot in ("loop.plot_run", "ranker.plot_records"):
        monkeypatch.setattr(f"training.{plot}", lambda *_: None)


@pytest.fixture
def graph_settings(small_law: Path, tiny_bert: Path, tmp_path: Path) -> Settings:
    """`graph_settings(field=value, ...)`: 6 steps on the small law's vectors under a tiny model."""

    def of(**fields: Any) -> GraphSettings:
        values: dict[str, Any] = {
            "corpus": str(small_law / "articles.jsonl"),
            "questions": str(small_law / "questions.jsonl"),
            "output": str(tmp_path / "model"),
            "model": str(tiny_bert),
            **GRAPH_SHORT,
            **fields,
        }
        return GraphSettings(**values)

    return of


ARMS: dict[str, dict[str, Any]] = {
    "untrained": {},
    "random": {"views": [], "buckets": 1},
    "bm25_fixed": {"views": ["bm25"], "schedule": "fixed", "buckets": 1},
    "tree": {"views": ["tree"]},
    "buckets_3": {"buckets": 3},
    "cusines": {},
}


@pytest.fixture
def comparison(small_law: Path, tiny_bert: Path, tmp_path: Path) -> Callable[..., CompareSettings]:
    """`comparison(field=value, ...)`: two arms and one seed on the small law's dev split.

    `shared` adds settings that all runs have in common.
    """

    def of(shared: dict[str, Any] | None = None, **fields: Any) -> CompareSettings:
        common = {"negatives_per_question": 3, "epochs": 2, "batch_size": 8, "dtype": "float32"}
        values: dict[str, Any] = {
            "data": (str(small_law),),
            "output": str(tmp_path / "out"),
            "model": str(tiny_bert),
            "arms": ARMS,
            "only": ("bm25_fixed", "cusines"),
            "baselines": ("bm25_fixed",),
            "seeds": (0,),
            "folds": 1,
            "cusines": {**common, **(shared or {})},
            "device": "cpu",
            **fields,
        }
        return CompareSettings(**values)

    return of
