"""minimum: what its own clauses are checked by."""
from reftorch.ops.minimum import minimum

from ..chapter import Chapter

chapter = Chapter(
    minimum,
    C1="E3",
    C2="E3",
    C3="X1",
    C4="D1",
)
