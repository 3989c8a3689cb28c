"""addcmul: what its own clauses are checked by."""
from reftorch.ops.addcmul import addcmul

from ..chapter import Chapter
from ..families.calls import calls

chapter = Chapter(
    addcmul,
    C1="E1",
    C2="E3",
    C3=calls(
        value_with_a_fraction=dict(self="int32", tensor1="int32", tensor2="int32", value=2.75),
        negative=dict(self="int64", tensor1="int64", tensor2="int64", value=-1.5)),
    C4=calls(
        too_large=dict(self="float32", tensor1="float32", tensor2="float32", value=1e300),
        complex_for_floats=dict(self="float64", tensor1="float64", tensor2="float64", value=1j),
        integer=dict(self="float32", tensor1="float32", tensor2="float32", value=3)),
    C5="V1",
)
