"""where: what its own clauses are checked by."""
from reftorch.ops.where import where

from ..chapter import Chapter
from ..families.calls import calls

chapter = Chapter(
    where,
    C1="E3",
    C2=calls(
        uint8_condition=dict(condition="uint8", self="float32", other="float32"),
        float_condition=dict(condition="float32", self="float32", other="float32"),
        integer_condition=dict(condition="int64", self="float32", other="float32")),
    C3=calls(
        numbers=dict(condition="bool", self=1.5, other=2.5),
        number_too_large=dict(condition="bool", self="float32", other=1e300),
        number_too_large_for_float16=dict(condition="bool", self="float16", other=1e6),
        number_too_large_for_int8=dict(condition="bool", self="int8", other=300)),
    C4="O4",
)
