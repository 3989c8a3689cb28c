"""Wrong values: another formula, another rounding, and what happens to special numbers on the way."""
from __future__ import annotations

import numpy as np

from reftorch.dispatch.pointwise import BOOL, FLOATS, INTS
from reftorch.numerics.arith import absolute, copysign, fma, isnan, select, sqrt, trunc, truncdiv

from . import fault, wrong_formula
from .tools import editing, nudge, run_of

WIDE, NARROW = ("float32", "float64"), ("float16", "bfloat16")
TINY = 2.0 ** -126  # the smallest normal number of float32


# ---- another formula ----
@wrong_formula("addcmul", "E1", dtypes=FLOATS)
def two_roundings(self, tensor1, tensor2, value):
    """The product is rounded before it is added: s + (v*t1)*t2 in place of fma(v*t1, t2, s)."""
    return self + value * tensor1 * tensor2


@wrong_formula("addcdiv", "E1", dtypes=WIDE)
def one_rounding(self, tensor1, tensor2, value):
    """An FMA where there are two roundings: fma(v, t1/t2, s) in place of s + (v*t1)/t2."""
    return fma(value, tensor1 / tensor2, self)


@wrong_formula("mul", "E3", dtypes=FLOATS)
def product_added_to_zero(self, other):
    """The kernel is an FMA with a zero accumulator, so a product of -0 becomes +0."""
    return fma(self, other, 0)


@wrong_formula("addcmul", "E1", dtypes=WIDE)
def value_on_the_other_factor(self, tensor1, tensor2, value):
    """The FMA is grouped otherwise: fma(t1, v*t2, s) in place of fma(v*t1, t2, s)."""
    return fma(tensor1, value * tensor2, self)


@wrong_formula("add", "E1", dtypes=FLOATS + INTS)
def alpha_ignored(self, other, alpha):
    """alpha is accepted and not used."""
    return self + other + 0 * alpha


@wrong_formula("sub", "E1", dtypes=FLOATS + INTS)
def alpha_on_the_wrong_operand(self, other, alpha):
    """alpha multiplies input in place of other."""
    return alpha * self - other


@wrong_formula("sub", "E1", device="cuda", dtypes=("bfloat16",))
def alpha_rounded_too_early(self, other, alpha, R):
    """alpha is rounded to bfloat16, on a device that keeps it in float32."""
    return fma(-R(alpha), other, self)


@wrong_formula("addcmul", "E1", "E3", dtypes=FLOATS)
def value_compared_as_an_integer(self, tensor1, tensor2, value):
    """The short way for value 1 is taken for every value that truncates to 1."""
    return fma(select(trunc(value) == 1, 1, value) * tensor1, tensor2, self)


@wrong_formula("addcdiv", "E1", dtypes=("float64",), compiled=False)
def value_through_float32(self, tensor1, tensor2, value):
    """value passes through float32 on its way to a float64 kernel."""
    return self + np.float64(np.float32(value)) * tensor1 / tensor2


@wrong_formula("addcdiv", "E1", dtypes=FLOATS)
def operands_of_the_division_swapped(self, tensor1, tensor2, value):
    """tensor2 is divided by tensor1."""
    return self + value * tensor2 / tensor1


@wrong_formula("lerp", "E1", dtypes=FLOATS)
def lerp_without_the_switch(self, end, weight):
    """Every weight starts from input, as the formula in the documentation does."""
    return fma(weight, end - self, self)


@wrong_formula("lerp", "E1", dtypes=WIDE)
def lerp_switches_beyond_a_half(self, end, weight):
    """A weight of exactly 0.5 starts from input, not from end."""
    near = absolute(weight) <= 0.5
    return fma(select(near, weight, weight - 1), end - self, select(near, self, end))


@wrong_formula("lerp", "E1", dtypes=("bfloat16",))
def lerp_weight_rounded(self, end, weight, R):
    """A number as weight is rounded to bfloat16 first."""
    near = absolute(R(weight)) < 0.5
    return fma(select(near, R(weight), R(weight) - 1), end - self, select(near, self, end))


@wrong_formula("sub", "E1", dtypes=FLOATS + INTS)
def operands_of_sub_swapped(self, other, alpha):
    """other - alpha * input."""
    return other - alpha * self


@wrong_formula("copysign", "E1", dtypes=FLOATS)
def operands_of_copysign_swapped(self, other):
    """The magnitude of other with the sign of input."""
    return copysign(other, self)


@wrong_formula("where", "E1", dtypes=FLOATS)
def where_multiplies(condition, self, other):
    """Branchless selection, c*s + (1-c)*o: it is a sum, and NaN and infinities of the other operand leak."""
    chosen = select(condition, 1, 0 * self)
    return chosen * self + (1 - chosen) * other


@wrong_formula("clamp", "E1", dtypes=FLOATS + INTS)
def clamp_bounds_in_the_wrong_order(self, min, max):
    """The upper bound is applied first, so where min is above max the result is min."""
    low = select((self > max) | (max != max), max, self)
    return select((low < min) | (min != min), min, low)


@wrong_formula("sqrt", "E1", dtypes=WIDE)
def sqrt_by_reciprocal_root(self):
    """s * (1/sqrt(s)), which is one unit off for some values."""
    return select((self == 0) | (self == float("inf")), self, self * (1 / sqrt(self)))


@wrong_formula("rsqrt", "E1", dtypes=("float32",), compiled=False)
def rsqrt_in_double(self):
    """Computed in double precision and rounded once, where there are two roundings."""
    return (1 / np.sqrt(self.astype(np.float64))).astype(np.float32)


@wrong_formula("div", "E1", dtypes=WIDE, when={"rounding_mode": None})
def division_by_reciprocal(self, other):
    """s * (1/o): two roundings."""
    return self * (1 / other)


@wrong_formula("div", "E1", dtypes=INTS, when={"rounding_mode": "floor"})
def floor_rounds_toward_zero(self, other):
    """rounding_mode="floor" of integers truncates, as C's division does."""
    return truncdiv(self, other)


@wrong_formula("nextafter", "E1", dtypes=FLOATS)
def nextafter_is_the_identity(self, other):
    """No step is taken."""
    return self + 0 * select(isnan(other), other, 0)


@wrong_formula("nextafter", "E1", dtypes=("bfloat16",), compiled=False)
def nextafter_steps_in_float32(self, other):
    """bfloat16 steps to the next float32, which rounds back to where it was."""
    return np.nextafter(self, other)


@wrong_formula("eq", "E3", dtypes=("int64",), compiled=False)
def eq_compares_in_float32(self, other):
    """int64 is compared as float32, so large neighbours are equal."""
    return self.astype(np.float32) == np.asarray(other).astype(np.float32)


@wrong_formula("eq", "E1", dtypes=("complex64", "complex128"), compiled=False)
def eq_compares_real_parts(self, other):
    """Imaginary parts are not looked at."""
    return self.real == np.asarray(other).real


# ---- roundings ----
@wrong_formula("mul", "E1", dtypes=("bfloat16",), compiled=False)
def bfloat16_truncated(self, other):
    """The result's low bits are cut off: rounding toward zero."""
    return ((self * other).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


@wrong_formula("mul", "E1", dtypes=("bfloat16",), compiled=False)
def bfloat16_ties_away_from_zero(self, other):
    """Halfway cases go away from zero, not to even."""
    product = self * other
    return np.where(np.isfinite(product), (product.view(np.uint32) + np.uint32(0x8000) & np.uint32(0xFFFF0000)).view(
        np.float32), product)


@wrong_formula("mul", "E1", dtypes=("bfloat16",), compiled=False)
def bfloat16_rounded_twice(self, other):
    """The float32 result is rounded to 10 bits, then to bfloat16."""
    bits = (self * other).view(np.uint32)
    odd = bits >> np.uint32(13) & np.uint32(1)
    return np.where(np.isfinite(self * other), (bits + np.uint32(0xFFF) + odd & np.uint32(0xFFFFE000)).view(np.float32),
                    self * other)


@wrong_formula("mul", "E1", dtypes=("float32",), compiled=False)
def operands_rounded_to_tf32(self, other):
    """The operands lose 13 bits before they are multiplied."""
    return np.multiply(*((np.asarray(x, np.float32).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
                         for x in (self, other)))



# ---- special numbers ----
@wrong_formula("add", "E3", dtypes=WIDE)
def negative_zero_lost(self, other, alpha):
    """-0 + -0 is +0."""
    return fma(alpha, other, self) + 0


@wrong_formula("neg", "E3", dtypes=FLOATS)
def neg_subtracts_from_zero(self):
    """0 - s, so the negative of +0 is +0."""
    return 0 - self


@wrong_formula("abs", "E3", dtypes=FLOATS)
def abs_compares_with_zero(self):
    """s < 0 ? -s : s, which keeps the sign of -0."""
    return select(self < 0, -self, self)


@wrong_formula("reciprocal", "E3", dtypes=FLOATS)
def reciprocal_of_negative_zero(self):
    """1/-0 is +inf."""
    return 1 / select(self == 0, absolute(self), self)


@wrong_formula("copysign", "E3", dtypes=FLOATS)
def copysign_compares_with_zero(self, other):
    """The sign is taken by o < 0, so those of -0 and of NaN are lost."""
    return select(other < 0, -absolute(self), absolute(self))


@wrong_formula("sub", "E3", dtypes=WIDE)
def nan_lost(self, other, alpha):
    """NaN comes out as 0."""
    found = fma(-alpha, other, self)
    return select(isnan(found), 0, found)


@wrong_formula("div", "E3", dtypes=FLOATS, when={"rounding_mode": None})
def nan_becomes_infinity(self, other):
    """The exponent survives and the payload is lost, which makes NaN an infinity."""
    found = self / other
    return select(isnan(found), float("inf"), found)


@wrong_formula("addcdiv", "E3", dtypes=FLOATS)
def zero_over_zero_is_zero(self, tensor1, tensor2, value):
    """A protected division: 0/0 adds nothing."""
    return select((tensor1 == 0) & (tensor2 == 0), self, self + value * tensor1 / tensor2)


@wrong_formula("maximum", "E3", dtypes=FLOATS)
def maximum_ignores_nan(self, other):
    """C's fmax: a NaN loses against any number."""
    return select((self > other) | isnan(other), self, other)


@wrong_formula("minimum", "E3", dtypes=FLOATS)
def minimum_ignores_nan_on_the_left(self, other):
    """s < o ? s : o, as the minps instruction has it: NaN in input is lost."""
    return select(self < other, self, other)


@wrong_formula("maximum", "E3", device="cuda", dtypes=FLOATS)
def zeros_not_ordered(self, other):
    """On CUDA, the larger of -0 and +0 is the second operand."""
    return select((self > other) | isnan(self), self, other)


@wrong_formula("clamp", "E3", dtypes=FLOATS)
def clamp_ignores_nan_bounds(self, min):
    """A NaN bound is no bound."""
    return select(self < min, min, self)


@wrong_formula("sign", "E3", dtypes=FLOATS)
def sign_of_zero_is_one(self):
    """s < 0 ? -1 : 1."""
    return select(isnan(self), 0, select(self < 0, -1, copysign(1, absolute(self))))


@wrong_formula("sign", "E3", dtypes=FLOATS)
def sign_of_nan_is_nan(self):
    """NaN is its own sign."""
    return select((self > 0) | (self < 0), copysign(1, self), select(isnan(self), self, 0))


def _flushed(x):
    return select(absolute(x) < TINY, 0 * x, x)


@wrong_formula("mul", "E3", dtypes=("float32",))
def subnormal_inputs_are_zero(self, other):
    """DAZ: subnormal operands count as zeros."""
    return _flushed(self) * _flushed(other)


@wrong_formula("div", "E3", dtypes=("float32",), when={"rounding_mode": None})
def subnormal_results_are_zero(self, other):
    """FTZ: subnormal results are flushed to zeros."""
    return _flushed(self / other)


@wrong_formula("add", "E3", dtypes=("bfloat16",))
def subnormal_bfloat16_is_zero(self, other, alpha, R):
    """Widening treats subnormal codes as zeros."""
    return fma(R(alpha), _flushed(other), _flushed(self))


@wrong_formula("mul", "E3", dtypes=("float16",))
def float16_saturates(self, other):
    """Results beyond 65504 stop there."""
    found = self * other
    return select(found > 65504, 65504, select(found < -65504, -65504, found))


@wrong_formula("sqrt", "E1", dtypes=("complex64",), compiled=False)
def complex_sqrt_on_the_other_sheet(self):
    """The root with a negative real part."""
    return -np.sqrt(self)


@wrong_formula("abs", "E1", dtypes=("complex64",), compiled=False, alone=True)
def naive_hypotenuse(self):
    """sqrt(x*x + y*y), which overflows and underflows early."""
    x, y = self.real, self.imag
    return np.sqrt(x * x + y * y)


# ---- integers ----
@wrong_formula("add", "E1", "E3", dtypes=("int64",), compiled=False)
def integers_saturate(self, other, alpha):
    """A sum that does not fit stops at the largest or smallest integer."""
    addend = np.int64(alpha) * other
    total, limits = self + addend, np.iinfo(np.int64)
    return np.where((self ^ total) & (addend ^ total) < 0, np.where(self < 0, limits.min, limits.max), total)


@wrong_formula("sub", "E1", "E3", dtypes=("int64",), compiled=False)
def integers_through_float64(self, other, alpha):
    """Integers are subtracted in float64, so differences of large ones lose their low bits."""
    rounded = self.astype(np.float64) - np.float64(alpha) * np.asarray(other, np.float64)
    fits = np.abs(rounded) < 2.0 ** 62
    return np.where(fits, np.where(fits, rounded, 0).astype(np.int64), self - np.int64(alpha) * other)


@wrong_formula("abs", "E3", dtypes=("int64",), alone=True)
def abs_of_the_smallest_integer(self):
    """|-2**63| saturates to 2**63 - 1."""
    size = absolute(self)
    return select(size < 0, -(size + 1), size)


@wrong_formula("neg", "E1", dtypes=("uint8",))
def negative_of_unsigned_is_zero(self):
    """The negative of an unsigned integer saturates to 0."""
    return 0 * self


@wrong_formula("add", "E1", dtypes=BOOL, compiled=False)
def sum_of_bools_is_their_parity(self, other, alpha):
    """True + True is False."""
    return self ^ np.bool_(alpha) & other


@fault("add", "E1", dtypes=BOOL)
def sum_of_bools_is_stored_as_two():
    """True + True writes the byte 2, which is no bool."""
    def edit(result, self, other=None):
        if other is not None:
            result.view(np.uint8)[...] = self.view(np.uint8) + other.view(np.uint8)
    return editing("add", edit)


# ---- values that depend on the place ----
@fault("sqrt", "E2", dtypes=WIDE)
def tail_one_ulp_off():
    """The elements that do not fill a vector of 8 are computed by other code, one unit off."""
    return editing("sqrt", lambda result, *operands: nudge(run_of(result)[result.size // 8 * 8:]))


@fault("rsqrt", "E2", dtypes=WIDE)
def body_one_ulp_off():
    """Complete blocks of 16 elements are computed by other code, one unit off, if there are 64 or more."""
    return editing("rsqrt", lambda result, *operands: nudge(run_of(result)[:result.size // 16 * 16])
                   if result.size % 64 else None)


@fault("mul", "E2", dtypes=("float32",), alone=True)
def last_of_many_one_ulp_off():
    """Beyond 32768 elements, the second thread is one unit off."""
    return editing("mul", lambda result, *operands: nudge(run_of(result)[32768:]))


@fault("reciprocal", "E2", dtypes=("float32",))
def misaligned_one_ulp_off():
    """Data that does not begin on a multiple of 16 bytes takes another way, one unit off."""
    def edit(result, self):
        if self.ctypes.data % 16:
            nudge(result)
    return editing("reciprocal", edit)


@fault("neg", "E2", dtypes=("bfloat16",))
def odd_count_one_ulp_off():
    """16-bit elements are handled in pairs; the last of an odd number is one unit off."""
    return editing("neg", lambda result, *operands: nudge(run_of(result)[-1:]) if result.size % 2 else None)


@fault("where", "E2", "S2")
def condition_inverted_in_one_lane():
    """Of every 8 elements, the sixth looks at the condition the wrong way round."""
    def edit(result, condition=None, self=None, other=None):
        if other is not None:
            result.reshape(-1)[5::8] = np.where(condition, other, self).reshape(-1)[5::8]
    return editing("where", edit)
