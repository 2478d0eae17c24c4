"""Status of an interval or a step: 0 or a number of iterations if it is solved, else one of these.

`dynamics.kinematics.diagnosis` has the sentence for each.
"""

NOT_CONVERGED = -1  # any of the methods ran out of iterations
SINGULAR = -2  # a pivot block is singular
NOT_FINITE = -3  # overflow, or a user's force that returns no number
TURNED_TOO_FAR = -4  # a body turns by more than `settings.LARGEST_TURN`
USER_FAILED = -5  # a user's distance function failed
PASSED_THROUGH = -6  # bodies pass through each other between the nodes
ENERGY_GAINED = -7  # joints and contacts give energy: see `interval.energy_audit`
INACCURATE = -8  # the shortest intervals differ by more than the accuracy: see `error_control`
