"""abs: what its own clauses are checked by."""
from reftorch.ops.abs import abs as operator

from ..chapter import Chapter
from ..families.calls import calls

chapter = Chapter(
    operator,
    C1="E1, E3",
    C2="E1",
    C3=calls(complex_in_place=dict(self="complex64", form="in-place")),
    C4="O4",
)
