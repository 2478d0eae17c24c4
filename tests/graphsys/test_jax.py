"""`gs.jax.solve` compared with dense solves of JAX: values, gradients, maps, errors."""

import gc
import importlib
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import graphsys as gs

from ..house.source import text
from .test_pattern import EPS, dense, example

jax = pytest.importorskip("jax")
jnp = jax.numpy


CPU = jax.local_devices(backend="cpu")[0]
OTHERS = [device for device in jax.local_devices() if device.platform != "cpu"]


@pytest.fixture(autouse=True)
def double_precision_on_the_cpu():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    with jax.default_device(CPU):
        yield
    jax.config.update("jax_enable_x64", before)


PATTERN, DATA, A = example()
N = PATTERN.n
TOLERANCE = 1000.0 * EPS * np.linalg.cond(A)


def dense_solve(data, b):
    matrix = jnp.zeros((N, N), data.dtype).at[PATTERN.rows, PATTERN.columns].add(data)
    return jnp.linalg.solve(matrix, b)


def sparse_solve(data, b):
    return gs.jax.solve(PATTERN, data, b)


def agree(found, wanted, scale=1.0):
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert x.shape == y.shape and x.dtype == y.dtype
        x, y = np.asarray(x), np.asarray(y)
        assert np.abs(x - y).max() <= scale * TOLERANCE * max(1.0, np.abs(y).max())


def columns(k=None, seed=1):
    return jnp.array(np.random.default_rng(seed).normal(size=N if k is None else (N, k)))


def lanes(count, seed=2):
    scale = np.random.default_rng(seed).uniform(0.8, 1.2, (count, DATA.size))
    return jnp.array(DATA * scale)


def test_two_rows_by_hand():
    # x = (b0 / a0, b1 / a1) of a diagonal matrix: the sum has the slopes -b / a^2 and 1 / a
    pattern = gs.Pattern([0, 1], [0, 1])
    a, b = jnp.array([2.0, 4.0]), jnp.array([2.0, 8.0])
    assert gs.jax.solve(pattern, a, b).tolist() == [1.0, 2.0]
    slopes = jax.grad(lambda a, b: gs.jax.solve(pattern, a, b).sum(), (0, 1))(a, b)
    assert slopes[0].tolist() == [-0.5, -0.5] and slopes[1].tolist() == [0.5, 0.25]


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize("compiled", [False, True])
def test_solutions_and_gradients_are_those_of_dense_matrices(k, compiled):
    b, weight = columns(k), columns(k, seed=3)

    def loss(solve):
        return lambda data, b: jnp.sum(weight * jnp.sin(solve(data, b)))

    wrap = jax.jit if compiled else lambda f: f
    agree(wrap(sparse_solve)(jnp.array(DATA), b), dense_solve(jnp.array(DATA), b))
    ours, theirs = (wrap(jax.value_and_grad(loss(f), (0, 1))) for f in (sparse_solve, dense_solve))
    agree(ours(jnp.array(DATA), b), theirs(jnp.array(DATA), b))


def test_forward_and_second_derivatives():
    b, change = columns(), jnp.array(np.random.default_rng(4).normal(size=DATA.size))
    tangents = change, columns(seed=5)
    of = [jax.jvp(f, (jnp.array(DATA), b), tangents) for f in (sparse_solve, dense_solve)]
    agree(*of)

    def curvature(solve):
        slope = jax.grad(lambda data: jnp.sum(solve(data, b) ** 3))
        return jax.jvp(slope, (jnp.array(DATA),), (change,))

    agree(curvature(sparse_solve), curvature(dense_solve), 10.0)


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize("k", [None, 2])
def test_maps(axes, k):
    rng = np.random.default_rng(6)
    shape = (N,) if k is None else (N, k)
    data = lanes(5) if axes[0] == 0 else jnp.array(DATA)
    b = jnp.array(rng.normal(size=(5, *shape) if axes[1] == 0 else shape))
    ours, theirs = (jax.jit(jax.vmap(f, axes)) for f in (sparse_solve, dense_solve))
    agree(ours(data, b), theirs(data, b))

    def loss(mapped):
        return jax.grad(lambda data, b: jnp.sum(mapped(data, b) ** 2), (0, 1))

    agree(loss(ours)(data, b), loss(theirs)(data, b))


def test_maps_of_maps():
    data, b = lanes(4), jnp.array(np.random.default_rng(7).normal(size=(3, N)))

    def every(f):
        return jax.vmap(lambda d: jax.vmap(lambda right: f(d, right))(b))(data)

    agree(every(sparse_solve), every(dense_solve))
    other = jax.vmap(lambda right: jax.vmap(lambda d: sparse_solve(d, right))(data))(b)
    agree(other, jnp.swapaxes(every(dense_solve), 0, 1))


def test_gradient_of_each_lane():
    data, b = lanes(3), columns()
    ours, theirs = (
        jax.vmap(jax.grad(lambda d, f=f: jnp.sum(f(d, b) ** 2)))(data)
        for f in (sparse_solve, dense_solve)
    )
    agree(ours, theirs)


def test_loops():
    def body(x, scale):
        x = sparse_solve(scale * jnp.array(DATA), x)
        return x, x.sum()

    scales = jnp.array([1.0, 2.0, 2.0, 0.5])
    end, sums = jax.jit(lambda b: jax.lax.scan(body, b, scales))(columns())
    x = np.asarray(columns())
    for scale in scales:
        x = np.linalg.solve(float(scale) * A, x)
    agree(end, jnp.array(x))
    assert sums.shape == (4,)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
def test_other_types(dtype):
    turn = dtype(1.0 + 0.3j if np.dtype(dtype).kind == "c" else 1.0)
    data = jnp.array(DATA.astype(dtype) * turn)
    b = columns().astype(dtype)
    scale = np.finfo(dtype).eps / EPS
    agree(sparse_solve(data, b), dense_solve(data, b), scale)

    def loss(solve):
        return jax.grad(lambda d, b: jnp.sum(jnp.abs(solve(d, b)) ** 2), (0, 1))(data, b)

    agree(loss(sparse_solve), loss(dense_solve), scale)


def test_single_precision_is_the_default_of_jax():
    jax.config.update("jax_enable_x64", False)
    x = gs.jax.solve(gs.Pattern([0], [0]), [2.0], [1.0])
    assert x.dtype == np.float32 and x.tolist() == [0.5]


def test_double_precision_may_be_turned_on_after_the_first_call():
    pattern = gs.Pattern([0, 1, 1], [0, 1, 0])
    for double in (False, True, False):
        jax.config.update("jax_enable_x64", double)
        x = gs.jax.solve(pattern, [2.0, 4.0, 1.0], [2.0, 9.0])  # 2 x_0 = 2, x_0 + 4 x_1 = 9

        assert x.tolist() == [1.0, 2.0]
        assert x.dtype == (np.float64 if double else np.float32)


def test_singular_matrices_are_errors_or_not_a_number():
    zero = jnp.array(np.where(PATTERN.rows == 7, 0.0, DATA))
    b = columns()
    with pytest.raises(Exception, match=r"matrix is singular at row \d+"):
        jax.block_until_ready(jax.jit(sparse_solve)(zero, b))
    many = jnp.stack([jnp.array(DATA), zero])
    with pytest.raises(Exception, match="matrix 1 of 2: the matrix is singular"):
        jax.block_until_ready(jax.vmap(sparse_solve, (0, None))(many, b))
    quiet = jax.jit(lambda data: gs.jax.solve(PATTERN, data, b, singular="nan"))
    assert np.isnan(quiet(zero)).all()
    x = jax.vmap(quiet)(many)
    assert np.isnan(x[1]).all()
    agree(x[0], dense_solve(many[0], b))
    assert np.isnan(sparse_solve(jnp.array(DATA).at[0].set(jnp.nan), b)).all()
    agree(sparse_solve(jnp.array(DATA), b), dense_solve(jnp.array(DATA), b))


def test_a_pattern_that_is_gone_is_an_error():
    patterns = [gs.Pattern([0], [0])]
    solve = jax.jit(lambda d, b: gs.jax.solve(patterns.pop(), d, b))
    one = jnp.ones(1)
    compiled = solve.lower(one, one).compile()
    gc.collect()
    with pytest.raises(Exception, match="no longer exists: keep a reference"):
        jax.block_until_ready(compiled(one, one))


@pytest.fixture(params=["copies", *OTHERS])
def device(request, monkeypatch):
    """Another device than the CPU, or the CPU with the way that others take."""
    if request.param != "copies":
        with jax.default_device(request.param):
            yield request.param
        return
    monkeypatch.setattr(
        jax.lax, "platform_dependent", lambda *arrays, cpu, default: default(*arrays)
    )
    yield CPU


@pytest.mark.parametrize("k", [None, 2])
def test_arrays_of_other_devices_are_copied(device, k):
    pattern, _, _ = example()  # its functions are compiled for this device
    weight = columns(k, seed=3)

    def solve(data, b):
        return gs.jax.solve(pattern, data, b)

    def loss(f):
        return jax.grad(lambda data, b: jnp.sum(weight * jnp.sin(f(data, b))), (0, 1))

    data, b = jnp.array(DATA), columns(k)
    found = solve(data, b)
    assert found.devices() == {device}
    agree(found, dense_solve(data, b))
    agree(loss(solve)(data, b), loss(dense_solve)(data, b))
    for axes, arrays in (
        ((0, 0), (lanes(3), jnp.stack([b, 2.0 * b, -b]))),
        ((0, None), (lanes(3), b)),
        ((None, 0), (data, jnp.stack([b, 2.0 * b, -b]))),
    ):
        agree(jax.vmap(solve, axes)(*arrays), jax.vmap(dense_solve, axes)(*arrays))
        agree(
            jax.jit(jax.vmap(loss(solve), axes))(*arrays),
            jax.vmap(loss(dense_solve), axes)(*arrays),
        )
    every = jax.vmap(lambda d: jax.vmap(lambda right: solve(d, right))(jnp.stack([b, -b])))
    agree(every(lanes(3))[:, 1], -jax.vmap(dense_solve, (0, None))(lanes(3), b))


def test_errors_on_other_devices_name_the_row(device):
    pattern = gs.Pattern([0, 1], [0, 1])
    with pytest.raises(Exception, match="singular at row 1"):
        gs.jax.solve(pattern, jnp.array([1.0, 0.0]), jnp.ones(2)).block_until_ready()
    found = gs.jax.solve(pattern, jnp.array([1.0, 0.0]), jnp.ones(2), singular="nan")
    assert np.isnan(np.asarray(found)).all()


def test_nothing_to_solve():
    empty = gs.Pattern([], [])
    assert gs.jax.solve(empty, jnp.zeros(0), jnp.zeros(0)).shape == (0,)
    assert gs.jax.solve(PATTERN, jnp.array(DATA), jnp.zeros((N, 0))).shape == (N, 0)


@pytest.mark.parametrize(
    ("data", "b", "options", "kind", "words"),
    [
        (np.ones(3), np.ones(2), {}, ValueError, r"data has shape \(3,\), the pattern has 2"),
        (np.ones((4, 2)), np.ones((4, 2)), {}, ValueError, "data has shape"),
        (np.ones(2), np.ones((2, 2, 2)), {}, ValueError, "further axes with jax.vmap"),
        (np.ones(2), np.ones(3), {}, ValueError, r"b has shape \(3,\)"),
        (np.ones(2), np.ones(2), {"singular": "zero"}, ValueError, "singular is 'zero'"),
    ],
)
def test_arguments_without_a_meaning_are_refused(data, b, options, kind, words):
    with pytest.raises(kind, match=words):
        gs.jax.solve(gs.Pattern([0, 1], [0, 1]), data, b, **options)


def test_calls_that_overlap_share_a_pattern():
    data, b = lanes(64), columns()
    solve = jax.jit(sparse_solve)
    pending = [solve(d, b) for d in data]  # asynchronous where XLA thinks it is worth it
    for x, d in zip(pending, data):
        wanted = np.linalg.solve(dense(PATTERN.rows, PATTERN.columns, np.asarray(d), N), b)
        assert np.abs(x - wanted).max() <= TOLERANCE * max(1.0, np.abs(wanted).max())


@pytest.mark.parametrize("dropped", [False, True])
def test_a_process_ends_while_solves_wait(dropped):
    code = (
        "import jax, graphsys as gs\nfrom jax import numpy as jnp\npattern = gs.Pattern([0], [0])\n"
        "big = jnp.ones((1500, 1500))\n"
        "solve = jax.jit(lambda d: gs.jax.solve(pattern, d, d + jnp.sum((big * d[0]) @ big)))\n"
        "jax.block_until_ready(solve(jnp.ones(1)))\nx = solve(2.0 * jnp.ones(1))\n"
    )
    code += "del x\n" if dropped else ""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()


def test_the_code_of_the_page_runs():
    blocks = text("docs/from_jax.md").split("```\n")
    code = [block for block in blocks if block.startswith("import jax")]
    assert code
    for block in code:
        exec(compile(block, "docs/from_jax.md", "exec"), {})


def test_without_jax_the_extra_is_named():
    code = (
        "import sys; sys.modules['jax'] = None\nimport graphsys as gs\n"
        "try:\n    gs.jax.solve(gs.Pattern([0], [0]), [1.0], [1.0])\n"
        "except gs.MissingExtraError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "graphsys[jax]"' in done.stdout


@pytest.fixture
def by_python(monkeypatch):
    """Calls that went through Python, in a list."""
    module, calls = importlib.import_module("graphsys.interop.jax"), []
    execute = module._execute
    monkeypatch.setattr(module, "_execute", lambda frame: (calls.append(1), execute(frame))[1])
    return calls


def chain_of(n):
    """Pattern of a chain, its entries, and a function from entries to the dense matrix."""
    k = np.arange(n - 1)
    rows, cols = np.concatenate([np.arange(n), k, k + 1]), np.concatenate([np.arange(n), k + 1, k])
    data = np.concatenate([np.full(n, 4.0), np.linspace(-1.0, 1.0, 2 * n - 2)])
    return gs.Pattern(rows, cols), data, lambda data: dense(rows, cols, np.asarray(data), n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_code_solves_alone_after_the_first_call(by_python, dtype):
    pattern, data, matrix = chain_of(12)
    data, b = jnp.array(data.astype(dtype)), jnp.linspace(1.0, 2.0, 12, dtype=dtype)

    def loss(data, b):
        return jnp.sum(gs.jax.solve(pattern, data, b) ** 3)

    solve = jax.jit(lambda data, b: gs.jax.solve(pattern, data, b))
    slope = jax.jit(jax.grad(loss, (0, 1)))
    for scale in (1.0, 2.0, 2.0, 0.5, 1.0):
        A = matrix(scale * data)
        x = np.linalg.solve(A, b)
        lam = np.linalg.solve(A.T, 3.0 * x**2)
        near = 100.0 * np.finfo(dtype).eps * np.linalg.cond(A) * np.abs(lam).max()
        assert np.abs(solve(scale * data, b) - x).max() <= near
        of_data, of_b = slope(scale * data, b)
        assert np.abs(of_b - lam).max() <= near
        wanted = -lam[pattern.rows] * x[pattern.columns]
        assert np.abs(of_data - wanted).max() <= near * np.abs(x).max()
    assert len(by_python) == 1


def test_what_compiled_code_cannot_solve_python_does(by_python):
    pattern, data, matrix = chain_of(12)
    b = jnp.ones(12)
    solve = jax.jit(lambda data: gs.jax.solve(pattern, data, b, singular="nan"))
    data = jnp.array(data)
    wanted = np.linalg.solve(matrix(data), b)
    zero = jnp.where(pattern.rows == 5, 0.0, data)

    def good():
        assert np.abs(solve(data) - wanted).max() <= 1e-14

    good()
    for bad in (zero, data.at[3].set(jnp.nan)):
        assert np.isnan(solve(bad)).all()
        assert len(by_python) > 1
        by_python.clear()
        good()
        assert not by_python
        by_python.append(1)
    for _ in range(5):  # as many matrices in turn have no good pivots: Python from then on
        solve(zero)
    by_python.clear()
    good()
    assert len(by_python) == 1


def test_a_plan_goes_with_its_pattern():
    pattern, data, _ = chain_of(5)
    jax.block_until_ready(gs.jax.solve(pattern, data, np.ones(5)))
    plans = importlib.import_module("graphsys.interop.jax")._PLANS[0]._arrays

    def many(pattern):
        return jax.vmap(lambda data: gs.jax.solve(pattern, data, jnp.ones(5)))

    jax.block_until_ready(many(pattern)(jnp.array([data, 2.0 * data])))
    places = {2 * pattern._number, 2 * pattern._number + 1}  # for one matrix, for many
    assert places <= set(plans)
    del pattern
    gc.collect()
    assert not places & set(plans)


def test_eager_calls_are_compiled_once_and_keep_no_pattern(monkeypatch):
    module, made = importlib.import_module("graphsys.interop.jax"), []
    solving = module._solving
    monkeypatch.setattr(module, "_solving", lambda *of: made.append(of[1]) or solving(*of))
    pattern, data, matrix = chain_of(5)
    b = np.arange(1.0, 6.0)
    for scale in (1.0, 2.0, 3.0):
        for singular in ("raise", "nan"):
            x = gs.jax.solve(pattern, scale * data, b, singular=singular)
            assert np.abs(matrix(scale * data) @ x - b).max() <= 1e-12
    assert made == [True, False]
    assert np.isnan(gs.jax.solve(pattern, 0.0 * data, b, singular="nan")).all()
    known = weakref.ref(pattern)
    made.clear()
    del pattern
    gc.collect()
    assert known() is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_compiled_code_solves_for_several_right_hand_sides_alone(by_python, dtype):
    pattern, data, matrix = chain_of(12)
    rng = np.random.default_rng(0)
    turn = dtype(1.0 + 0.5j if np.dtype(dtype).kind == "c" else 1.0)
    data, rights = jnp.array(data * turn, dtype), jnp.array(rng.normal(size=(5, 12)), dtype)
    near = 100.0 * np.finfo(dtype).eps * np.linalg.cond(matrix(data))

    def solve(data, b):
        return gs.jax.solve(pattern, data, b)

    rows, columns = jax.jit(jax.vmap(solve, (None, 0))), jax.jit(solve)
    first = jax.jit(lambda data, b: jax.vjp(solve, data, b)[1](b)[1])
    for calls, scale in enumerate((1.0, 2.0, 2.0, 0.5, 1.0)):
        A = matrix(scale * data)
        x = np.linalg.solve(A, rights.T)
        for found in (
            columns(scale * data, rights.T),
            rows(scale * data, rights).T,
            columns(scale * data, rights[:2].T),
            columns(scale * data, rights[0])[:, None],
            columns(scale * data, rights[:1].T),
        ):
            assert np.abs(found - x[:, : found.shape[1]]).max() <= near * np.abs(x).max()
        wanted = np.linalg.solve(A.T, rights.T)
        found = first(scale * data, rights.T)
        assert np.abs(found - wanted).max() <= near * np.abs(wanted).max()
        assert len(by_python) == 1, calls
    more = jnp.array(rng.normal(size=(12, 9)), dtype)  # than there is room for: by Python once
    for _ in range(2):
        x = np.linalg.solve(matrix(data), more)
        assert np.abs(columns(data, more) - x).max() <= near * np.abs(x).max()
    assert len(by_python) == 2
    # columns of lanes that share the matrix go by Python
    found = jax.vmap(solve, (None, 0))(data, jnp.stack([rights[:3].T, rights[2:].T]))
    x = np.linalg.solve(matrix(data), rights[2:].T)
    assert np.abs(found[1] - x).max() <= near * np.abs(x).max() and len(by_python) == 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [None, 3])
def test_compiled_code_solves_for_many_matrices_alone(by_python, dtype, k):
    pattern, data, matrix = chain_of(12)
    rng = np.random.default_rng(0)
    b = jnp.array(rng.normal(size=(12,) if k is None else (12, k)), dtype)

    def loss(data, b):
        return jnp.sum(gs.jax.solve(pattern, data, b) ** 3)

    solve = jax.jit(jax.vmap(lambda data, b: gs.jax.solve(pattern, data, b)))
    shared = jax.jit(jax.vmap(lambda data: gs.jax.solve(pattern, data, b)))
    slope = jax.jit(jax.vmap(jax.grad(loss, (0, 1))))
    for count in (9, 9, 2, 16):
        many = jnp.array(data * rng.uniform(0.9, 1.1, (count, data.size)), dtype)
        right = jnp.array(rng.normal(size=(count, *b.shape)), dtype)
        x, with_b, (of_data, of_b) = solve(many, right), shared(many), slope(many, right)
        for i in range(count):
            A = matrix(many[i]).astype(float)
            near = 100.0 * np.finfo(dtype).eps * np.linalg.cond(A)
            wanted = np.linalg.solve(A, right[i])
            lam = np.linalg.solve(A.T, 3.0 * wanted**2)
            for found, exact in (
                (x[i], wanted),
                (with_b[i], np.linalg.solve(A, b)),
                (of_b[i], lam),
                (of_data[i], -(lam[pattern.rows] * wanted[pattern.columns]).reshape(
                    pattern.nz, -1).sum(axis=1)),
            ):  # fmt: skip
                assert np.abs(found - exact).max() <= near * max(1.0, np.abs(exact).max())
    assert len(by_python) == 1
    nested = jax.vmap(jax.vmap(lambda data, b: gs.jax.solve(pattern, data, b), (None, 0)))
    rights = jnp.array(rng.normal(size=(count, 2, *b.shape)), dtype)
    found = nested(many, rights)  # by Python: 16 matrices for 32 lanes
    assert found.shape == rights.shape and len(by_python) == 2
    assert np.abs(found[:, 1] - solve(many, rights[:, 1])).max() <= near


def test_lanes_that_compiled_code_cannot_solve_python_does(by_python):
    pattern, data, matrix = chain_of(12)
    many, b = jnp.array([data * scale for scale in np.linspace(1.0, 2.0, 10)]), jnp.ones(12)
    solve = jax.jit(jax.vmap(lambda data: gs.jax.solve(pattern, data, b, singular="nan")))
    wanted = np.stack([np.linalg.solve(matrix(one), b) for one in many])
    singular = many.at[7].set(jnp.where(pattern.rows == 5, 0.0, data))
    doubtful = many.at[3].set(jnp.where((pattern.rows == 4) & (pattern.columns == 4), 1e-9, data))
    exact = np.linalg.solve(matrix(doubtful[3]), b)
    solve(many)
    assert len(by_python) == 1
    for bad, lane in ((singular, 7), (many.at[7, 2].set(jnp.nan), 7), (doubtful, 3)):
        x, others = np.asarray(solve(bad)), np.arange(10) != lane
        assert np.abs(x - wanted)[others].max() <= 1e-14
        assert np.isnan(x[lane]).all() if lane == 7 else np.abs(x[3] - exact).max() <= 1e-12
        assert len(by_python) == 2
        assert np.abs(solve(many) - wanted).max() <= 1e-14 and len(by_python) == 2
        by_python.pop()
    for _ in range(5):  # as often in turn: Python from then on
        solve(singular)
    by_python.clear()
    assert np.abs(solve(many) - wanted).max() <= 1e-14 and len(by_python) == 1


def test_threads_solve_with_one_pattern():
    pattern, data, matrix = chain_of(300)
    b = jnp.ones(300)
    solve = jax.jit(lambda data: gs.jax.solve(pattern, data, b))
    wrong = []

    def work(scale):
        wanted = np.linalg.solve(matrix(scale * data), b)
        for _ in range(200):
            if np.abs(solve(scale * data) - wanted).max() > 1e-13:
                wrong.append(scale)

    threads = [threading.Thread(target=work, args=(1.0 + i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
