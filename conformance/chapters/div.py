"""div: what its own clauses are checked by."""
from reftorch.ops.div import div

from ..chapter import Chapter
from ..families.calls import calls

chapter = Chapter(
    div,
    C1="E1, E3",
    C2="E1",
    C3="E1, E3",
    C4="E1",
    C5=calls(
        truncated=dict(self="int32", other=0, rounding_mode="trunc"),
        floored=dict(self="int64", other=0, rounding_mode="floor")),
    C6=calls(
        unknown_mode=dict(self="float32", other="float32", rounding_mode="round"),
        complex_mode=dict(self="complex64", other="complex64", rounding_mode="floor"),
        bool_mode=dict(self="bool", other="bool", rounding_mode="trunc")),
    C7="P3",
    C8="E1",
)
