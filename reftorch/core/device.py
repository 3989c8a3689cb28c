"""Device names and the table of backends.

A backend (reftorch.devices.protocol) registers under its device type. Everything above the backends asks this
table; nothing is written against a particular device.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..devices.protocol import DeviceBackend

_backends: dict[str, DeviceBackend | Callable[[], DeviceBackend]] = {}


class device:
    """device('cuda', 0), device('cuda:0') or device('cpu').

    Raises RuntimeError, as PyTorch does, for an unknown device type or a malformed index.
    """

    __slots__ = ("type", "index", "backend", "blocks", "_hash")

    type: str
    index: int | None
    blocks: dict[int, Any]  # the allocator's free blocks by size; set by as_device, for the quick way to memory

    def __init__(self, type: str | device, index: int | None = None):  # noqa: A002 (PyTorch's name)
        if isinstance(type, device):
            index = type.index
            type = type.type
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {type.__class__.__name__}")
        name, colon, digits = type.partition(":")
        if colon:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
            if not digits.isdigit():
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(digits)
        if name not in _backends:
            raise RuntimeError(f"Expected one of {', '.join(sorted(_backends))} device type at start of device "
                               f"string: {type}")
        self.type, self.index = name, index
        self.backend = backend(name)
        self._hash = hash((name, index))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self.type, self.index)


def register_backend(device_type: str, make: DeviceBackend | Callable[[], DeviceBackend]) -> None:
    """Make `device_type` usable. `make` is a backend, or a function that makes it on first use.

    Raises RuntimeError if the name is taken.
    """
    if device_type in _backends:
        raise RuntimeError(f"a backend for device type '{device_type}' is registered already")
    _backends[device_type] = make


def backend(device_type: str) -> DeviceBackend:
    found = _backends[device_type]
    if callable(found):
        found = _backends[device_type] = found()
    return found


def backends() -> tuple[str, ...]:
    """The registered device types, in order of registration."""
    return tuple(_backends)


_canonical: dict[Any, device] = {}


def as_device(spec: str | device | int | None) -> device:
    """The device a tensor made with `device=spec` lies on: unique, and with an index where the backend has several."""
    try:
        return _canonical[spec]
    except (KeyError, TypeError):
        pass
    d = spec if isinstance(spec, device) else device("cpu" if spec is None else spec)  # type: ignore[arg-type]
    if d.index is None and d.backend.indexed:
        d = device(d.type, d.backend.current_device())
    if d.index is not None and d.index >= d.backend.device_count():
        raise RuntimeError(f"{d.type} device ordinal {d.index} is out of range: there are {d.backend.device_count()}")
    if not d.backend.indexed:
        d = device(d.type)
    if d not in _canonical:
        d.blocks = d.backend.allocator(d).free_blocks
        _canonical[d] = d
    d = _canonical[d]
    # A bare name follows the current device, so only a full one is remembered under the spec itself.
    if isinstance(spec, device) and (spec.index is not None or not d.backend.indexed):
        _canonical[spec] = d
    elif isinstance(spec, str) and not (d.backend.indexed and ":" not in spec):
        _canonical[spec] = d
    return d
