"""The bi-encoder: questions and articles as vectors in one space."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from components.models import difference, encoding
from components.models.devices import resolve_device, resolve_dtype, single_thread
from components.models.folder import (
    BASE,
    HEAD_PART,
    MANIFEST_FILE,
    PASSAGE_PART,
    QUERY_PART,
    QUESTIONS_PART,
    DtypeName,
    Manifest,
    ModelError,
    PartWriter,
    Similarity,
    articles_digest,
    find_model,
    manifest_articles_digest,
    manifest_digest,
    manifest_of,
    model_digest,
    write_model_folder,
)
from components.statutes.article import TextRule
from components.statutes.lexical import Segmentation

Progress = Callable[[int], object]

_KEPT_QUESTIONS = 64

# As sentence-transformers names them, so that a saved tower agrees.
_NAMES: Mapping[Similarity, Literal["dot", "euclidean"]] = {"dot": "dot", "l2": "euclidean"}


class BiEncoder(nn.Module):
    """Encodes questions with one tower, articles with another or the same.

    Similarity is cosine unless it was trained with another; vectors compared by cosine are of unit
    length.

    With a hierarchical head, an article longer than one passage is cut into passages; without one
    it is cut off at the model's own limit, which is reported. Encoding is safe in several threads
    at once, as long as the model is not being trained.

    Example:
        ```python
        model = BiEncoder.load("sentence-transformers/all-MiniLM-L6-v2")
        articles = model.encode_articles(["A landlord must keep the dwelling in good repair."])
        question = model.encode_queries(["Who has to fix a broken boiler?"])
        cosine = question @ articles.T  # [1, 1]
        ```

    Args:
        query: Tower of the questions.
        passage: Tower of the articles; None if `query` serves both (siamese).
        head: Joins the passages of an article.
        prompts: Text put before a text, `{"query": ..., "passage": ...}`; by default the base
            model's own.
        text_rule: Which parts of an article are meant to be encoded; kept in the manifest.
        segmentation: "vi" joins the syllables of Vietnamese words by "_" in whatever is encoded, as
            encoders of the PhoBERT family were trained; kept in the manifest.
        similarity: How vectors of questions and articles are compared; kept in the manifest.
        dtype: Number format of encoding; weights, head and similarities are always float32.
        name: Name or path, for messages.

    Raises:
        ModelError: The parts do not fit together, or the word segmenter is not installed.
    """

    def __init__(
        self,
        query: encoding.Tower,
        passage: encoding.Tower | None = None,
        head: encoding.HierarchicalArticleHead | None = None,
        *,
        prompts: Mapping[str, str] | None = None,
        text_rule: TextRule = "headings_text",
        segmentation: Segmentation | None = None,
        similarity: Similarity = "cosine",
        dtype: DtypeName = "auto",
        name: str = "",
    ) -> None:
        super().__init__()
        self.query = query
        self.passage = passage if passage is not None else query
        self.head = head
        if self.passage.dim != query.dim:
            raise ModelError(
                f"the towers give {query.dim} and {self.passage.dim} dimensions: they must agree."
            )
        if head is not None and head.dim != query.dim:
            raise ModelError(f"the head takes {head.dim} dimensions, the towers give {query.dim}.")
        if head is not None and head.passage_tokens > self.passage.max_tokens:
            most = self.passage.max_tokens
            raise ModelError(f"head.passage_tokens is {head.passage_tokens}; at most {most} fit.")
        self.prompts = dict(prompts or {}) or {
            "query": query.prompt("query"),
            "passage": self.passage.prompt("document", "passage", "corpus"),
        }
        for tower in (query, self.passage):
            if similarity != "cosine":
                tower.encoder.similarity_fn_name = _NAMES[similarity]
            # Under the names that sentence-transformers uses, so that a saved tower agrees.
            names = {"query": self.prompts["query"], "document": self.prompts["passage"]}
            tower.encoder.prompts |= names
        self.text_rule: TextRule = text_rule
        self.segmentation = encoding.checked_segmentation(segmentation)
        self.similarity: Similarity = similarity
        self.dtype: DtypeName = dtype
        self.name = name
        self._digest: str | None = None
        self._articles_digest: str | None = None
        self._base: Mapping[str, str] | None = None
        self._known_questions: Mapping[bytes, Tensor] = {}
        self.dense_weight: float | None = None
        self._held_out: tuple[str, ...] = ()
        self._question_vectors: dict[str, Tensor] = {}

    @property
    def siamese(self) -> bool:
        """Whether both sides share their weights."""
        return self.passage is self.query

    @property
    def dim(self) -> int:
        """Width of the vectors."""
        return self.query.dim

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return self.query.device

    @property
    def passage_tokens(self) -> int:
        """Longest passage of an article in tokens, special tokens and prompt included."""
        return self.passage.max_tokens if self.head is None else self.head.passage_tokens

    @property
    def digest(self) -> str:
        """sha256 over the weights' and configurations' files: the same on every machine and path.

        It names the files that the model was loaded from; training does not change it.

        Raises:
            ModelError: The model was assembled in memory and never loaded from files.
        """
        if self._digest is None:
            raise ModelError("a model has a digest once it is saved and loaded. Save it first.")
        return self._digest

    @property
    def articles_digest(self) -> str:
        """sha256 of what encodes articles: models with the same digest can search the same store.

        It is `digest`, or that of the model whose articles' side this model shares.

        Raises:
            ModelError: As `digest`.
        """
        return self._articles_digest or self.digest

    @property
    def query_encoder(self) -> encoding.TextEncoder:
        """How questions are encoded; trainers tokenise and embed with it."""
        return self._encoder(self.query, self.query.max_tokens, "query", None)

    @property
    def article_encoder(self) -> encoding.TextEncoder:
        """How articles are encoded; trainers tokenise and embed with it."""
        return self._encoder(self.passage, self.passage_tokens, "passage", self.head)

    def _encoder(
        self,
        tower: encoding.Tower,
        tokens: int,
        side: str,
        head: encoding.HierarchicalArticleHead | None,
    ) -> encoding.TextEncoder:
        prompt = self.prompts[side]
        return encoding.TextEncoder(tower, tokens, prompt, head, self.segmentation, self.similarity)

    def encode_queries(self, texts: Sequence[str]) -> Tensor:
        """Vectors of questions.

        Args:
            texts: `n` questions.

        Returns:
            float32 `[n, dim]` on the CPU.
        """
        with single_thread(self.device, when=len(texts) == 1):
            return self._encode(self.query_encoder, texts)[0]

    def question_vector(self, question: str) -> Tensor:
        """The vector of one question, for a model that is no longer trained.

        Retriever, ranker and page each ask for it; the last ones are kept.

        Returns:
            float32 `[dim]` on the CPU, shared: not to be written to.
        """
        vector = self._question_vectors.get(question)
        if vector is None:
            vector = self.encode_queries([question])[0]
            if len(self._question_vectors) >= _KEPT_QUESTIONS:
                self._question_vectors = {}
            self._question_vectors[question] = vector
        return vector

    def knows(self, texts: Iterable[str]) -> bool:
        """Whether its folder holds the vectors of all these questions."""
        return all(text_key(text) in self._known_questions for text in texts)

    def answered_vectors(self, texts: Sequence[str]) -> Tensor:
        """Vectors of questions to keep with a store; those that its folder holds are not encoded.

        Args:
            texts: `n` questions.

        Returns:
            float32 `[n, dim]` on the CPU.
        """
        known = dict(self._known_questions)
        new = [text for text in dict.fromkeys(texts) if text_key(text) not in known]
        known |= zip(map(text_key, new), self.encode_queries(new), strict=True)
        return torch.stack([known[text_key(text)] for text in texts])

    def encode_articles(self, texts: Sequence[str]) -> Tensor:
        """Vectors of articles, or of headings and titles.

        Args:
            texts: `n` texts, headings included where `text_rule` says so.

        Returns:
            float32 `[n, dim]` on the CPU.
        """
        return self.encode_articles_report(texts)[0]

    def encode_articles_report(
        self, texts: Sequence[str], *, progress: Progress | None = None
    ) -> tuple[Tensor, encoding.EncodingReport]:
        """As `encode_articles`, with a report of how much text was cut off.

        Args:
            texts: As for `encode_articles`.
            progress: Called with the number of texts done since the last call.
        """
        return self._encode(self.article_encoder, texts, progress)

    def _encode(
        self, encoder: encoding.TextEncoder, texts: Sequence[str], progress: Progress | None = None
    ) -> tuple[Tensor, encoding.EncodingReport]:
        dtype = resolve_dtype(self.dtype, self.device)
        vectors, report = encoding.encode(encoder, texts, dtype=dtype, progress=progress)
        return vectors.cpu(), report

    @classmethod
    def load(
        cls, name_or_path: str | Path, *, device: str | None = None, dtype: DtypeName = "auto"
    ) -> BiEncoder:
        """Open a Lexarbor model folder, or any sentence-transformers or Hugging Face text encoder.

        Args:
            name_or_path: Folder, or name on the Hugging Face Hub.
            device: "cpu", "cuda", ...; by default the best available.
            dtype: "auto" encodes in bfloat16 where that is fast, else in float32.

        Raises:
            ModelError: The model cannot be found, or it is broken, or it could only be
                opened by running code that came with it.
        """
        target = resolve_device(device)
        resolve_dtype(dtype, target)  # refuse a wrong name before loading, which takes minutes
        folder = find_model(name_or_path)
        manifest = manifest_of(folder)
        if manifest is not None:
            model = cls._from_model_folder(folder, manifest)
        else:
            model = cls(encoding.open_tower(folder))
            model._digest = model_digest(folder)
        model.name = str(name_or_path)
        model.dtype = dtype
        model.eval()
        model.to(target)
        return model

    @classmethod
    def _from_model_folder(cls, folder: Path, manifest: Manifest) -> BiEncoder:
        if "biencoder" not in manifest.kind or not manifest.towers:
            raise ModelError(f"{folder}: holds no bi-encoder. Give a model with one.")
        query, passage, head = cls._open_sides(folder, manifest)
        model = cls(
            *(query, passage, head),
            prompts=manifest.prompts,
            text_rule=manifest.text_rule,
            segmentation=manifest.segmentation,
            similarity=manifest.similarity,
        )
        if model.dim != manifest.dim:
            raise ModelError(f"{folder / MANIFEST_FILE}: field 'dim' is not {model.dim}.")
        model._digest = manifest_digest(manifest)
        model._articles_digest = manifest_articles_digest(manifest)
        model._base = manifest.base
        model._held_out = manifest.held_out
        if QUESTIONS_PART in manifest.parts:
            model._known_questions = _read_questions(folder / QUESTIONS_PART)
        model.dense_weight = manifest.dense_weight
        return model

    @classmethod
    def _open_sides(
        cls, folder: Path, manifest: Manifest
    ) -> tuple[encoding.Tower, encoding.Tower | None, encoding.HierarchicalArticleHead | None]:
        query, passage = manifest.towers["query"], manifest.towers["passage"]
        if manifest.base is None:
            headed = HEAD_PART in manifest.parts
            return (
                encoding.open_tower(folder / query),
                None if passage == query else encoding.open_tower(folder / passage),
                encoding.HierarchicalArticleHead.load(folder / HEAD_PART) if headed else None,
            )
        name = manifest.base["model"]
        try:
            base_folder = find_model(name)
        except ModelError as error:
            raise ModelError(f"{folder}: is a difference to its base model. {error}") from error
        if model_digest(base_folder) != manifest.base["sha256"]:
            raise ModelError(
                f"{folder}: is a difference to {name}, but the one at hand is another (its digest "
                "differs). Put the base model back, or train again."
            )
        if articles_digest(base_folder) != manifest.base["articles"]:
            raise ModelError(f"{folder / MANIFEST_FILE}: field 'base.articles' is not {name}'s.")
        base = cls.load(base_folder, device="cpu")
        return difference.with_difference(base.query, folder / query), base.passage, base.head

    def save(
        self,
        folder: str | Path,
        *,
        base: Mapping[str, str] | None = None,
        articles: str | None = None,
        base_model: str | None = None,
        config: Mapping[str, Any] | None = None,
        data: Mapping[str, str] | None = None,
        metrics: Mapping[str, Any] | None = None,
        held_out: Sequence[str] | None = None,
        kept: Mapping[str, Path | PartWriter] | None = None,
    ) -> Manifest:
        """Write a complete model folder.

        Args:
            folder: Where to write; absent or empty.
            base: As in `Manifest`, to write the questions' tower as its difference to this model
                (`components.models.difference`), and nothing of the articles' side. A model that
                was loaded so is written so again if its part is `kept`, else whole.
            articles: The `articles_digest` that it was loaded with, where its articles' side has
                not been trained since: a store of that digest then takes it.
            base_model: The model that training began with; by default `name`.
            config: The resolved training configuration.
            data: Digests of what it was trained on.
            metrics: Measured at the end.
            held_out: Ids of training questions that it has not learnt, see `Manifest`; by default
                those of the folder that it was loaded from.
            kept: Parts to add, or to use in place of its own: folders, which are hard-linked
                (`{"ranker": path}`, or `{"biencoder/query": path}` for a tower that was not
                trained), or functions that write one (`{"graph": network.save}`).

        Returns:
            The manifest as written.

        Raises:
            ModelError: `folder` exists and is not empty.
        """
        parts: dict[str, PartWriter | Path] = {QUERY_PART: self.query.save}
        passage = QUERY_PART
        if base is None and QUERY_PART in (kept or {}):
            base = self._base
        if base is not None:
            parts[QUERY_PART] = partial(difference.save_difference, self.query)
            passage = BASE
        else:
            if not self.siamese:
                parts[PASSAGE_PART], passage = self.passage.save, PASSAGE_PART
            if self.head is not None:
                parts[HEAD_PART] = self.head.save
        parts |= kept or {}
        kind = ["biencoder", *(part for part in ("graph", "ranker", "fusion") if part in parts)]
        manifest = Manifest(
            kind=tuple(kind),
            base_model=self.name if base_model is None else base_model,
            towers={"query": QUERY_PART, "passage": passage},
            base=base,
            articles=articles if base is None else None,
            dim=self.dim,
            text_rule=self.text_rule,
            segmentation=self.segmentation,
            similarity=self.similarity,
            prompts=self.prompts,
            config=config or {},
            data=data or {},
            metrics=metrics or {},
            held_out=self._held_out if held_out is None else tuple(held_out),
            dense_weight=self.dense_weight,
        )
        return write_model_folder(Path(folder), manifest, parts)


# Vectors of known questions, which travel with a model: each as 8-bit numbers and their unit.

_QUESTIONS_FILE = "vectors.safetensors"
_MOST = 127


def text_key(text: str) -> bytes:
    """A short digest by which a text is known."""
    # A text may hold lone surrogates, which UTF-8 cannot encode.
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def save_questions(texts: Sequence[str], vectors: Tensor, folder: Path) -> None:
    """Write the vectors of questions, for `BiEncoder.answered_vectors`.

    Args:
        texts: `n` questions, all different.
        vectors: float32 `[n, dim]`.
        folder: The part of the model folder.
    """
    digests = torch.frombuffer(bytearray(b"".join(map(text_key, texts))), dtype=torch.uint8)
    units = vectors.abs().amax(dim=1, keepdim=True) / _MOST
    whole = (vectors / units).round().to(torch.int8)
    tensors = {"digests": digests.reshape(-1, 16), "units": units, "vectors": whole}
    tensors = {name: tensor.cpu().contiguous() for name, tensor in tensors.items()}
    save_file(tensors, folder / _QUESTIONS_FILE)


def _read_questions(folder: Path) -> dict[bytes, Tensor]:
    try:
        tensors = load_file(folder / _QUESTIONS_FILE)
        digests = (row.tobytes() for row in tensors["digests"].numpy())
        return dict(zip(digests, tensors["vectors"] * tensors["units"], strict=True))
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise ModelError(f"{folder}: cannot be read ({error}). Copy the model again.") from error
