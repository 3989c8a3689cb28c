"""neg: what its own clauses are checked by."""
from reftorch.ops.neg import neg

from ..chapter import Chapter

chapter = Chapter(
    neg,
    C1="E1, E3",
    C2="X1",
    C3="O4",
)
