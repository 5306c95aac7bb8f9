"""Negatives of the right difficulty at the right time (CuSINeS); knows nothing of any model."""

from training.negatives.gold import DrawnNegatives, Gold
from training.negatives.sampling import CurriculumNegatives
from training.negatives.statistics import statistics

__all__ = ["CurriculumNegatives", "DrawnNegatives", "Gold", "statistics"]
