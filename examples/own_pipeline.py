"""A pipeline of your own, over Haystack's store and with Haystack's components next to ours.

`python examples/own_pipeline.py`: offline, without a model of any kind.
"""

from haystack import Pipeline
from haystack.components.builders import ChatPromptBuilder
from haystack.components.generators.chat import MockChatGenerator
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.components.writers import DocumentWriter
from haystack.dataclasses import ByteStream, ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore

from components.builders.citation_auditor import CitationAuditor
from components.converters.statutes import StatuteConverter
from components.joiners.rank_fusion import StatuteRankFuser
from components.retrievers.citation import CitationRetriever

LAW = "\n".join(
    f'{{"id": "p{number}", "law": "Parks Act (invented)", "number": "{number}", "headings": [], '
    f'"language": "en", "text": "{text}"}}'
    for number, text in (
        (1, "Parks are open from sunrise to sunset."),
        (2, "Dogs are kept on a lead, except on meadows that the warden marks."),
        (3, "A warden may close a path for repairs, for a week at most."),
    )
)
PROMPT = [
    ChatMessage.from_user(
        "{% for article in documents %}{{ article.meta.law }}, {{ article.meta.number }}: "
        "{{ article.content }}\n{% endfor %}Answer with citations: {{ query }}"
    )
]

# 1. Haystack's store, filled by our converter and Haystack's writer.
store = InMemoryDocumentStore()
indexing = Pipeline()
indexing.add_component("converter", StatuteConverter())
indexing.add_component("writer", DocumentWriter(store))
indexing.connect("converter", "writer")
indexing.run(
    {"converter": {"sources": [ByteStream(LAW.encode(), meta={"file_path": "parks.jsonl"})]}}
)

# 2. Our citations and Haystack's BM25, fused by rank; a generator; and what it cites, checked.
pipeline = Pipeline()
pipeline.add_component("citation", CitationRetriever(store))
pipeline.add_component("bm25", InMemoryBM25Retriever(store))
pipeline.add_component("fuser", StatuteRankFuser(["citation", "bm25"], top_k=2))
pipeline.add_component("prompt", ChatPromptBuilder(PROMPT, required_variables="*"))
# The generator is a script, so that the example runs offline: put your own in its place.
reply = "On a lead (Parks Act, section 2). Breach costs 50 crowns (section 9 of the Parks Act)."
pipeline.add_component("generator", MockChatGenerator(reply))
pipeline.add_component("auditor", CitationAuditor(store))
pipeline.connect("citation.pinned", "fuser.pinned")
pipeline.connect("citation.documents", "fuser.citation")
pipeline.connect("bm25.documents", "fuser.bm25")
pipeline.connect("fuser.documents", "prompt.documents")
pipeline.connect("prompt.prompt", "generator.messages")
pipeline.connect("generator.replies", "auditor.text")
pipeline.connect("fuser.documents", "auditor.documents")

query = "Must my dog be on a lead?"
inputs = {name: {"query": query} for name in ("citation", "bm25", "prompt")}
result = pipeline.run(inputs, include_outputs_from={"fuser", "generator"})
for document in result["fuser"]["documents"]:
    print(f"{document.meta['law']}, {document.meta['number']}: {document.content}")
print(f"\n{result['generator']['replies'][0].text}")
for citation in result["auditor"]["citations"]:
    print(f"  {citation.text}: {citation.verdict} {citation.why}".rstrip())
