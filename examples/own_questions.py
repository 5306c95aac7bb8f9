"""How good is it on questions of your own? `python examples/own_questions.py [STORE]`, offline.

On the command line it is `python -m pipelines.evaluate --questions FILE --store law.db --pipeline
hybrid --compare lexical`, which also prints what each stage adds.
"""

import json
import sys
import tempfile
from pathlib import Path

from components.statutes.corpus import read_questions
from pipelines.evaluation import measure, report
from pipelines.indexing import index_corpus

# Ask as your users do, and mark every article that answers. A few dozen questions tell much; with
# ten, the intervals below show how little is certain.
QUESTIONS = [
    ("How long may they take to give my deposit back?", ["housing-14"]),
    ("Can my landlord just walk in while I am out?", ["housing-19"]),
    ("The roof leaks. Whose job is that?", ["housing-20"]),
    ("Who may ask me for a guarantor, and up to what sum?", ["housing-13-1"]),
    ("The flat was sold. Do I have to move?", ["housing-15"]),
    ("Which running costs of the house am I charged for?", ["housing-18"]),
    ("I am behind with the rent. Can I pay in instalments?", ["housing-17"]),
    ("They took three months' rent as a deposit.", ["housing-12", "housing-16"]),
]

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "questions.jsonl")
    with path.open("w", encoding="utf-8") as lines:
        for number, (text, relevant) in enumerate(QUESTIONS, start=1):
            question = {"id": f"q{number}", "text": text, "relevant": relevant, "split": "test"}
            lines.write(json.dumps(question) + "\n")

    if len(sys.argv) > 1:
        store = Path(sys.argv[1])
    else:
        store = Path(folder, "law.db")
        index_corpus("aldermere", store)
    questions = list(read_questions(str(path)))
    measured = {
        name: measure(name, questions, store=store, model=None, depth=50)
        for name in ("hybrid", "lexical")
    }
    result = report(measured["hybrid"], [measured["lexical"]], questions, training=[])
    print(f"{'':<10}{'hybrid':>8}   95% interval     lexical")
    for metric in ("R@5", "R@10", "MRR@10"):
        low, high = result["intervals"][metric]
        other = result["comparison"]["lexical"][metric]["value"]
        print(
            f"{metric:<10}{result['metrics'][metric]:>8.3f}   {low:.3f} to {high:.3f}   {other:.3f}"
        )
    print("\nNot among the first five:")
    for question in questions:
        if not set(question.relevant) & set(measured["hybrid"].run[question.id][:5]):
            print(f"  {question.text}")
