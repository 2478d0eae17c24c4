"""Places in the settings of a step: sets of these numbers to try, one after another.

The first set is what the user asks for, the others have larger barriers and less friction.
Compositions and methods beyond order 2 read the first set only.
"""

TOLERANCE = 0  # error of velocities, over the unit of velocity
LARGEST_TURN = 1  # largest |phi| of an interval: sine of half the angle that a body turns by
BARRIER = 2  # gamma s of contacts, over the unit of energy
CONTACT_TOLERANCE = 3  # error of momenta and of contact equations, over their units
ENERGY_SHARE = 4  # largest work of joints and contacts over the kinetic energy; 0: any
# A negative share accepts any work in the last division of a step, and reports it.
FRICTION_PART = 5  # of the coefficients of friction
HEAP_BARRIER = 6  # in heaps of bodies, whose friction settles slowly
SETTINGS_SIZE = 7
