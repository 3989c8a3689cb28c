"""maximum: what its own clauses are checked by."""
from reftorch.ops.maximum import maximum

from ..chapter import Chapter

chapter = Chapter(
    maximum,
    C1="E3",
    C2="E3",
    C3="X1",
    C4="D1",
)
