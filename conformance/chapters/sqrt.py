"""sqrt: what its own clauses are checked by."""
from reftorch.ops.sqrt import sqrt

from ..chapter import Chapter

chapter = Chapter(
    sqrt,
    C1="E1, E3",
    C2="P1",
    C3="E1",
)
