"""Counting work instead of time: lines of Python, and operations on blocks, that a kernel runs."""

import sys

from graphsys.kernels.blocks import large, reference

PRODUCTS = ("subtract_product", "assign_product", "add_product")
INVERSES = {"invert_small": reference.invert_small, "invert_large": large.invert_large}


def lines_run(kernel, *arguments):
    """Lines of a kernel's own body run for some arguments (kernels it calls are not counted)."""
    function = kernel.py_func
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if frame.f_code is not function.__code__:
            return None
        count += event == "line"
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        function(*arguments)
    finally:
        sys.settrace(previous)
    return count


def _inverted_in_place(d, d_at, ldd, s, s_at, n, *work):
    return large.invert_large(d, d_at, ldd, d, d_at, ldd, s, s_at, n)


def block_operations(monkeypatch, modules, kernel, *arguments):
    """Multiplications and additions of the blocks that a kernel multiplies and inverts.

    The kernel runs as plain Python, and so do those of ``modules`` that it calls. A product takes
    2 m n k operations, an inverse 2 n^3: n steps of Gauss and Jordan with n^2 multiply-adds each.
    """
    count = 0

    def counting(function, operations):
        def counted(*given):
            nonlocal count
            count += operations(*given)
            return function(*given)

        return counted

    plain = {name: getattr(reference, name) for name in ("copy_block", "raise_magnitude")}
    plain["pointer"] = lambda array, at: array[at:]
    plain["is_real"] = lambda array: array.dtype.kind != "c"
    plain["assign_product_of"] = counting(
        reference.assign_product_of, lambda *given: 2 * given[-4] * given[-3] * given[-2]
    )
    for name in PRODUCTS:
        product = getattr(reference, name)
        plain[name] = counting(product, lambda *given: 2 * given[-3] * given[-2] * given[-1])
    for name, function in INVERSES.items():
        plain[name] = counting(function, lambda *given: 2 * given[-1] ** 3)
    plain["invert_wide"] = counting(_inverted_in_place, lambda *given: 2 * given[5] ** 3)
    names = {module.__name__ for module in modules}
    with monkeypatch.context() as patch:
        for module in modules:
            for name, value in vars(module).items():
                if name in plain:
                    patch.setattr(module, name, plain[name])
                elif getattr(value, "__module__", None) in names and hasattr(value, "py_func"):
                    patch.setattr(module, name, value.py_func)
        getattr(kernel, "py_func", kernel)(*arguments)
    return count
