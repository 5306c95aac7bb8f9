"""How well BM25 finds, by how much of the question its first article covers.

python tests/benchmarks/coverage.py aldermere FOLDER ...
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np

from components.models.lexical_index import LexicalIndex
from components.statutes.article import indexed_text
from components.statutes.corpus import StatuteCorpus, read_questions
from components.statutes.lexical import K1, B, coverage

EDGES = (0.0, 0.25, 0.5, 1.01)
MOST = 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("laws", nargs="+", help="folders with articles and questions, or aldermere")
    for law in parser.parse_args().laws:
        corpus = StatuteCorpus.read(law)
        texts = [indexed_text(each.headings, each.text) for each in corpus]
        languages = [each.language for each in corpus]
        keyed = zip(range(len(texts)), texts, languages, strict=True)
        index = LexicalIndex.build(keyed, k1=K1, b=B)
        shares, recalls = [], []
        for question in [each for each in read_questions(law) if each.answerable][:MOST]:
            found = index.search(question.text, 10)[0].tolist()
            first = found[0] if found else None
            shares.append(
                0.0 if first is None else coverage(question.text, texts[first], languages[first])
            )
            hits = {corpus.ids[row] for row in found}.intersection(question.relevant)
            recalls.append(len(hits) / len(question.relevant))
        print(f"{law}: {len(shares)} questions, median share {np.median(shares):.2f}")
        for low, high in itertools.pairwise(EDGES):
            own = [r for s, r in zip(shares, recalls, strict=True) if low <= s < high]
            mean = f"{np.mean(own):.3f}" if own else "none"
            print(f"  from {low} below {min(high, 1)}: R@10 {mean} ({len(own)})")


if __name__ == "__main__":
    main()
