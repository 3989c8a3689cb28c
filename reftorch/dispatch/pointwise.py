"""Pointwise operators: out[i] = formula(a[i], b[i], ...), the family that all of this library's operators so far share.

A call goes: promotion -> common shape -> output strides -> legal formula -> launcher of the device's backend. All of
that depends only on the Metas of the tensors and the types of the numbers, so it is worked out once and remembered
as a plan; later calls take the plan and launch.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from ..core import dtype as dtypes
from ..core.device import device
from ..core.dtype import dtype
from ..core.layout import Layout, broadcast_shapes, expand_strides
from ..core.meta import Meta
from ..core.pointwise_layout import pointwise_output_strides, preserve_format
from ..core.promotion import can_cast, common_type
from ..core.spec import on_version_change
from ..core.tensor import Tensor
from . import boundary
from .cast import clone_of, compute_type, copy_into, may_overlap, read_only_overlap, writable
from .mode import through_modes
from .operator import FUNCTIONAL, INPLACE, OUT, Formula, Handle, Operator
from .plan import Recipe, number_as_tensor, operand_converter, tensor_converter
from .scalar import number_converter
from .state import state
from .view import refuse_inference_tensor

BOOL = ("bool",)
INTS = ("uint8", "int8", "int16", "int32", "int64")
UNSIGNED = ("uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEXES = ("complex64", "complex128")

Run = Callable[..., Tensor]


class Pointwise(Operator):
    """An operator that works element by element.

    kernel: the kernel's name in PyTorch's error texts, or a function of the arguments by name that gives it.
    types: the dtypes it computes on. int_to_float: whether integers and bool become the default dtype first, or a
    function of the arguments by name. result: the output dtype as a function of the computing dtype.
    conditions: bool operands, which take no part in promotion; apart: operands of which numbers take none.
    opmath: operands that a Python number or 0-dim CPU tensor enters unrounded, in the compute type.
    scalars: operands for which a number is a Scalar, which must fit, rather than a 0-dim tensor, which may wrap;
    lenient: dtypes for which it need not.
    """

    def __init__(self, *schemas: str, kernel: str | Callable[..., str], types: Sequence[str],
                 int_to_float: bool | Callable[..., bool] = False, result: Callable[[dtype], dtype] = lambda d: d,
                 conditions: Sequence[str] = (), apart: Sequence[str] = (), opmath: Sequence[str] = (),
                 scalars: Sequence[str] = (), lenient: Sequence[str] = (), **forms: Any):
        super().__init__(*schemas, **forms)
        self.kernel, self.types, self.int_to_float, self.result = kernel, tuple(types), int_to_float, result
        self.conditions, self.apart, self.opmath = conditions, apart, opmath
        self.scalars, self.lenient = scalars, lenient
        self.last_checks: list[Callable[..., None]] = []
        self.target_checks: list[Callable[..., None]] = []
        self.guards: list[Callable[..., Callable[..., None] | None]] = []
        self.number_indices = [i for i, p in enumerate(self.parameters) if p.is_number]
        # What is known of earlier calls, by `key`; plans_out by key and the target's Meta. plain_plans are of calls
        # with all numbers and options at their defaults, and by operands only.
        self.plans: dict[tuple[Any, ...], Run] = {}
        self.plain_plans: dict[tuple[Any, ...], Run] = {}
        self.plans_in_place: dict[tuple[Any, ...], Callable[..., None]] = {}
        self.plans_out: dict[tuple[Any, ...], Callable[..., None]] = {}
        self.self_index = next(i for i, p in enumerate(self.parameters) if p.name == "self")
        on_version_change(self.forget)
        dtypes.on_default_change(self.forget)
        from .bind import bind  # bind needs the class
        bind(self)

    def forget(self) -> None:
        for plans in (self.plans, self.plain_plans, self.plans_in_place, self.plans_out):
            plans.clear()

    # ---- what an operator's file adds to an Operator's ----
    def check_last(self, function: Callable[..., None]) -> Callable[..., None]:
        """Decorator: an error clause like those of `check`, that shapes, promotion and casts take precedence over."""
        self.last_checks.append(function)
        return function

    def check_target(self, function: Callable[..., None]) -> Callable[..., None]:
        """Decorator: an error clause about what is written to: function(target, result, in_place, **args), where
        `result` is the dtype of the functional result."""
        self.target_checks.append(function)
        return function

    def guard(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: an error clause that looks at values. function(common, where, **args) is called once for a plan
        and returns a function of the arguments in order, to be called before each launch, or None."""
        self.guards.append(function)
        return function

    # ---- metadata: what the result is, without computing it ----
    def computes_in(self, args: dict[str, Any]) -> dtype:
        """The dtype that the operands are converted to."""
        to_float = self.int_to_float if isinstance(self.int_to_float, bool) else self.int_to_float(**args)
        return common_type([v for k, v in self.operands(args).items() if k not in self.conditions
                            and (k not in self.apart or isinstance(v, Tensor))], to_float)

    def operands(self, args: dict[str, Any]) -> dict[str, Any]:
        return {p.name: args[p.name] for p in self.parameters if p.is_operand and args[p.name] is not None}

    def meta(self, /, **args: Any) -> Meta:
        """dtype, device, sizes and strides of the result of a functional call, or the error it raises."""
        self._check(args)
        return self._meta(args)

    def _check(self, args: dict[str, Any]) -> None:
        _check_types(self, args)
        for check in self.checks:
            check(**args)

    def _meta(self, args: dict[str, Any], into: bool = False) -> Meta:
        operands = self.operands(args)
        where = _common_device(self.name, [v for v in operands.values() if isinstance(v, Tensor)])
        shape = broadcast_shapes(*(v.shape for v in operands.values() if isinstance(v, Tensor)))
        common = self.computes_in(args)
        # A number that is a Scalar has no geometry; where() makes 0-dim tensors of its numbers all the same.
        geometry = [_promoted_geometry(v, dtypes.bool_ if k in self.conditions else common)
                    for k, v in operands.items() if isinstance(v, Tensor) or k not in self.scalars or self.conditions]
        result = self.result(common)
        if len(geometry) == 1 and common.is_complex and not result.is_complex and not into:  # abs: made by empty_like
            return Meta.of(result, where, Layout.of(shape, preserve_format(*geometry[0])))
        return Meta.of(result, where, Layout.of(shape, pointwise_output_strides(geometry)))

    def refuse_dtype(self, args: dict[str, Any], common: dtype) -> None:
        """Raises NotImplementedError, as PyTorch's kernels do, if nothing computes on `common`.

        The last checks come first.
        """
        for check in self.last_checks:
            check(**args)
        if common.name not in self.types or not any(self._fitting(args, common)):
            kernel = self.kernel if isinstance(self.kernel, str) else self.kernel(**args)
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{common.scalar_type}'")

    # ---- calls ----
    key: Callable[..., tuple[Any, ...]]  # key(*args): what plans depend on, each tensor's Meta and each number's type

    def call(self, args: tuple[Any, ...], out: Tensor | None = None, form: str = FUNCTIONAL) -> Tensor:
        if not _PLAIN.issuperset(map(type, args)) or self.number_indices and any(
                [isinstance(args[i], Tensor) for i in self.number_indices]):
            args = self._plain(args)
        if out is not None:
            form = OUT
            if not isinstance(out, Tensor):
                raise TypeError(f"{self.name}(): argument 'out' must be Tensor, not {_type_name(out)}")
        if state.modes:
            return cast(Tensor, through_modes(Handle(self, form), args, {} if out is None else {"out": out}))
        key = self.key(*args)
        tracked = state.grad_enabled and any(
            a._autograd is not None for a in args if isinstance(a, Tensor)) and not state.inference
        if form is FUNCTIONAL:
            try:
                run = self.plans[key]
            except (KeyError, TypeError):
                run = self._plan(args, key)
            result: Tensor = run(*args)
            if state.inference:
                result._vc = None
            elif tracked:
                boundary.record(self, args, result, form)
            return result
        target: Any = args[self.self_index] if form is INPLACE else out
        pending = None
        if form is INPLACE:
            if tracked:
                pending = boundary.before_write(self, args, target)
        elif self.result(dtypes.float32).is_floating_point and state.grad_enabled and not state.inference and (
                tracked or target._autograd is not None):
            raise RuntimeError(f"{self.name}(): functions with out=... arguments don't support automatic "
                               "differentiation, but one of the arguments requires grad.")
        refuse_inference_tensor(target)
        self._write(args, key, target, form)
        if target._vc is not None:
            target._vc[0] += 1
        if pending is not None:
            boundary.after_write(pending, target)
        return cast(Tensor, target)

    def _write(self, args: tuple[Any, ...], key: tuple[Any, ...], target: Any, form: str) -> None:
        """Compute into `target`, after the checks that PyTorch makes of a written-to tensor."""
        sources = [a for a in args if isinstance(a, Tensor) and a is not target and isinstance(target, Tensor)
                   and a._storage is target._storage]
        if sources:  # before shapes, as TensorIterator does
            read_only_overlap(target, sources)
        plans, full = (self.plans_in_place, key) if form is INPLACE else (self.plans_out, (*key, target._meta))
        into = plans.get(full) if isinstance(target, Tensor) else None
        if into is None:
            into = self._plan_into(args, key, target, form)
        if sources:
            args = tuple(clone_of(a) if isinstance(a, Tensor) and may_overlap(target, a) else a for a in args)
        into(target, *args)

    def _plain(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments with NumPy scalars, and 0-dim tensors that stand for numbers, as Python numbers."""
        _check_types(self, self.bound(args))
        return tuple(a.item() if isinstance(a, np.generic) or i in self.number_indices and isinstance(a, Tensor) else a
                     for i, a in enumerate(args))

    # ---- plans ----
    def _plan(self, args: tuple[Any, ...], key: tuple[Any, ...]) -> Run:
        bound = self.bound(args)
        meta = self.meta(**bound)
        recipe = self._recipe(bound, meta)
        run = _remember(self.plans, key, recipe.run(meta))
        options = {p.name: p.default for p in self.parameters if not p.is_operand}
        if key == self.key(*[options.get(k, v) for k, v in bound.items()]):
            operands = [i for i, p in enumerate(self.parameters) if p.is_operand]
            _remember(self.plain_plans, tuple(key[i] for i in operands), recipe.run(meta, options) if options else run)
        return run

    def _plan_into(self, args: tuple[Any, ...], key: tuple[Any, ...], target: Any,
                   form: str) -> Callable[..., None]:
        bound = self.bound(args)
        self._check(bound)
        writable(target)
        meta = self._meta(bound, into=True)
        size = meta.layout.size
        if form is INPLACE and target.shape != size:
            raise RuntimeError(f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(size)}")
        for check in self.target_checks:
            check(target, meta.dtype, form is INPLACE, **bound)
        if not can_cast(meta.dtype, target.dtype):
            raise RuntimeError(f"result type {meta.dtype.scalar_type} can't be cast to the desired output type "
                               f"{target.dtype.scalar_type}")
        if target.device is not meta.device:
            raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                               f"{meta.device} and {target.device}!")
        if target.shape != size:
            resize_output(target, size, meta.layout.stride)
        if meta.dtype is target.dtype:
            into = self._recipe(bound, target._meta).into()
        else:
            run = self._recipe(bound, meta).run(meta)

            def into(target: Tensor, *args: Any) -> None:
                copy_into(target, run(*args))
        if form is INPLACE:
            return _remember(self.plans_in_place, key, into)
        return _remember(self.plans_out, (*key, target._meta), into)

    def _recipe(self, args: dict[str, Any], meta: Meta) -> Recipe:
        """How to convert the arguments and run the kernel. `meta`: of what is written to."""
        common = self.computes_in(args)
        self.refuse_dtype(args, common)
        operands, where, size = self.operands(args), meta.device, meta.layout.size
        formula, compute = self.select(args, common, where), compute_type(common)
        last_tensor = max((i for i, n in enumerate(formula.parameters) if isinstance(args[n], Tensor)), default=-1)
        recipe = Recipe([p.name for p in self.parameters])
        in_types, compute_types, scalar_types, strides = [], [], [], [meta.layout.stride]
        for position, name in enumerate(formula.parameters):
            value = args[name]
            if name not in operands:  # a Number parameter: alpha, value
                recipe.number(name, number_converter(common if formula.rounds_inside else compute, common))
                scalar_types.append(compute.name)
                continue
            is_tensor = isinstance(value, Tensor)
            kept = name in self.opmath and (not is_tensor or name not in self.scalars and not value.ndim
                                            and value.device.type == "cpu" and meta.layout.ndim)
            to = dtypes.bool_ if name in self.conditions else compute if kept else common
            strict = name in self.scalars and common.name not in self.lenient
            convert = number_converter(to, common) if strict else operand_converter(to)
            if not is_tensor and position > last_tensor:
                recipe.number(name, convert)
                scalar_types.append(compute_type(to).name)
                continue
            layout = value._meta.layout if is_tensor else Layout.of(())
            if not is_tensor:
                recipe.tensor(name, number_as_tensor(to, where, convert))
            elif value.dtype is to and value.device is where:
                recipe.tensor(name)
            else:
                recipe.tensor(name, tensor_converter(to, where))
                layout = Layout.of(layout.size, preserve_format(layout.size, layout.stride))
            in_types.append(to.name)
            compute_types.append(compute_type(to).name)
            strides.append(expand_strides(layout, size))
        if meta.layout.numel:
            for make in self.guards:
                if (refuse := make(common, where, **args)) is not None:
                    recipe.guard(refuse)
            recipe.kernel = where.backend.pointwise(formula.function, in_types, meta.dtype.name, compute_types,
                                                    scalar_types, size, strides)
        return recipe

    def _prepare(self, args: dict[str, Any], meta: Meta) -> Callable[[int, tuple[Any, ...]], None]:
        """A function launch(out_ptr, args) that converts the arguments and runs the kernel."""
        return self._recipe(args, meta).launch()

    def _fitting(self, args: dict[str, Any], common: dtype) -> Iterator[Formula]:
        given = [*self.operands(args), *(p.name for p in self.parameters if p.is_number)]
        options = {p.name: args[p.name] for p in self.parameters if not p.is_operand and not p.is_number}
        return self.formulas_for(given, options, common.category, common.name)

    def select(self, args: dict[str, Any], common: dtype, where: device) -> Any:
        """The formula that this library computes the call with. Raises NotImplementedError if none is legal there."""
        given = [*self.operands(args), *(p.name for p in self.parameters if p.is_number)]
        options = {p.name: args[p.name] for p in self.parameters if not p.is_operand and not p.is_number}
        legal = self.legal_formulas(given, options, common.category, common.name, where.type)
        if not legal:
            raise NotImplementedError(f"{self.name}: no formula is specified for {common} on {where.type}")
        return legal[0]


_Plan = TypeVar("_Plan")
_PLAIN = {Tensor, bool, int, float, complex, str, type(None)}


def _remember(plans: dict[tuple[Any, ...], _Plan], key: tuple[Any, ...], plan: _Plan) -> _Plan:
    if len(plans) > 4096:
        plans.clear()
    plans[key] = plan
    return plan


def exact_out(target: Tensor, result: dtype, in_place: bool, **args: Any) -> None:
    """For check_target: out= must have the result's dtype, as PyTorch has it for what does not promote."""
    if target.dtype is not result and not in_place:
        raise RuntimeError(f"Found dtype {target.dtype.scalar_type} but expected {result.scalar_type}")


def resize_output(target: Tensor, size: Sequence[int], stride: Sequence[int]) -> None:
    """Give an out= tensor the result's shape, with PyTorch's warning if it had elements.

    Source: at::native::resize_output.
    """
    if target.numel():
        warnings.warn(f"An output with one or more elements was resized since it had shape {list(target.shape)}, which "
                      f"does not match the required output shape {list(size)}. This behavior is deprecated, and in a "
                      "future PyTorch release outputs will not be resized unless they have zero elements. You can "
                      "explicitly reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
                      UserWarning, stacklevel=5)
    layout = Layout.of(size, stride)
    meta = Meta.of(target.dtype, target.device, layout)
    if target._offset + meta.nbytes > target._storage.nbytes:
        target._storage.resize_(target._offset + meta.nbytes)
    target._meta = meta


def _promoted_geometry(value: Any, to: dtype) -> tuple[Sequence[int], Sequence[int]]:
    if not isinstance(value, Tensor):
        return (), ()
    layout = value._meta.layout
    stride = layout.stride if value.dtype is to else preserve_format(layout.size, layout.stride)
    return layout.size, stride


def _common_device(name: str, tensors: Sequence[Tensor]) -> device:
    """The device of the call: 0-dim CPU tensors may join another device's. Raises RuntimeError for a mixture."""
    where = next((t.device for t in tensors if t.device.type != "cpu"), tensors[0].device if tensors else None)
    if where is None:
        from ..core.device import as_device
        return as_device("cpu")
    for t in tensors:
        if t.device is not where and (t.ndim or t.device.type != "cpu"):
            raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                               f"{where} and {t.device}!")
    return where


def _type_name(value: Any) -> str:
    return "Tensor" if isinstance(value, Tensor) else type(value).__name__


def _check_types(op: Operator, args: dict[str, Any]) -> None:
    """Raises TypeError, with PyTorch's text, for an argument of a wrong type."""
    for position, p in enumerate(op.parameters):
        value = args[p.name]
        name = "input" if p.name == "self" else p.name
        if value is None and "None" in p.types:
            continue
        if isinstance(value, Tensor) and ("Tensor" in p.types or p.is_number and not value.ndim
                                          and value._autograd is None):
            continue
        if isinstance(value, (bool, int, float, complex, np.generic)) and p.takes_number:
            continue
        if isinstance(value, str) and "str" in p.types:
            continue
        expected = "Number" if p.is_number else "str" if "str" in p.types else "Tensor"
        place = "" if p.kwarg_only else f" (position {position + 1})"
        raise TypeError(f"{op.name}(): argument '{name}'{place} must be {expected}, not {_type_name(value)}")
