"""Floats as data: formats, rounding, exact primitives, ulp distances and error bounds. NumPy only.

    formats  every format as data, with exact scalar conversions: the specification
    codes    the same conversions on arrays
    arith    the names a formula may use, `PRIMITIVES`
    exact    rational evaluation and correct rounding, for audits
    ulp      how far apart two results are, and whether they are the same bits
    bounds   derived error bounds for what is not defined bit for bit

This layer knows nothing of tensors and imports nothing else of the project.
"""

from reftorch.numerics.arith import PRIMITIVES
from reftorch.numerics.codes import round_to
from reftorch.numerics.formats import FORMATS, FloatFormat
from reftorch.numerics.ulp import same_bits, ulp_distance, worst

__all__ = ["FORMATS", "PRIMITIVES", "FloatFormat", "round_to", "same_bits", "ulp_distance", "worst"]
