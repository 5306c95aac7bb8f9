"""Negatives of the right difficulty at the right time (CuSINeS).

Drawing needs no model, only the vectors that `CurriculumNegatives.draw` is given. The exception is
`trainer`, which encodes with the model of a `SentenceTransformerTrainer`.
"""

from training.negatives.gold import DrawnNegatives, Gold
from training.negatives.sampling import CurriculumNegatives, statistics

__all__ = ["CurriculumNegatives", "DrawnNegatives", "Gold", "statistics"]
