"""StatuteDocumentEmbedder: articles with their vectors."""

from dataclasses import asdict, replace
from typing import Any

from haystack import Document, component
from haystack.utils import ComponentDevice
from tqdm import tqdm

from components.converters.articles import headings_of
from components.embedders.text import BiEncoderComponent
from components.models.folder import DtypeName
from components.parameters import check_documents
from components.statutes.article import indexed_text


@component
class StatuteDocumentEmbedder(BiEncoderComponent):
    """Embeds articles with the passage tower of a bi-encoder and its head for long articles.

    ```python
    from haystack import Document

    from components.embedders.document import StatuteDocumentEmbedder

    embedder = StatuteDocumentEmbedder(model="sentence-transformers/all-MiniLM-L6-v2")
    article = Document(id="12", content="The landlord shall ...", meta={"headings": ["Repairs"]})
    embedder.run([article])["documents"][0].embedding
    ```

    The model's rule says what is encoded, for most models the headings and then the text. The model
    is loaded once for all components of the process that name it.
    """

    def __init__(
        self,
        model: str | None = None,
        device: ComponentDevice | None = None,
        dtype: DtypeName = "auto",
        progress_bar: bool = True,
    ) -> None:
        """Keep the parameters; nothing is loaded.

        Args:
            model: a model folder of Lexarbor's training, or any sentence-transformers or Hugging
                Face name or path. None is only a placeholder in YAML.
            device: where it runs; None takes the best available when it is loaded.
            dtype: number format; "auto" is bfloat16 where that is fast.
            progress_bar: whether to show on a terminal how many articles are done.

        Raises:
            TypeError: `device` is not a ComponentDevice.
        """
        BiEncoderComponent.__init__(self, model, device, dtype)
        self.progress_bar = progress_bar

    @component.output_types(documents=list[Document], meta=dict[str, Any])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        """Embed articles.

        Args:
            documents: with content; `meta.headings` are the divisions above each.

        Returns:
            `documents`: new ones with `embedding`, `[dim]`, for cosine of unit length.
            `meta`: how much was encoded and how much was cut off for being too long.

        Raises:
            TypeError: `documents` is not a list of Documents.
            ValueError: a document has no content; names it.
            ModelError: no model is named, or it cannot be loaded.
        """
        check_documents("StatuteDocumentEmbedder", documents)
        encoder = self.loaded()
        texts = [
            indexed_text(headings_of(each.meta), each.content or "", encoder.text_rule)
            for each in documents
        ]
        # None shows the bar on a terminal only.
        hidden = None if self.progress_bar else True
        with tqdm(total=len(texts), desc="Encoding", unit="article", disable=hidden) as bar:
            vectors, report = encoder.encode_articles_report(texts, progress=bar.update)
        return {
            "documents": [
                replace(document, embedding=vector)
                for document, vector in zip(documents, vectors.tolist(), strict=True)
            ],
            "meta": asdict(report),
        }
