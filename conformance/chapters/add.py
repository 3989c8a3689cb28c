"""add: what its own clauses are checked by."""
from reftorch.ops.add import add

from ..chapter import Chapter
from ..families.calls import calls

chapter = Chapter(
    add,
    C1="E1",
    C2="E1, E2",
    C3="P3",
    C4="E1, E3",
    C5=calls(
        fraction_for_integers=dict(self="int32", other="int32", alpha=0.5),
        complex_for_floats=dict(self="float32", other="float32", alpha=1j),
        bool_for_floats=dict(self="float32", other="float32", alpha=True),
        too_large=dict(self="float32", other="float32", alpha=1e300),
        too_large_for_int8=dict(self="int8", other="int8", alpha=300),
        integer_for_floats=dict(self="float64", other="float64", alpha=3)),
)
