"""rsqrt: what its own clauses are checked by."""
from reftorch.ops.rsqrt import rsqrt

from ..chapter import Chapter

chapter = Chapter(
    rsqrt,
    C1="E1, E3",
    C2="E1, E2",
    C3="E1",
    C4="P1",
    C5="E1",
)
