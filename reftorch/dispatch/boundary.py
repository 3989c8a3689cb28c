"""Where a call crosses into autograd. reftorch.autograd fills these in; below this line nothing knows of gradients."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

# record(op, args, result, form): remember how `result` came about.
record: Callable[..., None]
# check_in_place(tensor): refuse to overwrite what autograd may not lose. Raises RuntimeError.
check_in_place: Callable[[Any], None]
# bump(tensor): count a write to its memory.
