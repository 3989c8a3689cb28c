"""Where a call crosses into autograd. reftorch.autograd fills these in; below this line nothing knows of gradients."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

# record(op, args, result, form): remember how `result` came about.
record: Callable[..., None]
# before_write(op, args, target) -> pending: refuse to overwrite what autograd may not lose (RuntimeError), and save
# what the derivative needs of the arguments before they change. Only called when something requires grad.
before_write: Callable[..., Any]
# after_write(pending, target): the write has happened and is counted; give `target` its new history.
after_write: Callable[..., None]
