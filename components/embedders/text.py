"""StatuteTextEmbedder: a question's vector."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from haystack import component
from haystack.utils import ComponentDevice

from components.models.folder import DtypeName, ModelError, ways_out
from components.parameters import AsyncWarmUp, StatuteComponent, checked_device
from components.statutes.question import clean_question

if TYPE_CHECKING:
    from components.models.biencoder import BiEncoder


class BiEncoderComponent(AsyncWarmUp, StatuteComponent):
    """A component with the parameters of a bi-encoder, which it loads once."""

    _encoder: Any = None  # a BiEncoder, whose module needs the extra `models`
    _expected: str | None = None

    def __init__(self, model: str | None, device: ComponentDevice | None, dtype: DtypeName) -> None:
        self.model = model
        self.device = checked_device(type(self).__name__, device)
        self.dtype = dtype

    def warm_up(self) -> None:
        """Load the model, once.

        Raises:
            ModelError: no model is named, it cannot be loaded, or is not the one expected.
        """
        self.loaded()

    def expect_model(self, digest: str, articles: str) -> None:  # noqa: ARG002
        """Refuse any other model than this, in case its folder changes before it is loaded.

        Args:
            digest: of the model that questions are embedded with.
            articles: of what encoded the articles; a retriever checks it.
        """
        self._expected = digest

    def loaded(self) -> "BiEncoder":
        """The process's shared instance of the model, loaded once.

        Raises:
            ModelError: no model is named, it cannot be loaded, or is not the one expected.
        """
        if self._encoder is None:
            place = f"{type(self).__name__}.model"
            if self.model is None:
                raise ModelError(f"{place} is null. {ways_out()}")
            from components.models.registry import shared_model

            device = self.device.to_torch_str() if self.device else None
            encoder = shared_model(self.model, device, self.dtype)
            if self._expected not in (None, encoder.digest):
                raise ModelError(
                    f"{place} {self.model} changed since the law was indexed. Index again with it, "
                    "or put the old one back."
                )
            self._encoder = encoder
        return cast("BiEncoder", self._encoder)


@component
class StatuteTextEmbedder(BiEncoderComponent):
    """Embeds a question with the query tower of a bi-encoder.

    ```python
    from components.embedders.text import StatuteTextEmbedder

    embedder = StatuteTextEmbedder(model="sentence-transformers/all-MiniLM-L6-v2")
    embedder.run("May a fund manager delegate its duties?")["embedding"]
    ```

    The model is loaded once for all components of the process that name it.
    """

    def __init__(
        self,
        model: str | None = None,
        device: ComponentDevice | None = None,
        dtype: DtypeName = "auto",
    ) -> None:
        """Keep the parameters; nothing is loaded.

        Args:
            model: a model folder of Lexarbor's training, or any sentence-transformers or Hugging
                Face name or path. None is only a placeholder in YAML (`load_pipeline`
                puts the store's model there).
            device: where it runs; None takes the best available when it is loaded.
            dtype: number format; "auto" is bfloat16 where that is fast.

        Raises:
            TypeError: `device` is not a ComponentDevice.
        """
        BiEncoderComponent.__init__(self, model, device, dtype)

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, list[float]]:
        """Embed a question.

        Args:
            text: the question.

        Returns:
            `embedding`: `[dim]`, for cosine of unit length.

        Raises:
            QuestionError: the question is empty or too long.
            ModelError: no model is named, it cannot be loaded, or is not the one expected.
        """
        question = clean_question(text)
        return {"embedding": self.loaded().question_vector(question).tolist()}

    def shares_read(self, articles: Sequence[tuple[Sequence[str], str]]) -> list[float]:
        """The share of each article's text that the model reads when it embeds it; 1 for all.

        Args:
            articles: headings and text of each.

        Returns:
            Shares of the text's tokens, 0 to 1.

        Raises:
            ModelError: no model is named, or it cannot be loaded.
        """
        encoder = self.loaded()
        return encoder.article_encoder.shares_read(articles, encoder.text_rule)
