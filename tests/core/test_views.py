"""Views, copies and factories do what PyTorch's do: geometry, values, aliasing, exception types and texts."""
from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import reftorch

torch = pytest.importorskip("torch", reason="not run: torch is not installed")

TENSORS = {
    "scalar": lambda t: t.tensor(1.5),
    "vector": lambda t: t.arange(5.0),
    "matrix": lambda t: t.arange(6.0).view(2, 3),
    "turned": lambda t: t.arange(6.0).view(2, 3).t(),
    "cube": lambda t: t.arange(24.0).view(2, 3, 4),
    "ones": lambda t: t.arange(3.0).view(1, 3, 1),
    "expanded": lambda t: t.arange(3.0).view(1, 3).expand(2, 3),
    "gaps": lambda t: t.arange(24.0).view(4, 6)[::2, 1::2],
    "empty": lambda t: t.zeros(0, 3),
    "ints": lambda t: t.arange(6).view(2, 3),
    "complex": lambda t: t.tensor([1 + 2j, 3 - 1j]),
    "half": lambda t: t.tensor([1.5, 2.5, -3.0], dtype=t.float16),
    "bfloat": lambda t: t.tensor([1.5, 2.5, -3.0, 0.1], dtype=t.bfloat16),
}
CALLS = Path(__file__).with_name("calls.txt").read_text().splitlines()


def outcome(call: str, namespace) -> object:
    """What the expression gives, as plain values, or the exception's type and first line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(eval(call, namespace))
        except Exception as error:  # noqa: BLE001
            text = str(error).split("\n")[0]
            return type(error).__name__, "" if "invalid combination" in text or "device string" in text else text


def both_refuse(ours, theirs) -> bool:
    """PyTorch lists every overload in the text of some TypeErrors; there only the type counts."""
    return ours[0] == theirs[0] == "TypeError" and "" in (ours[1], theirs[1])


def plain(value) -> object:
    if isinstance(value, (torch.Tensor, reftorch.Tensor)):
        return ("tensor", str(value.dtype), tuple(value.shape), tuple(value.stride()), value.storage_offset(),
                value._is_view(), repr(value.tolist()))
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(v) for v in value]
    return str(value)


@pytest.mark.parametrize("name", TENSORS)
def test_calls(name):
    different = []
    for call in CALLS:
        theirs = outcome(call, {"torch": torch, "x": TENSORS[name](torch)})
        ours = outcome(call, {"torch": reftorch, "x": TENSORS[name](reftorch)})
        if ours != theirs and not both_refuse(ours, theirs):
            different.append(f"{call}\n  ours  {ours}\n  torch {theirs}")
    assert not different, "\n".join(different)
