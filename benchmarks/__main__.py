"""python -m benchmarks [pointwise] [dispatch] [startup]: the goals, and where we stand, in one table each."""
from __future__ import annotations

import sys

from . import dispatch, pointwise, startup

PARTS = {"pointwise": pointwise.main, "dispatch": dispatch.main, "startup": startup.main}


def main(names: list[str]) -> int:
    unknown = [n for n in names if n not in PARTS]
    if unknown:
        print(f"unknown benchmark {', '.join(unknown)}; there are: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    for name in names or PARTS:
        PARTS[name]()
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
