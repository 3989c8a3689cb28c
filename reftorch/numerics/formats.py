"""Floating-point formats, one exact scalar specification for all of them.

A format is data: a `FloatFormat` knows its field widths and its special values, `decode` gives the exact
value of a code and `encode` the code of an exact value. Both use integers and fractions only, so they are the
specification; `reftorch.numerics.codes` holds the fast array twins, and the tests prove the two equal.

Source of the conversion rules: the constructors of c10's number types (in the torch 2.13 wheel under
`torch/headeronly/util`: `BFloat16.h`, `Half.h`, `Float8_*.h`). Where c10 departs from plain IEEE rounding,
the field or method concerned says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

# A Fraction holds every finite value but negative zero; that one, the infinities and NaN are Python floats.
Value = Fraction | float


@dataclass(frozen=True)
class FloatFormat:
    """A binary floating-point format, named as PyTorch names the dtype.

    name: PyTorch's name of the dtype.
    exponent_bits, mantissa_bits: widths of the stored fields; a normal number's leading one is not stored.
    bias: what is subtracted from the exponent field.
    specials: which codes are not finite numbers.
        "ieee"  the top exponent is reserved: mantissa 0 is an infinity, every other mantissa a NaN
        "fn"    no infinities; all-ones exponent and mantissa is NaN
        "fnuz"  no infinities, no negative zero; the code of negative zero is the only NaN
        "none"  every code is a finite number
        "e8m0"  an unsigned power of two: no zero, no subnormals, all ones is NaN
    overflow: what an infinity, or a value that rounds beyond `max_finite`, becomes.
    default_nan: the code c10's scalar conversion gives for NaN, None where the format has none.
    nan_keeps_sign: whether that conversion keeps the sign bit of a NaN.
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    specials: Literal["ieee", "fn", "fnuz", "none", "e8m0"]
    overflow: Literal["inf", "saturate", "nan"]
    default_nan: int | None
    nan_keeps_sign: bool = False

    @cached_property
    def signed(self) -> bool:
        """Whether the top bit of a code is a sign."""
        return self.specials != "e8m0"

    @cached_property
    def bits(self) -> int:
        """Width of a code in bits."""
        return self.signed + self.exponent_bits + self.mantissa_bits

    @cached_property
    def sign_mask(self) -> int:
        """The sign bit of a code, 0 in an unsigned format."""
        return 1 << (self.bits - 1) if self.signed else 0

    @cached_property
    def has_inf(self) -> bool:
        """Whether the format has infinities."""
        return self.specials == "ieee"

    @cached_property
    def has_negative_zero(self) -> bool:
        """Whether zero has a sign."""
        return self.specials in ("ieee", "fn", "none")

    @cached_property
    def max_code(self) -> int:
        """The code of the largest finite number."""
        codes = 1 << (self.exponent_bits + self.mantissa_bits)  # magnitudes
        if self.specials == "ieee":
            return codes - (1 << self.mantissa_bits) - 1
        return codes - 2 if self.specials in ("fn", "e8m0") else codes - 1

    @cached_property
    def inf_code(self) -> int:
        """The code of positive infinity; only meaningful where `has_inf`."""
        return self.max_code + 1

    @cached_property
    def eps(self) -> Fraction:
        """The distance from 1 to the next larger number (`torch.finfo.eps`)."""
        return Fraction(1, 1 << self.mantissa_bits)

    @cached_property
    def unit_roundoff(self) -> Fraction:
        """The largest relative error of one rounding to nearest in the normal range, eps / 2."""
        return self.eps / 2

    @cached_property
    def min_normal(self) -> Fraction:
        """The smallest positive normal number (`torch.finfo.smallest_normal`)."""
        return _power_of_two(-self.bias if self.specials == "e8m0" else 1 - self.bias)

    @cached_property
    def min_subnormal(self) -> Fraction:
        """The smallest positive number."""
        return self.min_normal if self.specials == "e8m0" else self.min_normal * self.eps

    @cached_property
    def max_finite(self) -> Fraction:
        """The largest finite number (`torch.finfo.max`)."""
        return Fraction(self.decode(self.max_code))

    def is_nan(self, code: int) -> bool:
        """Whether `code` is a NaN."""
        if self.specials == "fnuz":
            return code == self.sign_mask
        return (code & ~self.sign_mask) > self.max_code + self.has_inf

    def decode(self, code: int) -> Value:
        """The exact value of `code`: a Fraction, or -0.0, inf, -inf or nan as a Python float.

        Raises ValueError for an integer that is no code of this format.
        """
        if not 0 <= code < 1 << self.bits:
            raise ValueError(f"{code} is not a code of {self.name}, which has {self.bits} bits")
        if self.is_nan(code):
            return math.nan
        if self.specials == "e8m0":
            return _power_of_two(code - self.bias)
        negative = bool(code & self.sign_mask)
        magnitude = code & ~self.sign_mask
        if magnitude > self.max_code:
            return -math.inf if negative else math.inf
        if magnitude == 0:
            return -0.0 if negative else Fraction(0)
        exponent, mantissa = divmod(magnitude, 1 << self.mantissa_bits)
        if exponent == 0:
            exponent = 1  # subnormal: the scale of the smallest normal numbers, without the leading one
        else:
            mantissa += 1 << self.mantissa_bits
        value = mantissa * _power_of_two(exponent - self.bias - self.mantissa_bits)
        return -value if negative else value

    def encode(self, value: Value | int) -> int:
        """The code nearest to `value`, ties to the even code.

        `value` is exact: a Fraction, an int or a Python float (NaN, infinities and negative zero included).
        One rounding is made here. PyTorch first rounds a double to float32 when the target has 16 bits or
        fewer; `codes.round_to` does so too. Raises ValueError for NaN where the format has none.
        """
        if isinstance(value, float) and math.isnan(value):
            if self.default_nan is None:
                raise ValueError(f"{self.name} has no NaN")
            keep = self.nan_keeps_sign and math.copysign(1.0, value) < 0
            return self.default_nan | (self.sign_mask if keep else 0)
        negative = value < 0 or (isinstance(value, float) and math.copysign(1.0, value) < 0)
        if isinstance(value, float) and math.isinf(value):
            return self._overflow(negative)
        magnitude = abs(Fraction(value))
        code = self._nearest_power(magnitude) if self.specials == "e8m0" else self._nearest(magnitude)
        if code > self.max_code:
            return self._overflow(negative)
        if code == 0 and not self.has_negative_zero:
            return 0
        return code | (self.sign_mask if negative else 0)

    def round(self, value: Value | int) -> Value:
        """`value` rounded once to this format: `decode(encode(value))`."""
        return self.decode(self.encode(value))

    def _nearest(self, magnitude: Fraction) -> int:
        """The code of a non-negative value, as if the exponent field had no upper end."""
        if magnitude == 0:
            return 0
        exponent = max(floor_log2(magnitude), 1 - self.bias)
        units = round(magnitude / _power_of_two(exponent - self.mantissa_bits))  # Python rounds ties to even
        # A normal number has the leading one in `units`, which adds the last unit of its exponent field;
        # rounding up to the next power of two carries into the field by itself.
        return ((exponent + self.bias - 1) << self.mantissa_bits) + units

    def _nearest_power(self, magnitude: Fraction) -> int:
        """c10's rounding to a power of two, which ignores the sign.

        With no stored mantissa every normal number counts as odd, so a tie (1.5 * 2**k) goes up. Below
        2**-126 c10 rounds float32's exponent field as if code 0 stood for zero and 2**-127 for the tie, so
        all of (2**-127, 2**-126) becomes 2**-126, although the lower half is nearer to 2**-127.
        """
        if magnitude <= self.min_normal:
            return 0
        if magnitude < 2 * self.min_normal:
            return 1
        exponent = floor_log2(magnitude)
        return exponent + self.bias + (2 * magnitude >= 3 * _power_of_two(exponent))

    def _overflow(self, negative: bool) -> int:
        if self.overflow == "nan":
            return self.encode(-math.nan if negative else math.nan)
        code = self.inf_code if self.overflow == "inf" else self.max_code
        return code | (self.sign_mask if negative else 0)


def _power_of_two(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def floor_log2(value: Fraction) -> int:
    """The exponent e with 2**e <= value < 2**(e + 1), for a positive value."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent if value >= _power_of_two(exponent) else exponent - 1


FORMATS: dict[str, FloatFormat] = {
    spec.name: spec
    for spec in (
        FloatFormat("float64", 11, 52, 1023, "ieee", "inf", 0x7FF8000000000000, nan_keeps_sign=True),
        FloatFormat("float32", 8, 23, 127, "ieee", "inf", 0x7FC00000, nan_keeps_sign=True),
        FloatFormat("float16", 5, 10, 15, "ieee", "inf", 0x7E00, nan_keeps_sign=True),
        FloatFormat("bfloat16", 8, 7, 127, "ieee", "inf", 0x7FC0),
        FloatFormat("float8_e5m2", 5, 2, 15, "ieee", "inf", 0x7F, nan_keeps_sign=True),
        # torch 2.13. Up to 2.12 this conversion overflowed to NaN: dataclasses.replace(..., overflow="nan").
        FloatFormat("float8_e4m3fn", 4, 3, 7, "fn", "saturate", 0x7F, nan_keeps_sign=True),
        FloatFormat("float8_e5m2fnuz", 5, 2, 16, "fnuz", "nan", 0x80),
        FloatFormat("float8_e4m3fnuz", 4, 3, 8, "fnuz", "nan", 0x80),
        FloatFormat("float8_e8m0fnu", 8, 0, 127, "e8m0", "nan", 0xFF),
        # torch stores this one, two codes a byte, but converts nothing to it; saturation is the OCP MX rule.
        FloatFormat("float4_e2m1fn", 2, 1, 1, "none", "saturate", None),
    )
}
