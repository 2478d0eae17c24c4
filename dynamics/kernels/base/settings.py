"""Places in the settings of a step: one set of these numbers per barrier to try, one after another.

The first set has the barrier that the user asks for, the others larger ones. Compositions and
methods beyond order 2 read the first set only.
"""

TOLERANCE = 0  # error of velocities, over the unit of velocity
LARGEST_TURN = 1  # largest |phi| of an interval: sine of half the angle that a body turns by
BARRIER = 2  # gamma s of contacts, over the unit of energy
CONTACT_TOLERANCE = 3  # error of momenta and of contact equations, over their units
ENERGY_SHARE = 4  # largest work of joints and contacts over the kinetic energy; 0: any
# A negative share accepts any work in the last division of a step, and reports it.
SETTINGS_SIZE = 5
