"""clamp: what its own clauses are checked by."""
from reftorch.ops.clamp import clamp

from ..chapter import Chapter
from ..families.calls import calls

chapter = Chapter(
    clamp,
    C1="E1",
    C2="E3",
    C3="E3",
    C4=calls(
        too_large=dict(self="float32", min=1e300),
        too_large_for_int8=dict(self="int8", max=300),
        float_bound_of_integers=dict(self="int32", min=0.5),
        tensor_and_number=dict(self="float32", min="float32", max=1.0)),
    C5=calls(
        no_bound=dict(self="float32"),
        complex_input=dict(self="complex64", min=0.0)),
    C6="O4",
    C7="D1",
)
