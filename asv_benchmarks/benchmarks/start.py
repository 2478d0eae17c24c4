"""What a user waits for in a fresh process: with machine code on disk, or compiling all of it."""

EMPTY_CACHE = """
        import os, tempfile

        os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp()
        os.environ["GRAPHSYS_COMPILE"] = "1"  # leave machine code of the package alone
"""
FIRST_SOLVE = """
        import numpy as np
        import graphsys as gs
        from graphsys.families import random_system

        random_system(gs.ladder(50), 6).solve(np.ones(600))
"""
FIRST_MOTION = """
        import dynamics as dy

        mechanism = dy.Mechanism(gravity=(0, 0, -9.81))
        rod = mechanism.add_body(dy.Box(0.1, 0.1, 1.0, mass=1.0))
        mechanism.add_joint(
            dy.Revolute(mechanism.world, rod, axis=(0, 1, 0), child_point=(0, 0, 0.5))
        )
        model = mechanism.finalize(timestep=0.01)
        dy.simulate(model, model.initial_state(), seconds=10.0).energy()
"""


class Start:
    number = 1
    repeat = 3
    timeout = 300

    def timeraw_import(self):
        return "import graphsys"

    def timeraw_first_solve(self):
        return FIRST_SOLVE

    def timeraw_first_motion(self):
        return FIRST_MOTION


class Cold:
    number = repeat = rounds = 1
    timeout = 600

    def timeraw_first_solve(self):
        return EMPTY_CACHE + FIRST_SOLVE

    def timeraw_first_motion(self):
        return EMPTY_CACHE + FIRST_MOTION
