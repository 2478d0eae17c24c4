"""What a user waits for in a fresh process; the kernels come from numba's cache."""


class Start:
    number = 1
    repeat = 3
    timeout = 300

    def timeraw_import(self):
        return "import graphsys"

    def timeraw_first_solve(self):
        return """
        import numpy as np
        import graphsys as gs
        from graphsys.families import random_system

        random_system(gs.ladder(50), 6).solve(np.ones(600))
        """
