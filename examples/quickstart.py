"""From a law in a file to an answer: `python examples/quickstart.py`, offline and without a GPU."""

import json
import tempfile
from pathlib import Path

from pipelines.asking import ask
from pipelines.indexing import index_corpus
from pipelines.loading import load_pipeline

LAW = "Allotment Gardens Act (invented)"
RENT, PLOTS = "Part 1. Tenancy and rent", "Part 2. Use of the plot"
ARTICLES = [  # number, division, text
    ("1", RENT, "The council lets a plot for one year; the tenancy renews itself each March."),
    ("2", RENT, "Rent is due on the first of March. It may rise by 3 per cent a year at most."),
    ("3", RENT, "The council may end the tenancy where rent is ninety days overdue."),
    ("4", RENT, "A gardener who leaves is paid for trees and sheds at their value on that day."),
    ("5", PLOTS, "A shed may cover up to six square metres. No one may live or sleep in it."),
    ("6", PLOTS, "Up to six hens may be kept. Cockerels and all other animals are forbidden."),
    ("7", PLOTS, "Water is drawn by can. Hoses may be used from six to eight in the evening."),
    ("8", PLOTS, "Fires are forbidden from April to September, except in a closed stove."),
]
QUESTION = "Am I allowed to have chickens on my plot?"

with tempfile.TemporaryDirectory() as folder:
    # 1. A law is a file with one JSON object per line, in the order of the law.
    law_file = Path(folder, "articles.jsonl")
    with law_file.open("w", encoding="utf-8") as lines:
        for number, division, text in ARTICLES:
            article = {"id": f"gardens-{number}", "law": LAW, "number": number, "language": "en"}
            lines.write(json.dumps(article | {"headings": [division], "text": text}) + "\n")

    # 2. Indexing encodes the articles and writes one SQLite file. With the extra `demo` the model
    #    is all-MiniLM-L6-v2; model="none" stores the words alone, for the pipeline `lexical`.
    store = Path(folder, "law.db")
    print(index_corpus(law_file, store), "\n")

    # 3. A pipeline is a haystack.Pipeline: citations, BM25 and vectors, fused by rank.
    pipeline = load_pipeline("hybrid", store=store)
    found = pipeline.run({"query": QUESTION})["result"]["documents"]
    print(QUESTION)
    for document in found[:3]:  # each in its place in the law, with its rank in each stage
        place = " > ".join([document.meta["law"], *document.meta["headings"]])
        print(f"  {place} > {document.meta['number']}  {document.meta['ranks']}")
        print(f"    {document.content}")

    # A question that names an article gets that article first.
    cited = "What happens under article 3 if I pay late?"
    found = pipeline.run({"query": cited})["result"]["documents"]
    print(f"\n{cited}\n  {found[0].meta['number']}: {found[0].content}")

    # 4. Without a generator the answer is verbatim: excerpts of the law, each with its citation.
    answer = ask(load_pipeline("answer_hybrid", store=store), QUESTION, top_k=1)["answer"]
    print(f"\nAnswer ({answer['state']}):\n{answer['text']}")
    pipeline.close()
