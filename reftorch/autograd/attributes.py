"""What autograd gives every tensor: requires_grad, grad, grad_fn, is_leaf, backward, detach_, data, ...

Source: torch/csrc/autograd/python_variable.cpp, VariableTypeManual.cpp, torch/_tensor.py.
"""
from __future__ import annotations

import weakref
from collections.abc import Sequence

from ..core.dtype import FLOATING
from ..core.tensor import Tensor
from ..dispatch.state import state
from ..dispatch.view import NOWHERE, untracked_alias
from . import entry
from .accumulate import AccumulateGrad, leaf_edge
from .history import gradient_edge, is_leaf, set_edge
from .node import Node

# The names under which PyTorch's texts know dtypes in C++.
_CPP_NAMES = {"float64": "double", "float32": "float", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "bool": "bool",
              "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int", "int64": "long int",
              "complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}


def _requires_grad(self: Tensor) -> bool:
    """Whether gradients with respect to this tensor are wanted. Only a leaf's can be changed."""
    return self._autograd is not None


def _set_requires_grad(self: Tensor, value: bool) -> None:
    if not isinstance(value, bool):
        raise RuntimeError("requires_grad must be a bool")
    if value and self.dtype.category < FLOATING:
        raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
    requires_grad_(self, value)



def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Set requires_grad, and return the tensor.

    Raises RuntimeError for a tensor that is not floating or complex, for one that is not a leaf, and outside inference
    mode for an inference tensor.
    """
    if not isinstance(requires_grad, bool):
        raise TypeError("requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                        f"{type(requires_grad).__name__}")
    if requires_grad and self.dtype.category < FLOATING:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    if not requires_grad and not is_leaf(self):
        raise RuntimeError("you can only change requires_grad flags of leaf variables. If you want to use a computed "
                           "variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach().")
    if requires_grad and self._vc is None and not state.inference:
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    view, edge = self._view, None
    if requires_grad:
        if self._autograd is not None and self._autograd[0] is not None:
            return self
        edge = leaf_edge(self)
    if view is None:
        set_edge(self, edge)
    else:  # a view of a tensor that requires grad does too
        self._autograd = NOWHERE if edge is None and view.base._autograd is not None else edge
    return self


def _grad_fn(self: Tensor) -> Node | None:
    """The node of the call that made this tensor; None for a leaf."""
    edge = gradient_edge(self)
    return None if edge is None or isinstance(edge[0], AccumulateGrad) else edge[0]


def _output_nr(self: Tensor) -> int:
    """Which result of its grad_fn this is."""
    edge = gradient_edge(self)
    return 0 if edge is None else edge[1]


def _grad(self: Tensor) -> Tensor | None:
    """The gradient that backward accumulates, for a leaf or after retain_grad(); None before.

    Assigning checks size, dtype and device.
    """
    return self.__dict__.get("_grad")


def _set_grad(self: Tensor, value: Tensor | None) -> None:
    if value is None:
        self.__dict__.pop("_grad", None)
        return
    if not isinstance(value, Tensor):
        raise TypeError("assigned grad expected to be a Tensor or None but got grad of type "
                        f"{type(value).__name__}")
    if value is self:
        raise RuntimeError("can't assign Variable as its own grad")
    if value.dtype is not self.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{_CPP_NAMES.get(value.dtype.name, value.dtype.name)}' to a tensor "
            f"with grad_dtype '{self.dtype.scalar_type}'. The gradient must match the tensor's grad_dtype (defaults to the "
            "tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any "
            "dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break downstream "
            "systems that assume they match.")
    if value.device is not self.device:
        raise RuntimeError(f"attempting to assign a gradient with device type '{value.device.type}' to a tensor with device "
                           f"type '{self.device.type}'. Please ensure that the gradient and the tensor are on the same "
                           "device")
    if value.shape != self.shape:
        raise RuntimeError(f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
                           f"'{list(self.shape)}'. Please ensure that the gradient and the tensor are the same size")
    self.__dict__["_grad"] = value



def backward(self: Tensor, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False,
             inputs: Tensor | Sequence[Tensor] | None = None) -> None:
    """Gradients of this tensor with respect to the leaves, added to their .grad: see reftorch.autograd.backward."""
    entry.backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def retain_grad(self: Tensor) -> None:
    """Have backward keep the gradient of this non-leaf in .grad. Raises RuntimeError unless it requires grad."""
    if self._autograd is None:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if not is_leaf(self):
        node, number = gradient_edge(self)  # type: ignore[misc]
        node.retained = {**getattr(node, "retained", {}), number: weakref.ref(self)}


def _retains_grad(self: Tensor) -> bool:
    """Whether retain_grad() was asked for."""
    if is_leaf(self):
        return False
    node, number = gradient_edge(self)  # type: ignore[misc]
    kept = getattr(node, "retained", {}).get(number)
    return kept is not None and kept() is self


def detach_(self: Tensor) -> Tensor:
    """Forget the history: the tensor becomes a leaf that does not require grad. Raises RuntimeError for a view."""
    if self._view is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training,"
            " and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be "
            "called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
            "torch/optim/optimizer.py as the solution.")
    set_edge(self, None)
    return self


def _data(self: Tensor) -> Tensor:
    """The same memory outside every graph, with a version counter of its own: autograd does not see writes to it.

    Assigning replaces the memory, the sizes and the dtype.
    """
    alias = untracked_alias(self)
    alias._vc = None if self._vc is None else [0]
    return alias


def _set_data(self: Tensor, value: Tensor) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if self._autograd is not None and value.dtype.category < FLOATING:
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    self._storage, self._meta, self._offset = value._storage, value._meta, value._offset



def _is_view(self: Tensor) -> bool:
    """Whether autograd knows this tensor as a view of another."""
    return self._view is not None


def _base(self: Tensor) -> Tensor | None:
    """The tensor that this is a view of."""
    return None if self._view is None else self._view.base


for _method in (requires_grad_, backward, retain_grad, detach_, _is_view):
    setattr(Tensor, _method.__name__, _method)
for _name, _property in {
        "requires_grad": property(_requires_grad, _set_requires_grad), "grad": property(_grad, _set_grad),
        "data": property(_data, _set_data), "grad_fn": property(_grad_fn), "is_leaf": property(is_leaf),
        "output_nr": property(_output_nr), "retains_grad": property(_retains_grad), "_base": property(_base)}.items():
    setattr(Tensor, _name, _property)
