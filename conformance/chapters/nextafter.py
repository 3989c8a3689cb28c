"""nextafter: what its own clauses are checked by."""
from reftorch.ops.nextafter import nextafter

from ..chapter import Chapter

chapter = Chapter(
    nextafter,
    C1="E1",
    C2="E3",
    C3="X1",
    C4="D1",
)
