"""sub: what its own clauses are checked by."""
from reftorch.ops.sub import sub

from ..chapter import Chapter
from ..families.calls import alphas

chapter = Chapter(
    sub,
    C1="E1",
    C2="E1, E2",
    C3="P3",
    C4="E1, E3",
    C5="X1",
    C6=alphas,
)
