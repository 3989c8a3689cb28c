"""lerp: what its own clauses are checked by."""
from reftorch.ops.lerp import lerp

from ..chapter import Chapter
from ..families.calls import calls

chapter = Chapter(
    lerp,
    C1="E1",
    C2="E1, P3",
    C3=calls(
        another_dtype_of_end=dict(self="float32", end="float64", weight=0.5),
        another_dtype_of_weight=dict(self="float32", end="float32", weight="float64"),
        weight_too_large=dict(self="float32", end="float32", weight=1e300)),
    C4="O4",
    C5="E3",
)
