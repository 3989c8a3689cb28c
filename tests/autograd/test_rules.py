"""Short pieces of code (rules.txt) give the same result, or the same exception and text, as PyTorch."""
from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import reftorch

torch = pytest.importorskip("torch", reason="not run: torch is not installed")

LEAF = "x = torch.ones(3, requires_grad=True)"


def pieces() -> dict[str, str]:
    """The code under each "# name" line."""
    text = "\n" + Path(__file__).with_name("rules.txt").read_text()
    return dict(piece.split("\n", 1) for piece in text.split("\n# ")[1:])


PIECES = {name: code.split("\n## ")[0] for name, code in pieces().items()}


def outcome(piece: str, namespace: dict) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(LEAF, namespace)
            exec(piece, namespace)  # noqa: S102 (our own code)
            return plain(namespace.get("r"))
        except Exception as error:  # noqa: BLE001
            return type(error).__name__, str(error).split("\n")[0]


def plain(value) -> object:
    if isinstance(value, (torch.Tensor, reftorch.Tensor)):
        return "tensor", str(value.dtype), tuple(value.shape), repr(value.detach().resolve_conj().tolist())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


@pytest.mark.parametrize("name", PIECES)
def test_piece(name):
    theirs = outcome(PIECES[name], {"torch": torch})
    ours = outcome(PIECES[name], {"torch": reftorch})
    assert ours == theirs


def test_complex_part_of_a_tensor_that_starts_later():
    """PyTorch 2.13 raises in backward: it replays the view with the offset in the other tensor's storage."""
    x = reftorch.ones(2, requires_grad=True)
    later = reftorch.tensor([1 + 1j, 2j, 3 + 0j])[1:].detach()
    later.real.mul_(x)
    (later.real.sum() + later.imag.sum()).backward()
    assert x.grad.tolist() == [0, 3]
