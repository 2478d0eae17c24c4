"""The chains of `step` in Exudyn: the same redundant coordinates, one constraint a hinge or ball.

``python -m benchmarks.exudyn_chain`` prints its time beside ours, in turns and in one process; it
needs ``pip install exudyn``. Trapezoidal rule of index 2, modified Newton, sparse matrices: the
fastest of its implicit solvers here.
"""

import time

import numpy as np

from benchmarks.step import SECONDS, calm, run
from dynamics import rotation

from .usage import answer_help


def exudyn_chain(model, state, joint):
    """A function that simulates ten seconds from the same poses at rest: seconds of CPU it took."""
    import exudyn
    from exudyn import itemInterface, rigidBodyUtilities

    turns = rotation.to_matrix(state.pose[:, 3:])

    def simulate():
        container = exudyn.SystemContainer()
        system = container.AddSystem()
        before = system.AddObject(itemInterface.ObjectGround())
        for body, pose, turn in zip(model.bodies, state.pose, turns):
            inertia = rigidBodyUtilities.RigidBodyInertia(
                mass=body.mass, inertiaTensor=body.inertia
            )
            link = system.CreateRigidBody(
                inertia=inertia, referencePosition=list(pose[:3]), referenceRotationMatrix=turn,
                gravity=list(model.mechanism.gravity),
            )  # fmt: skip
            hinge = next(one for one in model.mechanism.joints.values() if one.child is body)
            place = pose[:3] + turn @ hinge.child_point
            ends = {"itemNumbers": [before, link], "position": list(place), "show": False}
            if joint == "revolute":
                system.CreateRevoluteJoint(axis=[0.0, 1.0, 0.0], useGlobalFrame=True, **ends)
            else:
                system.CreateSphericalJoint(**ends)
            before = link
        system.Assemble()
        settings = exudyn.SimulationSettings()
        settings.timeIntegration.numberOfSteps = round(SECONDS / 0.01)
        settings.timeIntegration.endTime = SECONDS
        settings.timeIntegration.newton.useModifiedNewton = True
        settings.timeIntegration.verboseMode = 0
        settings.linearSolver.solverType = exudyn.LinearSolverType.EigenSparse
        settings.solution.file.write = False
        settings.parallel.numberOfThreads = 1
        start = time.process_time()
        system.SolveDynamic(settings, solverType=exudyn.DynamicSolverType.TrapezoidalIndex2)
        return time.process_time() - start

    return simulate


def main():
    """Print the table."""
    print("1000 steps [ms]      ours      Exudyn   ratio")
    for joint in ("revolute", "spherical"):
        for n in (1, 2, 10, 20, 50):
            model, state = calm(n, joint)
            theirs = exudyn_chain(model, state, joint)
            run(model, state)
            ours = other = np.inf
            for _ in range(3):
                start = time.process_time()
                run(model, state)
                ours = min(ours, time.process_time() - start)
                other = min(other, theirs())
            print(f"{joint:10s} {n:4d} {1e3 * ours:11.2f} {1e3 * other:11.2f} {other / ours:7.1f}")


if __name__ == "__main__":
    answer_help(__doc__)
    main()
