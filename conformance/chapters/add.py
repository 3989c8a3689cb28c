"""add: what its own clauses are checked by."""
from reftorch.ops.add import add

from ..chapter import Chapter
from ..families.calls import alphas

chapter = Chapter(
    add,
    C1="E1",
    C2="E1, E2",
    C3="P3",
    C4="E1, E3",
    C5=alphas,
)
