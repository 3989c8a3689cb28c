"""copysign: what its own clauses are checked by."""
from reftorch.ops.copysign import copysign

from ..chapter import Chapter

chapter = Chapter(
    copysign,
    C1="E1, E3",
    C2="P1",
    C3="X1",
    C4="D1",
)
