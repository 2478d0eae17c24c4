"""Places in the info of a step: an array of `INFO_SIZE` numbers that a run keeps between steps.

A place without a ``_SIZE`` holds one number. Flags are 0 or 1.
"""

# The last interval
VELOCITY_ERROR = 0  # largest error of velocities, over units; with contacts also of their equations
VIOLATION = 1  # largest constraint value |g|, over the unit of length, or rad

# The step, as `StepInfo` reports it
FACTORIZATIONS = 2  # numeric factorizations, those of failed attempts included
ITERATIONS = 3  # Newton iterations of the intervals solved
INTERVALS = 4  # intervals that the step is divided into
STATUS = 5  # 0, or a code of `status`
RELAXATION = 6  # barrier of contacts relative to the requested one
LARGEST_WORK = 7  # largest work of joints and contacts in an interval, J: see `energy_audit`
UNEXPLAINED_INTERVALS = 8  # intervals with more of it than the bound, accepted with a warning

# Where the step is
TIME = 9  # at its start, s
NODE_SIDE = 10  # half of the workspace that holds the node of the state: 0 or 1

# Newton's method: `interval.newton`
CONTRACTION = 11  # ratio of the first two changes of velocities; 0 if one was enough

# Predictor of order 2: `interval.predictor`
#: Of the last interval, s, negative with contacts; 0 if it was a part of a step that failed.
LAST_LENGTH = 12
EQUAL_LENGTHS = 13  # last intervals of that length, at most DIFFERENCE_WEIGHTS_SIZE + 1
DIFFERENCE_WEIGHTS = 14  # of the velocity and its first three backward differences
DIFFERENCE_WEIGHTS_SIZE = 4

# Substeps against resonance: `stepping.resonance`
STEP_HALVINGS = 18  # log2 of the intervals that a step begins with

# Contacts: `contacts.interior_point`
RESTITUTION_PART = 19  # of all restitutions in this interval: below 1 if they would give energy
COLD_START = 20  # flag: path Newton failed, the interior-point method starts cold
NEAREST = 21  # what `geometry.gap` reports of one contact: see `contact_layout`
NEAREST_SIZE = 10

# Methods beyond order 2: `galerkin.predictor`, `galerkin.newton`
STORED_STEPS = 31  # steps in the table of backward differences
VELOCITY_TERMS = 32  # number of differences to add up for velocities, factors of the last two
VELOCITY_TERMS_SIZE = 3
IMPULSE_TERMS = 35  # the same for impulses
IMPULSE_TERMS_SIZE = 3
MIDDLE_WAIT = 38  # intervals until the matrix of the middle is tried again
MIDDLE_PAUSE = 39  # length of the last such wait
ROUGH = 40  # flag: the matrix of the middle served to the end of the last interval

# Energy balance of a motion: `interval.energy_balance`; `substeps` restores these if a step fails
BALANCE = 41  # energy less what was put in, above that of the first interval, J
LEAST_BALANCE = 42  # its least value
MOST_KINETIC = 43  # largest kinetic energy since then, J
HELD = 44  # energy at the end of the last interval, J
HELD_LENGTH = 45  # length of that interval, s
KINETIC = 46  # kinetic energy of the last interval, J
LARGEST_RISE = 47  # largest rise over the least value, J

# Intervals, as sensors of acceleration need them
LENGTH = 48  # of the last interval, s; 0 if velocities were given at its start
SPACING = 49  # time over which its impulses acted: half of it and of the one before, s

# Error control: `kernels.error_control`
WANTED_LENGTH = 50  # of the next pair of intervals, s; 0 before the first
LAST_ERROR = 51  # of the last pair, over what it may be
REJECTED = 52  # intervals that were solved and rejected since the run began
SHORTEST = 53  # shortest interval accepted since then, s
LEAST_ERROR = 54  # of the pair that failed, over what it may be
WORST_BODY = 55  # body with that error
UNRESOLVED = 56  # pairs since the run began in which impacts left more error than they may

# The step, as `StepInfo` reports it, too
FRICTION = 57  # part of the friction that it was solved with
RAISED = 58  # barrier of the interval, then of the step, over that of its settings

INFO_SIZE = 59
