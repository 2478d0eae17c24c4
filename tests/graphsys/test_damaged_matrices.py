"""Scipy matrices with damaged tables are refused before compiled code of scipy reads them."""

import numpy as np
import pytest
import scipy.sparse as sp

import graphsys as gs

DENSE = np.array([[4.0, 1.0, 0.0, 0.0], [1.0, 4.0, 1.0, 0.0], [0.0, 1.0, 4.0, 1.0], [0, 0, 1, 4]])


def damaged(format, table, place, value):
    matrix = sp.csr_array(DENSE).asformat(format)
    if format == "lil":
        matrix.rows[1][0] = value
    else:
        array = getattr(matrix, table).copy()
        array[place] = value
        setattr(matrix, table, array)
    return matrix


@pytest.mark.parametrize(
    ("format", "table"),
    [("csr", "indices"), ("csc", "indices"), ("bsr", "indices"), ("coo", "row"), ("coo", "col")]
    + [("csr", "indptr"), ("csc", "indptr"), ("bsr", "indptr"), ("lil", "rows")],
)
@pytest.mark.parametrize("value", [-1, 9, 10**6])
def test_an_index_out_of_range(format, table, value):
    with pytest.raises(ValueError, match="the tables of A are damaged"):
        gs.System.from_scipy(damaged(format, table, 1, value))
    with pytest.raises(ValueError, match="the tables of the adjacency are damaged"):
        gs.System(damaged(format, table, 1, value), 1)
    system = gs.System.from_scipy(sp.csr_array(DENSE))
    with pytest.raises(ValueError, match="the tables of A are damaged"):
        system.set_from_scipy(damaged(format, table, 1, value))


def test_the_sentence_names_the_index():
    with pytest.raises(ValueError, match="column index 1000000, outside 0 to 3"):
        gs.System.from_scipy(damaged("csr", "indices", 3, 10**6))


@pytest.mark.parametrize(
    ("format", "tables", "sentence"),
    [
        ("coo", {"data": np.ones(3)}, "10 row indices for 3 entries"),
        ("dia", {"offsets": np.array([0, 1])}, "3 diagonals, 2 offsets"),
        ("csr", {"data": np.ones(3)}, "indptr ends at 10, there are 10 indices for 3 entries"),
        ("csc", {"indices": np.zeros(3, int)}, "indptr ends at 10, there are 3 indices for 10"),
        ("csr", {"indices": np.zeros(10)}, "column indices of type float64"),
        ("lil", {"data": np.array([[1.0], [], [], []], object)}, "2 column indices for 1 entries"),
    ],
)
def test_tables_that_do_not_fit_together(format, tables, sentence):
    matrix = sp.csr_array(DENSE).asformat(format)
    for name, table in tables.items():
        setattr(matrix, name, table)
    with pytest.raises(ValueError, match=f"the tables of A are damaged: {sentence}"):
        gs.System.from_scipy(matrix)


@pytest.mark.parametrize("format", ["csr", "csc", "bsr", "coo", "dia", "lil", "dok"])
def test_sound_ones_of_every_format_pass(format):
    system = gs.System.from_scipy(sp.csr_array(DENSE).asformat(format))

    assert np.array_equal(system.to_dense(), DENSE)
