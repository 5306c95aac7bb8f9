"""From a law as plain text to an answer: `python examples/text_file.py`, offline."""

import tempfile
from pathlib import Path

from pipelines.asking import ask
from pipelines.indexing import index_corpus
from pipelines.loading import load_pipeline

TEXT = """Barge Licences Act (invented)

PART I
Licences

Section 1 Licence required
No one moors a barge without a licence.

Section 2 Deposits
The port returns the deposit within thirty days, and says in writing what it kept and why.
"""

with tempfile.TemporaryDirectory() as folder:
    law, store = Path(folder, "act.txt"), Path(folder, "law.db")
    law.write_text(TEXT, encoding="utf-8")
    print(index_corpus(law, store, model="none", say=print))
    pipeline = load_pipeline("lexical", store=store)
    for found in ask(pipeline, "Who returns my deposit?", top_k=1)["documents"]:
        print(found["law"], *found["headings"], found["number"], sep=" > ")
        print(found["content"])
    pipeline.close()
