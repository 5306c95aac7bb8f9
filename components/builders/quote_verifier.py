"""QuoteVerifier: looks up every citation and quotation of a reply in the articles."""

from haystack import Document, component
from haystack.dataclasses import ChatMessage

from components.converters.articles import article_of
from components.parameters import StatuteComponent
from components.statutes.replies.quotations import CheckedReply, check_reply


@component
class QuoteVerifier(StatuteComponent):
    """Looks up every citation and quotation of a reply in the articles it was written from.

    ```python
    from haystack import Document
    from haystack.dataclasses import ChatMessage

    from components.builders.quote_verifier import QuoteVerifier

    article = Document(id="h12", content="The deposit is returned within thirty days.")
    reply = ChatMessage.from_assistant('It is "returned within thirty days" [1].')
    checked = QuoteVerifier().run([reply], [article])["checked"]
    checked[0].quotations[0].state  # "verified"
    ```

    `components.statutes.replies.quotations.check_reply` says what is verified, not found and not
    checked. To resume a snapshot that contains checked replies, use `with
    pipelines.loading.allow_replies()`.
    """

    @component.output_types(checked=list[CheckedReply])
    def run(
        self, replies: list[ChatMessage], documents: list[Document]
    ) -> dict[str, list[CheckedReply]]:
        """Check replies.

        Args:
            replies: a generator's; one without text is left out.
            documents: the articles that they were written from; a reply's [1] is the first.

        Returns:
            `checked`: one for each reply.
        """
        sources = [article_of(document) for document in documents]
        return {"checked": [check_reply(reply.text, sources) for reply in replies if reply.text]}
