"""eq: what its own clauses are checked by."""
from reftorch.ops.eq import eq

from ..chapter import Chapter
from ..families.calls import calls

chapter = Chapter(
    eq,
    C1="E1, E3, P2",
    C2="P3",
    C3="E1",
    C4="O4",
    C5=calls(
        an_operand_requires_grad=dict(self="float32 grad", other="float32"),
        both_do=dict(self="float64 grad", other="float64 grad")),
)
