"""Complex numbers and their parts: view_as_real, view_as_complex, real, imag, conj.

PyTorch's conj() sets a bit that later operators look at; here it computes the conjugate, so resolve_conj() has nothing
to do. Source: ATen/native/ComplexHelper.h, UnaryOps.cpp.
"""
from __future__ import annotations

from ..core.dtype import float16, float32, float64
from ..core.layout import Layout
from ..core.meta import Meta
from ..core.tensor import Tensor
from ..dispatch.cast import clone_of
from ..dispatch.function import composite, function
from ..dispatch.operator import OUT, REGISTRY
from ..dispatch.view import alias


@function("view_as_real(Tensor(a) self) -> Tensor(a)", method=False)
def view_as_real(self):
    """A real view with a last dimension of 2, the real and the imaginary part. Raises RuntimeError for real input."""
    if not self.is_complex():
        raise RuntimeError("view_as_real is only supported for complex tensors")
    layout = self._meta.layout
    meta = Meta.of(self.dtype.to_real(), self.device, Layout.of((*layout.size, 2), (*[2 * s for s in layout.stride], 1)))
    return alias(self, meta, self._offset, replay=lambda base: view_as_real(base))


@function("view_as_complex(Tensor(a) self) -> Tensor(a)", method=False)
def view_as_complex(self):
    """A complex view of real and imaginary parts in a last dimension of 2. Raises RuntimeError where there is none."""
    layout = self._meta.layout
    if self.dtype not in (float16, float32, float64):
        raise RuntimeError("view_as_complex is only supported for half, float and double tensors, but got a tensor of "
                           f"scalar type: {self.dtype.scalar_type}")
    if not layout.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if layout.size[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if layout.stride[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s in layout.stride[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if self.storage_offset() % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    if self.dtype is float16:
        raise NotImplementedError("reftorch does not cover torch.complex32")
    halved = Layout.of(layout.size[:-1], [s // 2 for s in layout.stride[:-1]])
    return alias(self, Meta.of(self.dtype.to_complex(), self.device, halved), self._offset,
                 replay=lambda base: view_as_complex(base))


view_as_real.derivatives(self=lambda grad: view_as_complex(grad.contiguous()))
view_as_complex.derivatives(self=lambda grad: view_as_real(grad.contiguous()))


@function("_conj(Tensor self) -> Tensor", public=False, method=False)
def conjugate(self):
    """The complex conjugate, computed."""
    result = clone_of(self)
    layout, part = result._meta.layout, self.dtype.to_real()
    doubled = Layout.of(layout.size, [2 * s for s in layout.stride])
    imaginary = Tensor(result._storage, Meta.of(part, self.device, doubled), part.itemsize)
    REGISTRY["neg"].call((imaginary,), imaginary, OUT)
    return result


conjugate.derivatives(self=lambda grad: grad.conj())
conjugate.node_name = "ConjBackward0"


@composite()
def conj(input: Tensor) -> Tensor:
    """The complex conjugate; a real tensor is its own."""
    return conjugate(input) if input._meta.dtype.is_complex else input


@composite()
def resolve_conj(input: Tensor) -> Tensor:
    """`input`: conjugates are computed at once."""
    return input


@composite()
def is_conj(input: Tensor) -> bool:
    """Always False: conjugates are computed at once."""
    return False


@composite(method=False)
def real(input: Tensor) -> Tensor:
    """The real part, a view; a real tensor is its own."""
    return view_as_real(input).select(-1, 0) if input._meta.dtype.is_complex else input


@composite(method=False)
def imag(input: Tensor) -> Tensor:
    """The imaginary part, a view. Raises RuntimeError for a real tensor."""
    if not input._meta.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return view_as_real(input).select(-1, 1)


Tensor.real, Tensor.imag = property(real), property(imag)  # type: ignore[attr-defined]
