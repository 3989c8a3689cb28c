"""addcdiv: what its own clauses are checked by."""
from reftorch.ops.addcdiv import addcdiv

from ..chapter import Chapter
from ..families.calls import calls

chapter = Chapter(
    addcdiv,
    C1="E1",
    C2="E3",
    C3=calls(
        both_integral=dict(self="float32", tensor1="int64", tensor2="int32"),
        both_bool=dict(self="float32", tensor1="bool", tensor2="bool"),
        one_integral=dict(self="float32", tensor1="int64", tensor2="float32")),
    C4=calls(
        too_large=dict(self="float32", tensor1="float32", tensor2="float32", value=1e300),
        complex_for_floats=dict(self="float64", tensor1="float64", tensor2="float64", value=1j),
        integer=dict(self="float32", tensor1="float32", tensor2="float32", value=3)),
)
