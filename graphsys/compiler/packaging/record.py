"""Write ``shipped.txt`` anew: ``python -m graphsys.compiler.packaging.record``.

It lists what the warm-ups of both packages call, with the kinds of its arguments, and who calls it
where that is not Python by a stub.
"""

from __future__ import annotations

import gc
from importlib import import_module

from graphsys.compiler import Kernel
from graphsys.compiler.packaging.build import SHIPPED

WARM_UPS = "dynamics.warmup", "graphsys.warmup"
#: Modules whose kernels take longest to compile: they come first, and no process is left with them.
FIRST = (
    "dynamics.kernels.stepping.step",
    "graphsys.kernels.frontal.multifrontal",
    "graphsys.kernels.single.refinement",
)


def called() -> list[str]:
    """Lines of what Python has called in this process."""
    found = {
        (kernel.__module__, kernel.__qualname__ + ("" if role == "stub" else f":{role}"), kinds)
        for kernel in gc.get_objects()
        if issubclass(type(kernel), Kernel)  # isinstance would ask dead proxies
        for kinds, role in kernel.addresses
    }
    return [" ".join(line) for line in sorted(found, key=lambda line: (line[0] not in FIRST, line))]


def main() -> None:
    """Run the warm-ups and write the list."""
    for name in WARM_UPS:
        import_module(name).warm_up()
    SHIPPED.write_text("\n".join(called()) + "\n")


if __name__ == "__main__":
    main()
