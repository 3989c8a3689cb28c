"""reciprocal: what its own clauses are checked by."""
from reftorch.ops.reciprocal import reciprocal

from ..chapter import Chapter

chapter = Chapter(
    reciprocal,
    C1="E1, E3",
    C2="P1",
    C3="E1",
)
