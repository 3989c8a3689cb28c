"""Wrong on another device: where the result lies, who computed it, and which tensors may meet."""
from __future__ import annotations

from reftorch.core.device import as_device
from reftorch.core.spec import spec_version
from reftorch.dispatch import pointwise
from reftorch.numerics.arith import fma, select

from . import fault, operator, wrong_call, wrong_formula
from .tools import setting


@wrong_call("add", "V1", device="cuda")
def result_stays_on_the_host(call, case, **tensors):
    """An operator that the device lacks is computed on the CPU, and the result stays there."""
    if case.form != "functional":
        return call(**tensors)
    return call(**{n: t.cpu() for n, t in tensors.items()})


@fault("addcdiv", "E1", device="cuda")
def computed_on_the_host():
    """A silent fallback: the CPU computes, with its own formula, and the result is moved to the device."""
    return _legal_on("addcdiv", "cpu")


@fault("addcmul", "E1", device="cuda")
def formula_of_an_older_release():
    """The device computes as in 2.11, whatever the release."""
    return _legal_on("addcmul", "cuda", "2.11")


def _legal_on(op, device, version=None):
    """The operator computes what is legal on that device in that release."""
    owner = operator(op)

    def select_(args, common, where):
        given = [*owner.operands(args), *(p.name for p in owner.parameters if p.is_number)]
        return owner.legal_formulas(given, {}, common.category, common.name, device, "eager", version or spec_version())[0]
    return setting(owner, select=select_)


@wrong_formula("addcmul", "E1", device="cuda", dtypes=("float32", "float64"))
def unit_value_not_apart(self, tensor1, tensor2, value):
    """The device has no short way for value 1: fma(v, t1*t2, s) for every value."""
    return fma(value, tensor1 * tensor2, self)


@wrong_formula("addcmul", "E1", device="cuda", dtypes=("float32", "float64"))
def short_way_for_minus_one_too(self, tensor1, tensor2, value):
    """The short way for value 1 is taken for -1 too, and for everything between."""
    return select(value * value <= 1, fma(value * tensor1, tensor2, self), fma(value, tensor1 * tensor2, self))


@fault("mul", "V1", device="cuda")
def host_tensors_accepted():
    """CPU tensors with dimensions are copied to the device in silence."""
    return setting(pointwise, _common_device=lambda name, tensors: next(
        (t.device for t in tensors if t.device.type != "cpu"), tensors[0].device if tensors else as_device("cpu")))


@fault("sub", "V1", device="cuda", alone=True)
def host_scalars_refused():
    """A 0-dim CPU tensor may not meet a tensor on the device."""
    right = pointwise._common_device

    def strict(name, tensors):
        where = right(name, tensors)
        for t in tensors:
            if t.device is not where:
                raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                                   f"{where} and {t.device}!")
        return where
    return setting(pointwise, _common_device=strict)


@fault("maximum", "V1", device="cuda")
def results_on_the_second_device_of_two():
    """A 0-dim CPU tensor that comes first decides where the result lies."""
    right = pointwise._common_device
    return setting(pointwise, _common_device=lambda name, tensors: tensors[0].device
                   if tensors and not tensors[0].ndim else right(name, tensors))
