"""What every process of `mpiexec -n 2 python petsc_processes.py` does; test_interop runs it."""

import numpy as np
from petsc4py import PETSc

import graphsys as gs
from graphsys.families import body_joint_tree, random_saddle_system, random_system
from graphsys.interop import solve_petsc, to_petsc


def main():
    """Say of each system how the matrix is kept and how far off the solutions are."""
    world = PETSc.COMM_WORLD
    ladder = gs.ladder(6)
    for system in (
        random_system(ladder, 3),
        random_system(ladder, {u: 1 + k % 3 for k, u in enumerate(ladder)}),
        random_saddle_system(body_joint_tree(5)),
    ):
        A = to_petsc(system, world)
        b = np.random.default_rng(1).standard_normal((system.shape[0], 2))
        x = solve_petsc(system, b, "mumps", world)
        try:
            solve_petsc(system, b, "petsc", world)
            refused = False
        except ValueError:
            refused = True
        errors = PETSc.Vec().createMPI((1, None), comm=world)  # one of each process
        errors.setValue(world.getRank(), abs(system.to_dense() @ x - b).max())
        errors.assemble()
        worst = errors.max()[1]
        if world.getRank() == 0:
            print(world.getSize(), A.getType(), f"{worst:.1e}", refused)


if __name__ == "__main__":
    main()
