"""What a right outcome of a case shows, as data: a check says it, the kit and the reproduction script compare with it.

`wanted` is a dict; each key is one thing to look at, and only what is named is compared:

    bits          the result's bits in row-major order (NumPy array of the carrier dtype), or a list of such arrays,
                  any of which is right. NaNs are equal to each other.
    unlike        an array like `bits` that the result must not equal: what was seen, where nothing better is known
    between       (low, high): arrays like `bits`; the result's values lie between them, or are NaN where both are
    dtype, device, size, stride, offset, requires_grad, grad_fn, out_size, out_stride    as in Outcome
    same_object, shares     names of arguments, as in Outcome
    versions      {argument: by how much its version counter grows}
    buffers       {number of the buffer: all its bytes after the call}
    grads         {argument: the gradient's bits, or None for no gradient};  grad_dtypes: {argument: dtype}
    error         None, or {'type': name of the class or one of its bases, 'text': a part of the text, 'phase':
                  'forward' or 'backward'}; text and phase may be left out
    warning       a part of the text of one of the warnings, or None for no warning
"""
from __future__ import annotations

import base64
from typing import Any

import numpy as np

from reftorch.core.dtype import DTYPES
from reftorch.numerics.codes import bfloat16_to_float32

from .case import Case, Outcome

PLAIN = ("dtype", "device", "size", "stride", "offset", "requires_grad", "grad_fn", "out_size", "out_stride",
         "same_object", "shares", "grad_dtypes")
NAMES = ("bits", "unlike", "between", *PLAIN, "versions", "buffers", "grads", "error", "warning")


def values(bits: np.ndarray, dtype: str) -> np.ndarray:
    """The values that bits of this dtype stand for, in a type that Python prints. Codes of storage-only types stay."""
    if dtype == "bfloat16":
        return np.asarray(bfloat16_to_float32(np.asarray(bits, np.uint16)))
    return np.asarray(bits)


def same(a: np.ndarray, b: np.ndarray, dtype: str) -> np.ndarray:
    """Elementwise: the same bits, or both NaN. Complex numbers by component."""
    a, b = np.ascontiguousarray(a).reshape(-1), np.ascontiguousarray(b).reshape(-1)
    if DTYPES[dtype].is_complex:
        part = "float32" if dtype == "complex64" else "float64"
        return np.asarray(same(a.view(part), b.view(part), part).reshape(-1, 2).all(axis=1))
    code = np.dtype(f"u{a.itemsize}")
    equal = a.view(code) == b.view(code)
    va, vb = values(a, dtype), values(b, dtype)
    return np.asarray(equal | ((va != va) & (vb != vb)) if va.dtype.kind == "f" else equal)


def differences(wanted: dict[str, Any], case: Case, outcome: Outcome) -> list[str]:
    """One sentence for each thing that is not as wanted; empty if the outcome is right as far as `wanted` goes."""
    if "error" in wanted or outcome.error is not None:
        found = _error_difference(wanted.get("error"), outcome)
        if found or wanted.get("error"):
            return found
    out: list[str] = []
    for key, want in wanted.items():
        if key in PLAIN:
            got = getattr(outcome, key)
            if _plain(got) != _plain(want):
                out.append(f"{key}: expected {_plain(want)}, got {_plain(got)}")
        elif key == "bits":
            out += _bits_difference("result", want if isinstance(want, list) else [want], outcome.bits, outcome.dtype)
        elif key == "unlike":
            if outcome.bits is not None and outcome.bits.nbytes == np.asarray(want).nbytes \
                    and same(want, outcome.bits, outcome.dtype).all():
                out.append("result: the same bits as when the divergence was seen")
        elif key == "between":
            out += _between_difference(want, outcome)
        elif key == "versions":
            for name, grows in want.items():
                before, after = outcome.versions.get(name, (0, 0))
                if after - before != grows:
                    out.append(f"version of {name}: expected to grow by {grows}, grew by {after - before}")
        elif key == "buffers":
            for index, want_bytes in want.items():
                got_bytes = outcome.buffers[int(index)]
                wrong = np.flatnonzero(np.asarray(want_bytes, np.uint8) != got_bytes)
                if wrong.size:
                    out.append(f"buffer {index}: {wrong.size} bytes differ, the first at byte {wrong[0]}")
        elif key == "grads":
            for name, want_grad in want.items():
                got_grad = outcome.grads.get(name)
                if want_grad is None or got_grad is None:
                    if (want_grad is None) != (got_grad is None):
                        out.append(f"gradient of {name}: expected {_some(want_grad)}, got {_some(got_grad)}")
                    continue
                dtype = outcome.grad_dtypes.get(name, outcome.dtype)
                out += _bits_difference(f"gradient of {name}", [want_grad], got_grad, dtype)
        elif key == "warning":
            if want is None and outcome.warnings or want and not any(want in w for w in outcome.warnings):
                out.append(f"warning: expected {want!r}, got {list(outcome.warnings)}")
        elif key != "error":
            raise KeyError(f"unknown key {key!r} in `wanted`: there are {', '.join(NAMES)}")
    return out


def from_outcomes(right: Outcome, got: Outcome, case: Case) -> dict[str, Any]:
    """`wanted` for all that differs between a right outcome and another one. Empty if nothing does."""
    if right.error is not None:
        error = {"type": right.error.type, "text": right.error.text, "phase": right.error.phase}
        return {"error": error} if differences({"error": error}, case, got) else {}
    if got.error is not None:
        return {"error": None}
    candidates: dict[str, Any] = {key: getattr(right, key) for key in PLAIN if key not in ("grad_fn",)}
    candidates["bits"] = right.bits
    candidates["versions"] = {name: after - before for name, (before, after) in right.versions.items()}
    candidates["buffers"] = dict(enumerate(right.buffers))
    candidates["grads"] = right.grads
    return {key: want for key, want in candidates.items() if differences({key: want}, case, got)}


def to_json(wanted: dict[str, Any]) -> dict[str, Any]:
    """Plain JSON values; `from_json` gives the dict back."""
    return {key: _encode(value) for key, value in wanted.items()}


def from_json(data: dict[str, Any]) -> dict[str, Any]:
    return {key: _decode(value) for key, value in data.items()}


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"array": base64.b85encode(np.ascontiguousarray(value).tobytes()).decode(), "dtype": value.dtype.str,
                "shape": list(value.shape)}
    if isinstance(value, dict):
        return {str(k): _encode(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encode(v) for v in value]
    return value.item() if isinstance(value, np.generic) else value


def _decode(value: Any) -> Any:
    if isinstance(value, dict):
        if "array" in value:
            return np.frombuffer(base64.b85decode(value["array"]), value["dtype"]).reshape(value["shape"]).copy()
        return {k: _decode(v) for k, v in value.items()}
    return [_decode(v) for v in value] if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, (tuple, list)) else value


def _some(array: np.ndarray | None) -> str:
    return "none" if array is None else "one"


def _error_difference(want: dict[str, Any] | None, outcome: Outcome) -> list[str]:
    error = outcome.error
    got = "no error" if error is None else f"{error.type} in the {error.phase} call: {error.text}"
    if want is None:
        return [f"error: expected none, got {got}"] if error else []
    right = (error is not None and want["type"] in (error.type, *error.bases) and want.get("text", "") in error.text
             and want.get("phase", error.phase) == error.phase)
    return [] if right else [f"error: expected {want['type']}: {want.get('text', '')}, got {got}"]


def _bits_difference(what: str, wants: list[np.ndarray], got: np.ndarray | None, dtype: str) -> list[str]:
    if got is None:
        return [f"{what}: expected values, got none"]
    best: np.ndarray | None = None
    for want in wants:
        want = np.asarray(want)
        if want.size != got.size or want.itemsize != got.itemsize:
            continue
        wrong = np.flatnonzero(~same(want, got, dtype))
        if not wrong.size:
            return []
        if best is None or wrong.size < best.size:
            best, nearest = wrong, want
    if best is None:
        first = np.asarray(wants[0])
        return [f"{what}: expected {first.size} elements of {first.dtype}, got {got.size} of {dtype}"]
    i = int(best[0])
    show = [values(a, dtype).reshape(-1)[i] for a in (nearest, got)]
    return [f"{what}: {best.size} of {got.size} elements differ, the first at {i}: "
            f"expected {show[0]!r}, got {show[1]!r}"]


def _between_difference(want: Any, outcome: Outcome) -> list[str]:
    low, high = (values(np.asarray(x), outcome.dtype).reshape(-1) for x in want)
    if outcome.bits is None or outcome.bits.size != low.size:
        return ["result: not the expected number of elements"]
    got = values(outcome.bits, outcome.dtype).reshape(-1)
    with np.errstate(invalid="ignore"):
        right = ((low <= got) & (got <= high)) | ((low != low) & (got != got))
    wrong = np.flatnonzero(~right)
    if not wrong.size:
        return []
    i = int(wrong[0])
    return [f"result: {wrong.size} of {got.size} elements are outside their bounds, the first at {i}: "
            f"expected between {low[i]!r} and {high[i]!r}, got {got[i]!r}"]
