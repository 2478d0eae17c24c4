"""Single rows of eight systems at once: numba intrinsics over `llvm.scalar_lanes`, NumPy twins.

Tables and arrays are those of `graphsys.kernels.batch.scalar_ldu`. An array is followed by the
place of its first number where it may begin later.
"""

import numpy as np

from graphsys.kernels.base.jit import DISABLE_JIT, LazyModule, intrinsic, types
from graphsys.kernels.base.layout import SCALAR_HEADER, SCALAR_ROWS, SCALAR_SYMMETRIC
from graphsys.kernels.base.widths import GROWN, LANES
from graphsys.kernels.blocks.blocks import _Lower, real_name

scalar_lanes = LazyModule("graphsys.kernels.llvm.scalar_lanes")


def _vectors(array, at=0):
    """View, shape (vectors, 8)."""
    return array[at : at + (array.size - at) // LANES * LANES].reshape(-1, LANES)


def _nodes(table):
    """Nodes: number, neighbours, updates after that of the neighbours, place of the pivot."""
    for k in range(table[SCALAR_ROWS]):
        at, place = table[SCALAR_HEADER + 2 * k], table[SCALAR_HEADER + 2 * k + 1]
        count = table[at] >> 1
        yield k, table[at + 1 : at + 1 + count], table[at + 1 + count :], place, table[at] & 1


def _factorize_twin(solves):
    def twin(table, v, v_at, x, magnitude, state):
        a, z, kept, symmetric = (
            _vectors(v, v_at),
            _vectors(x),
            _vectors(magnitude),
            table[SCALAR_SYMMETRIC],
        )
        loss, excess, bad = (
            np.ones(LANES, v.dtype),
            np.zeros(LANES, v.dtype),
            np.zeros(LANES, v.dtype),
        )
        with np.errstate(all="ignore"):
            for k, rows, targets, place, updated in _nodes(table):
                pivot, count = a[place].copy(), rows.size
                largest = np.fmax(np.abs(pivot), kept[2 * k] if updated else 0.0)
                given = kept[2 * k + 1] if updated else np.inf
                inverse = a[place] = 1.0 / pivot
                new = np.abs(inverse) * largest
                loss, excess = np.fmax(loss, new), np.fmax(excess, largest - GROWN * given)
                bad = bad + (new - new)
                if solves:
                    z[k] *= inverse
                u, t = place + 1, 0
                left = u if symmetric else u + count
                for j, row in enumerate(rows):
                    right, first = inverse * a[u + j], targets[t] < 0
                    to = ~targets[t] if first else targets[t]
                    size, t = np.abs(a[to]), t + 1
                    kept[2 * row] = size if first else np.fmax(kept[2 * row], size)
                    if first:
                        kept[2 * row + 1] = size
                    a[to] -= a[left + j] * right
                    if solves:
                        z[row] -= a[left + j] * z[k]
                    for i in range(j + 1 if symmetric else 0, count):
                        if i != j:
                            a[targets[t]] -= a[left + i] * right
                            t += 1
                    a[u + j] = right
        _vectors(state)[:3] = loss, excess, bad

    return twin


def _forward_twin(mode):
    @np.errstate(all="ignore")
    def twin(table, v, v_at, x):
        a, z = _vectors(v, v_at), _vectors(x)
        for k, rows, _, place, _ in _nodes(table):
            scaled = z[k] * a[place]
            entry = scaled if mode == "plain" else z[k].copy()
            if mode != "transposed":
                z[k] = scaled
            first = place + 1 + (rows.size if mode == "plain" else 0)
            for i, row in enumerate(rows):
                z[row] -= a[first + i] * entry

    return twin


def _backward_twin(mode):
    @np.errstate(all="ignore")
    def twin(table, v, v_at, x):
        a, z = _vectors(v, v_at), _vectors(x)
        for k, rows, _, place, _ in reversed([*_nodes(table)]):
            first = place + 1 + (rows.size if mode == "transposed" else 0)
            for i, row in enumerate(rows):
                z[k] -= a[first + i] * z[row]
            if mode == "transposed":
                z[k] *= a[place]

    return twin


def _load_twin(v, v_at, place, count, a, stride, system, last):
    """Vectors <- entries of eight systems."""
    out = _vectors(v, v_at)
    for lane in range(LANES):
        first = min(system + lane, last) * stride
        out[place[:count], lane] = a[first : first + count]


def _unload_twin(v, place, count, a, stride, system, last, state):
    """Entries of eight systems <- vectors."""
    found = _vectors(v)[place[:count]]
    for lane in range(LANES):
        first = min(system + lane, last) * stride
        a[first : first + count] = found[:, lane]
    with np.errstate(invalid="ignore"):
        state[:LANES] += (found - found).sum(axis=0, dtype=v.dtype)


def _factorize(solves, text):
    def typed(typing, table, v, v_at, x, magnitude, state):
        signature = types.none(table, v, v_at, x, magnitude, state)
        real = real_name(v.dtype)

        def generate(context, builder, signature, arguments):
            low = _Lower(context, builder, signature, arguments)
            places = [low.table(0), low.pointer(1, 2), *(low.start(k) for k in (3, 4, 5))]
            flag = builder.load(builder.gep(places[0], [low.constant(SCALAR_SYMMETRIC)]))
            symmetric = builder.icmp_signed("!=", flag, low.constant(0))
            with builder.if_else(symmetric) as branches:
                for branch, both in zip(branches, (True, False), strict=True):
                    with branch:
                        function = scalar_lanes.factorize_function(
                            builder.module, real, both, solves
                        )
                        builder.call(function, places)
            return low.none()

        return signature, generate

    typed.__name__, typed.__doc__ = "factorize_lanes", text
    return intrinsic(typed)


def _substitution(name, mode, text):
    def typed(typing, table, v, v_at, x):
        signature = types.none(table, v, v_at, x)
        real = real_name(v.dtype)

        def generate(context, builder, signature, arguments):
            low = _Lower(context, builder, signature, arguments)
            function = getattr(scalar_lanes, f"{name}_function")(builder.module, real, mode)
            builder.call(function, [low.table(0), low.pointer(1, 2), low.start(3)])
            return low.none()

        return signature, generate

    typed.__name__, typed.__doc__ = f"{name}_{mode}", text
    return intrinsic(typed)


@intrinsic
def _load(typing, v, v_at, place, count, a, stride, system, last):
    """Vectors <- entries of eight systems."""
    signature = types.none(v, v_at, place, count, a, stride, system, last)
    real = real_name(v.dtype)

    def generate(context, builder, signature, arguments):
        low = _Lower(context, builder, signature, arguments)
        function = scalar_lanes.load_function(builder.module, real)
        places = [low.pointer(0, 1), low.table(2), low.integer(3), low.start(4)]
        builder.call(function, [*places, *(low.integer(k) for k in (5, 6, 7))])
        return low.none()

    return signature, generate


@intrinsic
def _unload(typing, v, place, count, a, stride, system, last, state):
    """Entries of eight systems <- vectors."""
    signature = types.none(v, place, count, a, stride, system, last, state)
    real = real_name(v.dtype)

    def generate(context, builder, signature, arguments):
        low = _Lower(context, builder, signature, arguments)
        function = scalar_lanes.unload_function(builder.module, real)
        places = [low.start(0), low.table(1), low.integer(2), low.start(3)]
        places += [*(low.integer(k) for k in (4, 5, 6)), low.start(7)]
        builder.call(function, places)
        return low.none()

    return signature, generate


if DISABLE_JIT:
    factorize_rows, factorize_rows_solving = _factorize_twin(False), _factorize_twin(True)
    forward_plain, forward_symmetric = _forward_twin("plain"), _forward_twin("symmetric")
    forward_transposed = _forward_twin("transposed")
    backward_plain, backward_transposed = _backward_twin("plain"), _backward_twin("transposed")
    load_rows, unload_rows = _load_twin, _unload_twin
else:
    factorize_rows = _factorize(False, "D^-1, W and L in the places of A.")
    factorize_rows_solving = _factorize(True, "D^-1, W and L, and x <- D^-1 L^-1 x.")
    forward_plain = _substitution("forward", "plain", "x <- D^-1 L^-1 x.")
    forward_symmetric = _substitution("forward", "symmetric", "x <- D^-1 W^-T x.")
    forward_transposed = _substitution("forward", "transposed", "x <- W^-T x.")
    backward_plain = _substitution("backward", "plain", "x <- W^-1 x.")
    backward_transposed = _substitution("backward", "transposed", "x <- L^-T D^-1 x.")
    load_rows, unload_rows = _load, _unload
