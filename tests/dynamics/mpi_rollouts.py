"""What `mpiexec -n 3 python -m mpi4py.futures mpi_rollouts.py` runs; test_rollouts reads it."""

import numpy as np
from mpi4py.futures import MPIPoolExecutor

import dynamics as dy


def main():
    """Compare rollouts on workers of MPI with those of this process, failures among them."""
    model, still = dy.zoo.cart_pole(0.2)
    jobs = [dy.Job(still, 0.1, parameters={"pole": {"mass": 0.1 * i}}) for i in range(6)]
    alone = dy.rollouts(model, jobs, threads=1)
    with MPIPoolExecutor(2) as pool:
        found = dy.rollouts(model, jobs, pool)
    same = [
        str(one.error) == str(other.error)
        and (not one.ok or np.array_equal(one.trajectory.states, other.trajectory.states))
        for one, other in zip(alone, found, strict=True)
    ]
    print("same", sum(same), "failed", [i for i, one in enumerate(found) if not one.ok])


if __name__ == "__main__":
    main()
