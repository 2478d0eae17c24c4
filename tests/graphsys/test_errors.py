"""Errors say a sentence, belong to the families that users catch, and survive pickling."""

import pickle

import numpy as np
import pytest

from graphsys.errors import (
    InaccurateSolutionWarning,
    MissingExtraError,
    SingularPivotError,
    UnknownEdgeError,
    UnknownNodeError,
)


def test_a_singular_pivot_is_a_linalg_error_that_knows_where():
    error = SingularPivotError("pivot of ('body', 3) is singular", ("body", 3), 7, 0.0)

    for one in (error, pickle.loads(pickle.dumps(error))):
        assert isinstance(one, np.linalg.LinAlgError)
        assert str(one) == "pivot of ('body', 3) is singular"
        assert (one.node, one.step, one.ratio) == (("body", 3), 7, 0.0)


def test_a_missing_extra_is_an_import_error_that_says_what_to_install():
    error = MissingExtraError("symbolic.plot()", "matplotlib", "plot")

    for one in (error, pickle.loads(pickle.dumps(error))):
        assert isinstance(one, ImportError)
        assert str(one) == (
            "symbolic.plot() needs matplotlib, which is not installed: "
            'run pip install "graphsys[plot]"'
        )
        assert one.name == "matplotlib"


@pytest.mark.parametrize("kind", [UnknownNodeError, UnknownEdgeError])
def test_an_unknown_label_is_a_key_error_with_a_plain_sentence(kind):
    error = pickle.loads(pickle.dumps(kind("'z' is not a node")))

    assert type(error) is kind
    assert isinstance(error, KeyError)
    assert str(error) == "'z' is not a node"
    assert str(kind()) == ""


def test_an_inaccurate_solution_warns_as_scipy_does():
    from scipy.linalg import LinAlgWarning

    assert issubclass(InaccurateSolutionWarning, RuntimeWarning)
    assert issubclass(LinAlgWarning, RuntimeWarning)
