"""sign: what its own clauses are checked by."""
from reftorch.ops.sign import sign

from ..chapter import Chapter

chapter = Chapter(
    sign,
    C1="E1, E3",
    C2="X1",
    C3="O4",
)
