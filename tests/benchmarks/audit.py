"""How often CitationAuditor's "subject differs" is right, and wrong, on a law with questions.

    python tests/benchmarks/audit.py --corpus aldermere
    python tests/benchmarks/audit.py --corpus FOLDER

Statements are sentences of the law, the same with half of their words, and the questions of the
corpus. Each is put on its own article, where an alarm is false, and on another: one at random, and
a neighbour of its own. Counted are those whose citation is read.
"""

from __future__ import annotations

import argparse
from random import Random

from haystack.document_stores.in_memory import InMemoryDocumentStore

from components.builders.citation_auditor import CitationAuditor
from components.converters.articles import as_document
from components.statutes.article import spoken_number
from components.statutes.corpus import StatuteCorpus, read_questions
from components.statutes.replies.text import article_sentences

N_STATEMENTS = 300


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="aldermere")
    options = parser.parse_args()
    random = Random(0)
    corpus = StatuteCorpus.read(options.corpus)
    articles = list(corpus)
    position = {article.id: place for place, article in enumerate(articles)}
    store = InMemoryDocumentStore()
    store.write_documents([as_document(each, n) for n, each in enumerate(articles)])
    auditor = CitationAuditor(store, as_of="any")

    sentences = []
    for place in random.sample(range(len(articles)), min(len(articles), 1_500)):
        article = articles[place]
        sentences += [
            (place, article.text[each.start : each.end])
            for each in article_sentences(article.text, article.language)
            if 40 < each.end - each.start < 400
        ]
    sentences = random.sample(sentences, min(N_STATEMENTS, len(sentences)))
    halves = [
        (place, " ".join(word for word in text.split() if random.random() > 0.5))
        for place, text in sentences
    ]
    asked = [each for each in read_questions(options.corpus) if each.relevant]
    asked = random.sample(asked, min(N_STATEMENTS, len(asked)))
    questions = [(position[each.relevant[0]], each.text) for each in asked]

    def alarms(statements: list[tuple[int, str]], shift: list[int]) -> float:
        verdicts = []
        for (place, text), by in zip(statements, shift, strict=True):
            cited = articles[min(place + by, len(articles) - 1)]
            cites = f"{text.rstrip('.?!')} ({cited.law}, {spoken_number(cited.number)})."
            citations = auditor.run(cites)["citations"]
            verdicts += [each.verdict for each in citations if each.ids[:1] == (cited.id,)]
        differing = verdicts.count("subject differs")
        return differing / (differing + verdicts.count("verified"))

    print(f"{len(articles)} articles, share of alarms")
    print(f"{'statement':<28}{'own article':>12}{'another':>10}{'neighbour':>11}")
    for name, statements in (
        ("sentence of the law", sentences),
        ("half of its words", halves),
        ("question", questions),
    ):
        none = [0] * len(statements)
        other = [(random.randrange(len(articles)) - place) or 1 for place, _ in statements]
        near = [random.choice((-1, 1)) if place else 1 for place, _ in statements]
        shares = [alarms(statements, shift) for shift in (none, other, near)]
        print(f"{name:<28}{shares[0]:>12.3f}{shares[1]:>10.3f}{shares[2]:>11.3f}")


if __name__ == "__main__":
    main()
