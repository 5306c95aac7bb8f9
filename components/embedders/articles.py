"""What the embedders check of the documents that they are given."""

from haystack import Document


def check_documents(component: str, documents: object) -> None:
    """Refuse what is no list of articles with a text.

    Args:
        component: name of the embedder, for the message.
        documents: what it was given.

    Raises:
        TypeError: `documents` is no list of Documents.
        ValueError: a document has no content; names it.
    """
    if not isinstance(documents, list) or not all(
        isinstance(document, Document) for document in documents
    ):
        raise TypeError(
            f"{component} takes a list of Documents; for a question use StatuteTextEmbedder."
        )
    for document in documents:
        if not document.content or document.content.isspace():
            raise ValueError(
                f"document '{document.id}' has no content, so there is nothing to embed. "
                "Give it text or leave it out."
            )
