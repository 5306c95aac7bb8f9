"""RetrievalEvaluator: measures how well ranked articles answer questions."""

from typing import Any

from haystack import Document, component

from components.parameters import StatuteComponent, check_count
from components.statutes.metrics import DEFAULT_METRICS, evaluate, metric_depth


@component
class RetrievalEvaluator(StatuteComponent):
    """Measures retrieved articles against the relevant ones, by id.

    ```python
    from haystack import Document

    from components.evaluators.retrieval import RetrievalEvaluator

    evaluator = RetrievalEvaluator(metrics=["R@10", "MRR@10"], depth=10)
    evaluator.run(
        ground_truth_ids=[["a", "b"]], retrieved_documents=[[Document(id="c"), Document(id="a")]]
    )["metrics"]  # {"R@10": 0.5, "MRR@10": 0.5}
    ```

    Metrics are those of `components.statutes.metrics`: R@k, MAP, MAP@k, R-precision, MRR@k,
    nDCG@k, Exist@k. The order of the list is the ranking; scores are ignored.
    """

    def __init__(self, metrics: list[str] | None = None, depth: int = 1000) -> None:
        """Keep the parameters.

        Args:
            metrics: their names, the first being the `score`; None means the usual set.
            depth: how many articles the retriever was asked for. A metric that looks deeper is
                refused, since it would be measured too low.

        Raises:
            ValueError: `metrics` is not a list of names, or empty, a metric is unknown, or `depth`
                is not a whole number from 1.
        """
        if metrics is not None and (isinstance(metrics, str) or not metrics):
            raise ValueError("RetrievalEvaluator.metrics must be a list of names, or None.")
        for metric in metrics or ():
            try:
                metric_depth(metric)
            except ValueError as error:
                raise ValueError(f"RetrievalEvaluator.metrics: {error}.") from error
        check_count("RetrievalEvaluator.depth", depth, 1)
        self.metrics = metrics
        self.depth = depth

    @component.output_types(
        score=float,
        individual_scores=list[float],
        metrics=dict[str, float],
        individual_metrics=dict[str, list[float]],
    )
    def run(
        self, ground_truth_ids: list[list[str]], retrieved_documents: list[list[Document]]
    ) -> dict[str, Any]:
        """Measure the lists of several questions.

        Args:
            ground_truth_ids: for each question, the ids of all its relevant articles; repeats
                count once.
            retrieved_documents: for each question, what was retrieved, best first; may be empty.

        Returns:
            `metrics`: the mean of each metric over the questions. `individual_metrics`: its value
            for each question. `score` and `individual_scores`: the same of the first metric.

        Raises:
            ValueError: the two lists differ in length or are empty, a question has no relevant
                article (no metric is defined for it), a metric is deeper than `depth`, or an
                article was retrieved twice for a question.
        """
        if len(ground_truth_ids) != len(retrieved_documents) or not ground_truth_ids:
            raise ValueError(
                "RetrievalEvaluator needs one list of ids and one of documents for each question, "
                f"got {len(ground_truth_ids)} and {len(retrieved_documents)}."
            )
        if not all(isinstance(each, list) and each for each in ground_truth_ids):
            raise ValueError(
                "RetrievalEvaluator.ground_truth_ids: a question needs a list of ids. Leave out "
                "those that no article answers: no ranking metric is defined for them."
            )
        names = [str(place) for place in range(len(ground_truth_ids))]
        values = evaluate(
            {
                name: [document.id for document in documents[: self.depth]]
                for name, documents in zip(names, retrieved_documents, strict=True)
            },
            dict(zip(names, map(set, ground_truth_ids), strict=True)),
            DEFAULT_METRICS if self.metrics is None else self.metrics,
            depth=self.depth,
        )
        individual = {metric: [of[name] for name in names] for metric, of in values.items()}
        means = {metric: sum(each) / len(names) for metric, each in individual.items()}
        first = next(iter(means))
        return {
            "score": means[first],
            "individual_scores": individual[first],
            "metrics": means,
            "individual_metrics": individual,
        }
