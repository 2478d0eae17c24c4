"""From values to a numeric factorization, with new memory and in the memory of the last one."""

import numpy as np

from . import cases, clock


class Factorize:
    params = cases.PARAMS
    param_names = cases.PARAM_NAMES

    def setup(self, family, n):
        self.system = cases.system(family, n)
        self.symbolic = self.system.analyze()
        self.system.factorize(self.symbolic)  # compile before the clock starts

    def time_factorize(self, family, n):
        self.system.factorize(self.symbolic)


class Refactorize:
    params = cases.PARAMS
    param_names = cases.PARAM_NAMES

    def setup(self, family, n):
        system = cases.system(family, n)
        self.values = system.values
        self.factor = system.factorize(system.analyze())
        self.factor.refactorize(self.values)

    def time_refactorize(self, family, n):
        self.factor.refactorize(self.values)


class RefactorizeBlocks:
    """Blocks of other sizes than 6."""

    params = (["chain", "ladder", "net", "crystal"], [1, 2, 3, 4, 12])
    param_names = ("graph", "block")
    nodes = 343

    def setup(self, family, block):
        system = cases.system(family, self.nodes, block)
        self.values = system.values
        self.factor = system.factorize(system.analyze())
        self.factor.refactorize(self.values)

    def time_refactorize(self, family, block):
        self.factor.refactorize(self.values)

    def track_rate(self, family, block):
        seconds = clock.fastest(lambda: self.factor.refactorize(self.values))
        return self.factor.symbolic.operations / seconds / 1e9

    track_rate.unit = "GFLOP/s"


class RefactorizeScaling:
    """Exponent p of time ~ nodes^p between these sizes: 1 at best, 1.5 for nets, 2 for crystals."""

    params = ["chain", "tree", "ladder", "net", "crystal"]
    param_names = ("graph",)
    nodes = (100, 1000, 10_000)
    nodes_of_crystal = (5**3, 8**3, 12**3)
    timeout = 300

    def track_exponent(self, family):
        points = []
        for n in self.nodes_of_crystal if family == "crystal" else self.nodes:
            system = cases.system(family, n)
            values, factor = system.values, system.factorize()
            seconds = clock.fastest(lambda f=factor, v=values: f.refactorize(v))
            points.append((len(system.labels), seconds))
        nodes, seconds = np.log(points).T
        return float(np.polyfit(nodes, seconds, 1)[0])

    track_exponent.unit = "exponent of time over nodes"
