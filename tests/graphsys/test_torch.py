"""`gs.torch.solve` compared with dense solves of PyTorch: values, gradients, maps, errors."""

import subprocess
import sys

import numpy as np
import pytest

import graphsys as gs

from ..house.source import text
from .test_pattern import EPS, example

torch = pytest.importorskip("torch")

PATTERN, DATA, A = example(n=8)
N = PATTERN.n
TOLERANCE = 1000.0 * EPS * np.linalg.cond(A)
ROWS, COLUMNS = (torch.from_numpy(i.copy()) for i in (PATTERN.rows, PATTERN.columns))

#: PyTorch warns of its own `torch.jit.script` where it differentiates forward.
jit_of_torch = pytest.mark.filterwarnings(
    "ignore:.torch.jit:DeprecationWarning", "ignore:.torch.jit:FutureWarning"
)


def data(*lead, dtype=torch.float64):
    scale = np.random.default_rng(2).uniform(0.8, 1.2, (*lead, DATA.size))
    return torch.tensor(DATA * scale, dtype=dtype, requires_grad=True)


def right(*shape, dtype=torch.float64, seed=1):
    b = np.random.default_rng(seed).normal(size=shape)
    return torch.tensor(b, dtype=dtype, requires_grad=True)


def dense_solve(data, b):
    entries = torch.zeros((*data.shape[:-1], N * N), dtype=data.dtype)
    entries = entries.index_add(-1, ROWS * N + COLUMNS, data)
    matrix = entries.reshape(*data.shape[:-1], N, N)
    one = b.ndim == data.ndim
    x = torch.linalg.solve(matrix, b[..., None] if one else b)
    return x[..., 0] if one else x


def sparse_solve(data, b):
    return gs.torch.solve(PATTERN, data, b)


def agree(found, wanted, scale=1.0):
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    size = max(1.0, wanted.detach().abs().max().item())
    assert (found - wanted).detach().abs().max().item() <= scale * TOLERANCE * size


SHAPES = [((), (N,)), ((), (N, 3)), ((4,), (4, N)), ((4,), (4, N, 3))]


def test_two_rows_by_hand():
    # x = (b0 / a0, b1 / a1) of a diagonal matrix: the sum has the slopes -b / a^2 and 1 / a
    a = torch.tensor([2.0, 4.0], requires_grad=True)
    b = torch.tensor([2.0, 8.0], requires_grad=True)
    x = gs.torch.solve(gs.Pattern([0, 1], [0, 1]), a, b)
    x.sum().backward()
    assert x.tolist() == [1.0, 2.0]
    assert a.grad.tolist() == [-0.5, -0.5] and b.grad.tolist() == [0.5, 0.25]


@pytest.mark.parametrize(("lead", "shape"), SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.complex128])
def test_solutions_and_gradients_are_those_of_dense_matrices(lead, shape, dtype):
    scale = torch.finfo(dtype).eps / EPS
    results = []
    for solve in (sparse_solve, dense_solve):
        values, b = data(*lead, dtype=dtype), right(*shape, dtype=dtype)
        turned = values * (1.0 + 0.3j) if dtype.is_complex else values
        x = solve(turned, b)
        (x.abs() ** 2).sum().backward()
        results.append((x, values.grad, b.grad))
    for ours, theirs in zip(*results):
        agree(ours, theirs, scale)


@jit_of_torch
@pytest.mark.parametrize(("lead", "shape"), SHAPES)
def test_gradients_of_first_and_second_order_are_those_of_differences(lead, shape):
    pattern = gs.Pattern([0, 1, 2, 0, 2, 2], [0, 1, 2, 1, 0, 0])
    values = torch.tensor([4.0, 5.0, 6.0, 1.0, 0.5, 0.25], dtype=torch.float64)
    values = (values * torch.ones(*lead, 1, dtype=torch.float64)).reshape(*lead, 6)
    values = values.clone().requires_grad_()
    b = right(*(3 if length == N else length for length in shape))

    def solve(values, b):
        return gs.torch.solve(pattern, values, b)

    assert torch.autograd.gradcheck(solve, (values, b), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(solve, (values, b), check_fwd_over_rev=True)


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0), (None, 1)])
@pytest.mark.parametrize("k", [None, 2])
def test_maps(axes, k):
    core = (N,) if k is None else (N, k)
    values = data(5) if axes[0] == 0 else data()
    b = right(*core) if axes[1] is None else right(5, *core)
    if axes[1] == 1:
        b = b.movedim(0, 1)
    ours, theirs = (torch.func.vmap(f, axes) for f in (sparse_solve, dense_solve))
    agree(ours(values, b), theirs(values, b))

    def loss(mapped):
        return torch.func.grad(lambda d, b: (mapped(d, b) ** 2).sum(), (0, 1))

    for found, wanted in zip(loss(ours)(values, b), loss(theirs)(values, b)):
        agree(found, wanted)


@jit_of_torch
def test_forward_and_reverse_mode_agree():
    values, b = data().detach(), right(N).detach()
    for argument in (0, 1):
        first = torch.func.jacfwd(sparse_solve, argument)(values, b)
        agree(first, torch.func.jacfwd(dense_solve, argument)(values, b), np.linalg.cond(A))
        ours, theirs = (
            torch.func.hessian(lambda d, b, f=f: (f(d, b) ** 2).sum(), argument)(values, b)
            for f in (sparse_solve, dense_solve)
        )
        agree(ours, theirs, np.linalg.cond(A))


def test_gradient_of_each_lane():
    values, b = data(3), right(N)
    ours, theirs = (
        torch.func.vmap(torch.func.grad(lambda d, f=f: (f(d, b) ** 2).sum()))(values)
        for f in (sparse_solve, dense_solve)
    )
    agree(ours, theirs)


def test_maps_of_maps():
    values, b = data(4), right(3, N)

    def every(f):
        return torch.func.vmap(lambda d: torch.func.vmap(lambda r: f(d, r))(b))(values)

    agree(every(sparse_solve), every(dense_solve))
    other = torch.func.vmap(lambda r: torch.func.vmap(lambda d: sparse_solve(d, r))(values))(b)
    agree(other.transpose(0, 1), every(dense_solve))


def test_the_operator_keeps_the_rules_of_pytorch():
    from graphsys.interop.pattern import number_of

    sparse_solve(data(), right(N))  # registers it
    for lead, shape in SHAPES:
        arguments = data(*lead), right(*shape), number_of(PATTERN), False, True
        arguments = tuple(a.detach() if isinstance(a, torch.Tensor) else a for a in arguments)
        tests = ("test_schema", "test_faketensor")
        torch.library.opcheck(torch.ops.graphsys.solve.default, arguments, test_utils=tests)


@pytest.mark.filterwarnings("error:(?s).*graphsys")  # of the compiler about our code
@pytest.mark.filterwarnings("ignore")  # of the compiler about itself
def test_compiled_functions():
    values, b = data(), right(N)

    def loss(solve):
        return lambda data, b: (solve(data, b) ** 2).sum()

    compiled = torch.compile(loss(sparse_solve), backend="aot_eager")
    found = torch.autograd.grad(compiled(values, b), (values, b))
    wanted = torch.autograd.grad(loss(dense_solve)(values, b), (values, b))
    for ours, theirs in zip(found, wanted):
        agree(ours, theirs)


def test_singular_matrices_are_errors_or_not_a_number():
    values = data()
    zero = torch.where(ROWS == 7, 0.0, values)
    b = right(N)
    with pytest.raises(gs.SingularPivotError, match=r"matrix is singular at row \d+"):
        sparse_solve(zero, b)
    many, both = torch.stack([values, zero]), torch.stack([b, b])
    with pytest.raises(gs.SingularPivotError, match="matrix 1 of 2: the matrix is singular"):
        sparse_solve(many, both)
    x = gs.torch.solve(PATTERN, many, both, singular="nan")
    assert x[1].isnan().all()
    agree(x[0], dense_solve(values, b))
    assert gs.torch.solve(PATTERN, zero, b, singular="nan").isnan().all()


@pytest.mark.parametrize(
    ("data", "b", "options", "kind", "words"),
    [
        (torch.ones(3), torch.ones(2), {}, ValueError, r"data has shape \(3,\)"),
        (torch.ones(2), torch.ones(3), {}, ValueError, r"b has shape \(3,\), it must be \(2,\) or"),
        (torch.ones(4, 2), torch.ones(2), {}, ValueError, r"it must be \(4, 2\) or \(4, 2, k\)"),
        ([1.0, 1.0], torch.ones(2), {}, TypeError, "data must be a torch.Tensor, not list"),
        (torch.ones(2, device="meta"), torch.ones(2), {}, ValueError, "data is on meta"),
        (torch.ones(2), torch.eye(2).to_sparse(), {}, TypeError, "b is a tensor of layout .*coo"),
        (torch.ones(2).half(), torch.ones(2).half(), {}, TypeError, "float16"),
        (torch.ones(2), torch.ones(2), {"singular": "zero"}, ValueError, "singular is 'zero'"),
    ],
)
def test_arguments_without_a_meaning_are_refused(data, b, options, kind, words):
    with pytest.raises(kind, match=words):
        gs.torch.solve(gs.Pattern([0, 1], [0, 1]), data, b, **options)


def test_integers_are_numbers():
    x = gs.torch.solve(gs.Pattern([0], [0]), torch.tensor([2]), torch.tensor([1]))
    assert x.dtype == torch.get_default_dtype() and x.tolist() == [0.5]


def test_the_code_of_the_page_runs():
    code = [block for block in text("docs/from_torch.md").split("```\n") if "import torch" in block]
    assert code
    for block in code:
        exec(compile(block, "docs/from_torch.md", "exec"), {})


def test_without_torch_the_extra_is_named():
    code = (
        "import sys; sys.modules['torch'] = None\nimport graphsys as gs\n"
        "try:\n    gs.torch.solve(gs.Pattern([0], [0]), [1.0], [1.0])\n"
        "except gs.MissingExtraError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "graphsys[torch]"' in done.stdout
