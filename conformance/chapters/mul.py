"""mul: what its own clauses are checked by."""
from reftorch.ops.mul import mul

from ..chapter import Chapter

chapter = Chapter(
    mul,
    C1="E1",
    C2="P3",
    C3="E1, E3",
    C4="E1",
)
