"""`gs.pytensor` compared with dense operations of PyTensor, and in a model of PyMC."""

import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import graphsys as gs

from ..house.source import text
from .test_pattern import EPS, dense, example

pytensor = pytest.importorskip("pytensor")
pt = pytensor.tensor

PATTERN, DATA, A = example(n=8)
N = PATTERN.n
TOLERANCE = 1000.0 * EPS * np.linalg.cond(A)


def right(*shape):
    return np.random.default_rng(1).normal(size=shape)


def symmetric(n=6):
    """Pattern of a chain, and entries of a positive definite matrix on it."""
    k = np.arange(n - 1)
    rows, columns = (
        np.concatenate([np.arange(n), k, k + 1]),
        np.concatenate([np.arange(n), k + 1, k]),
    )
    return gs.Pattern(rows, columns), np.concatenate([np.full(n, 3.0), -np.ones(2 * n - 2)])


def test_two_rows_by_hand():
    # x = (b0 / a0, b1 / a1) and log det = log(a0 a1) of a diagonal matrix
    pattern = gs.Pattern([0, 1], [0, 1])
    a, b = pt.vector("a", dtype="float64"), pt.vector("b", dtype="float64")
    x, log = gs.pytensor.solve(pattern, a, b), gs.pytensor.logdet(pattern, a)
    outputs = [x, *pytensor.grad(x.sum(), [a, b]), log, pytensor.grad(log, a)]
    found = pytensor.function([a, b], outputs)([2.0, 4.0], [2.0, 8.0])
    assert [f.tolist() for f in found[:3]] == [[1.0, 2.0], [-0.5, -0.5], [0.5, 0.25]]
    assert abs(found[3] - np.log(8.0)) <= 4 * EPS and found[4].tolist() == [0.5, 0.25]


@pytest.mark.parametrize("shape", [(N,), (N, 3)])
def test_solutions_are_those_of_dense_matrices(shape):
    b = right(*shape)
    x = gs.pytensor.solve(PATTERN, DATA, b).eval()
    wanted = np.linalg.solve(A, b)
    assert np.abs(x - wanted).max() <= TOLERANCE * np.abs(wanted).max()


@pytest.mark.parametrize("shape", [(N,), (N, 3)])
def test_gradients_of_solutions_are_those_of_differences(shape):
    rng = np.random.default_rng(0)
    pytensor.gradient.verify_grad(
        lambda data, b: gs.pytensor.solve(PATTERN, data, b), [DATA, right(*shape)], rng=rng
    )
    pytensor.gradient.verify_grad(
        lambda data, b: pytensor.grad((gs.pytensor.solve(PATTERN, data, b) ** 2).sum(), data),
        [DATA, right(*shape)],
        rng=rng,
    )


def test_gradients_of_log_determinants_are_those_of_differences():
    rng = np.random.default_rng(0)
    data = DATA if np.linalg.det(A) > 0 else np.where(PATTERN.rows == 0, -DATA, DATA)
    for pattern, entries in ((PATTERN, data), symmetric()):
        pytensor.gradient.verify_grad(
            lambda data, p=pattern: gs.pytensor.logdet(p, data), [entries], rng=rng
        )
        inverse = np.linalg.inv(dense(pattern.rows, pattern.columns, entries, pattern.n))
        gradient = pattern.logdet_gradient(entries)
        assert np.abs(gradient - inverse.T[pattern.rows, pattern.columns]).max() <= TOLERANCE


def test_log_determinants_of_matrices_without_one():
    pattern = gs.Pattern([0, 1], [0, 1])
    a = pt.vector("a", dtype="float64")
    log = gs.pytensor.logdet(pattern, a)
    f = pytensor.function([a], [log, pytensor.grad(log, a)])
    assert np.isnan(f([1.0, -1.0])[0]) and np.isnan(f([np.nan, 1.0])[0])
    value, gradient = f([0.0, 1.0])
    assert value == -np.inf and np.isnan(gradient).all()
    value, gradient = f([2.0, 0.5])
    assert abs(value) <= 4 * EPS and gradient.tolist() == [0.5, 2.0]


def test_single_precision_stays():
    pattern, data = symmetric()
    data = data.astype(np.float32)
    x = gs.pytensor.solve(pattern, data, np.ones(6, np.float32)).eval()
    log = gs.pytensor.logdet(pattern, data).eval()
    assert x.dtype == log.dtype == np.float32
    assert abs(log - pattern.logdet(data.astype(float))) <= 1e-5


def test_singular_matrices_are_errors_or_not_a_number():
    zero = np.where(PATTERN.rows == 7, 0.0, DATA)
    with pytest.raises(Exception, match=r"singular at row \d+"):
        gs.pytensor.solve(PATTERN, zero, right(N)).eval()
    assert np.isnan(gs.pytensor.solve(PATTERN, zero, right(N), singular="nan").eval()).all()


def test_arguments_without_a_meaning_are_refused():
    pattern = gs.Pattern([0], [0])
    with pytest.raises(TypeError, match="data has 2 axes"):
        gs.pytensor.solve(pattern, [[1.0]], [1.0])
    with pytest.raises(TypeError, match="b has 3 axes"):
        gs.pytensor.solve(pattern, [1.0], [[[1.0]]])
    with pytest.raises(TypeError, match="complex128"):
        gs.pytensor.logdet(pattern, [1.0j])
    for function in (
        lambda: gs.pytensor.solve(None, [1.0], [1.0]),
        lambda: gs.pytensor.logdet(None, [1.0]),
    ):
        with pytest.raises(TypeError, match="pattern is a NoneType"):
            function()
    with pytest.raises(ValueError, match="singular is 'zero'"):
        gs.pytensor.solve(pattern, [1.0], [1.0], singular="zero")
    with pytest.raises(ValueError, match=r"data has shape \(2,\)"):
        gs.pytensor.logdet(pattern, [1.0, 2.0]).eval()
    assert gs.pytensor.solve(pattern, [2], [1]).eval().tolist() == [0.5]


@pytest.mark.parametrize("mode", ["NUMBA", "FAST_COMPILE"])
def test_numba_and_python_compute_the_same(mode):
    pattern, entries = symmetric()
    a, b = pt.vector("a", dtype="float64"), pt.matrix("b", dtype="float64")
    x, log = gs.pytensor.solve(pattern, a, b), gs.pytensor.logdet(pattern, a)
    outputs = [x, log, *pytensor.grad((x**2).sum() + log, [a, b])]
    f = pytensor.function([a, b], outputs, mode=mode)
    right = np.random.default_rng(2).normal(size=(2, 6)).T  # not contiguous
    A = dense(pattern.rows, pattern.columns, entries, 6)
    inverse = np.linalg.inv(A)
    lam = 2.0 * inverse.T @ inverse @ right
    of_a = inverse.T - lam @ (inverse @ right).T
    wanted = inverse @ right, np.linalg.slogdet(A)[1], of_a[pattern.rows, pattern.columns], lam
    for found, expected in zip(f(entries, right), wanted, strict=True):
        assert np.abs(found - expected).max() <= 1e-13
    with pytest.raises(ValueError, match="singular at row"):
        f(0.0 * entries, right)


def test_operations_can_be_pickled():
    pattern, entries = symmetric()
    positive = gs.Pattern(pattern.rows, pattern.columns, positive_definite=True)
    node = gs.pytensor.logdet(positive, pt.as_tensor(entries)) + gs.pytensor.solve(
        positive, entries, np.ones(6)
    )
    assert np.array_equal(pickle.loads(pickle.dumps(node)).eval(), node.eval())


@pytest.mark.filterwarnings("ignore")  # of PyMC about short chains
def test_a_model_of_pymc_samples_a_field():
    pm = pytest.importorskip("pymc")
    pattern, entries = symmetric(10)
    n, y = pattern.n, np.linspace(-1.0, 1.0, pattern.n)

    with pm.Model() as model:
        tau = pm.Exponential("tau", 1.0)
        Q = tau * entries
        x = pm.Flat("x", shape=n)
        energy = (Q * x[pattern.rows] * x[pattern.columns]).sum()
        pm.Potential("field", 0.5 * gs.pytensor.logdet(pattern, Q) - 0.5 * energy)
        pm.Normal("y", x, 1.0, observed=y)

    def log_density(log_tau, x):
        tau, K = np.exp(log_tau), dense(pattern.rows, pattern.columns, entries, n)
        field = 0.5 * np.linalg.slogdet(tau * K)[1] - 0.5 * tau * (x @ K @ x)
        normal = -0.5 * ((y - x) ** 2).sum() - 0.5 * n * np.log(2 * np.pi)
        return -tau + log_tau + field + normal

    point = {"tau_log__": np.array(0.3), "x": y}
    found = model.compile_logp()(point)
    assert abs(found - log_density(0.3, y)) <= 1e-10
    slope = model.compile_dlogp([tau])(point)
    h = 1e-5
    wanted = (log_density(0.3 + h, y) - log_density(0.3 - h, y)) / (2 * h)
    assert abs(slope[0] - wanted) <= 1e-6
    trace = pm.sample(
        20, tune=20, chains=1, cores=1, random_seed=0, progressbar=False, model=model,
        compute_convergence_checks=False,
    )  # fmt: skip
    assert trace.posterior["x"].shape == (1, 20, n)
    assert np.isfinite(trace.posterior["tau"].values).all()


def test_the_code_of_the_page_runs():
    code = re.findall("```\n(import numpy.*?)```", text("docs/from_pytensor.md"), re.DOTALL)
    assert code
    for block in code:
        exec(compile(block, "docs/from_pytensor.md", "exec"), {})


@pytest.mark.filterwarnings("ignore")  # of PyMC about what it imports
def test_models_of_the_page_have_the_densities_of_dense_matrices():
    pytest.importorskip("pymc")
    rng = np.random.default_rng(0)
    scope = {"np": np, "gs": gs, "counts": rng.poisson(1.0, 25), "y": rng.normal(size=25)}
    for block in re.findall("```text\n(.*?)```", text("docs/from_pytensor.md"), re.DOTALL):
        code = block.replace("m = 316", "m = 5").replace("    trace = pm.sample", "    # ")
        exec(compile(code, "docs/from_pytensor.md", "exec"), scope)
    G, x, y = scope["G"].toarray(), 0.1 * scope["y"], scope["y"]
    point = {"kappa_log__": np.log(0.4), "tau_log__": np.log(1.5), "sigma_log__": np.log(0.7)}
    point = {name: np.array(value) for name, value in point.items()}
    other = {**point, "kappa_log__": np.log(0.6), "tau_log__": np.log(0.8)}

    def difference(name, wanted):
        # of two points, so that constants of the densities do not matter
        model = scope[name]
        f = model.compile_logp(vars=model.potentials)
        names = [variable.name for variable in model.value_vars]
        values = [f({k: {**p, "x": x}[k] for k in names}) for p in (point, other)]
        return values[0] - values[1] - (wanted(0.4, 1.5) - wanted(0.6, 0.8))

    def precision(kappa, tau):
        return tau * (kappa**2 * np.eye(25) + G)

    def field(kappa, tau):
        Q = precision(kappa, tau)
        return 0.5 * np.linalg.slogdet(Q)[1] - 0.5 * x @ Q @ x

    def observed(kappa, tau):
        S = np.linalg.inv(precision(kappa, tau)) + 0.7**2 * np.eye(25)
        return -0.5 * np.linalg.slogdet(S)[1] - 0.5 * y @ np.linalg.solve(S, y)

    assert abs(difference("latent", field)) <= 1e-11
    assert abs(difference("marginal", observed)) <= 1e-11


def test_without_pytensor_the_extra_is_named():
    code = (
        "import sys; sys.modules['pytensor'] = None\nimport graphsys as gs\n"
        "try:\n    gs.pytensor.logdet(gs.Pattern([0], [0]), [1.0])\n"
        "except gs.MissingExtraError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "graphsys[pytensor]"' in done.stdout
