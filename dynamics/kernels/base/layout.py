"""Layout of the tables: an int64 ``plan`` and a float64 ``constant``, made once per model.

``plan`` starts with a header; the places below index it. Then come, one after another,

- *bodies*: the place of each body's diagonal block in the matrix values, then for each the first of
  the bodies that joints, forces and users' functions connect with it: see `contacts.islands`;
- *groups*: pairs of frames on two bodies that rows refer to. The first ``JOINTS`` are joints, with
  constraint rows and a node of the graph each, the last of them later groups of couplings and of
  users' functions of three and more bodies, whose rows add to the first group's equations and
  node; the others carry forces;
- *rows*: one scalar function of a group each, of a ``kind`` of `rows`.

The world is body number ``plan[BODIES]``: its pose is the last in every array of poses.
"""

# Header of plan
BODIES = 0
JOINTS = 1
GROUPS = 2
ROWS = 3  # constraint rows: the first of all rows
ALL_ROWS = 4
GROUP_AT = 5
ROW_AT = 6
GROUP_CONSTANT_AT = 7
ROW_CONSTANT_AT = 8
CONTROLS = 9
WORK_SIZE = 10
BODY_AT = 11
MEASURES = 12  # groups after the forces, which only `measure` evaluates
MEASURED_ROWS = 13
CONTACTS = 14
CONTACT_AT = 15
CONTACT_CONSTANT_AT = 16
SLOTS = 17  # numbers of all contacts in a state
FALLBACK_AT = 18  # program of `graphsys` with loops eliminated last, FALLBACK_SIZE long
FALLBACK_SIZE = 19  # 0 where there is none
ADDED = 20  # bodies with an inertia of 6 x 6
ADDED_AT = 21
WRENCHES = 22  # users' functions of time, pose and twist
WRENCH_AT = 23
ROTORS = 24  # groups of forces with inertia on their rows or implicit, the first of them
SOFT = 25  # constraint rows with a compliance
HOLDING = 26  # joints with rows that hold velocities
DRAGGED = 27  # bodies with drag
UNITS_AT = 28  # place in constant of the units of rows
STIFF_NUMBERS = 29  # numbers of a state about implicit forces, after those of contacts; 0: none
SOFT_CONTACTS = 30  # 1 if any contact, of near pairs too, or limit has a compliance
PLANAR_AT = 31  # equations in the plane of a planar mechanism; 0: it is none
HEADER = 32

# Planar mechanism, from place PLANAR_AT: how many follow of each kind, then unknowns in the plane;
# unknowns out of it, each with the place of its unit (of bodies before LIGHTNESS, of rows after
# UNITS_AT); places of entries of the blocks in the plane in the matrix values; of a tree their
# places in panels, unknowns in the order of pivots, and tables of `interval.panels`; their program
INNER, OUTER, ENTRIES, PANEL_GROUPS, PANEL_NUMBERS, PROGRAM_SIZE = 0, 1, 2, 3, 4, 5
PLANAR_HEADER = 6
# A panel: columns of SIDE numbers. Record of a group: pivots, numbers that it adds to later
# panels, and its unknowns in the order of pivots. Then two places for each of these numbers.
SIDE = 8
PANEL = SIDE * SIDE
GROUP_PIVOTS, GROUP_SUMS, GROUP_UNKNOWNS = 0, 1, 2
PANEL_GROUP = GROUP_UNKNOWNS + SIDE

# One group in plan
A, B = 0, 1  # bodies; BODIES is the world
N_ROWS = 2
FIRST_ROW = 3
DIAGONAL_AT = 4  # block (j, j) of a joint j; -1 where there is none
# Blocks (a, j), (j, a), (b, j), (j, b) of a joint; blocks (a, b), (b, a) of a force, then -1, -1.
AJ_AT, JA_AT, BJ_AT, JB_AT = 5, 6, 7, 8
CALLBACK = 9  # address of a user's function, 0 where there is none
TURNS = 10  # 1 where a row looks at the relative rotation, ALIGNED where its offset is none
EQUATION = 11  # first of its equations and multipliers: FIRST_ROW, but in a later group
PINNED = 12  # 1 where its rows are three POINT and any number of ROTATION, as in most joints
NEXT = 13  # next group of the same user's function, in a ring: itself where there is one group
MIX = 14  # place after UNITS_AT of the factors that recombine its rows; 0: they stay as they are
GROUP_FIELDS = 15
ALIGNED = 2

# One row in plan
KIND = 0
CONTROL = 1  # index into the controls, -1 where there is none
ROW_FIELDS = 2

# One body with an inertia of 6 x 6, in plan
ADDED_BODY = 0
ADDED_ROW = 1  # first of three rows, along the body's axes
SPATIAL = 2  # place in constant of M (6 x 6, [omega; v]), its block of rotation 0
ADDED_FIELDS = 3

# One user's wrench in plan: A and B as in a group, then the address of the function
WRENCH_FIELDS = 3
# After a node's forces: its time, then of each wrench that on b, that on a, slopes of that on b
WRENCH_SIZE = 48

# One body in constant, from place body * BODY_SIZE
MASS = 0
INERTIA = 1  # 3 x 3, row-major, body frame
GRAVITY = 10  # world frame
DRAG = 13  # force over velocity
SPIN_DRAG = 14  # torque over angular velocity
LARGEST_INERTIA = 15
# Reciprocals of the units of its part, see `dynamics.tables.units`: length l, speed v, mass m
LIGHTNESS = 16  # 1 / (MASS v) thrice, then l / (LARGEST_INERTIA v) thrice: of impulses
PACE = 22  # 1 / v thrice, then l / v thrice: of a twist
IMPULSE = 28  # 1 / (m v) thrice, then 1 / (m l v) thrice: of residuals with contacts
EXTENT = 34  # 1 / l
DRAG_THETA = 35  # part of the drags that acts at the start of an interval
BODY_SIZE = 36

# Units of rows, from place plan[UNITS_AT]: a time, the median of l / v of all bodies; then of each
# constraint row 1 / l, 1 of a row in rad; then of its multiplier 1 / (m v), or 1 / (m l v)

# One group in constant
POINT_A = 0  # frame of a
POINT_B = 3  # frame of b
OFFSET = 6  # rotation of the group's frame in a's frame, quaternion
GROUP_SIZE = 10

# One row in constant
AXIS = 0
SECOND = 3  # second axis, of DOT rows
REST = 6
PITCH = 7  # metres a radian
COMPLIANCE = 8
DAMPING = 9
STIFFNESS = 10
THETA = 11  # part of a multiplier or of a damper that acts at the start of an interval
REGULARIZATION = 12  # in the matrix only
PULL = 13  # force of a row that does not depend on its value
LEAST, MOST = 14, 15  # what a control of the row is cut to
PERIOD = 16  # of a coupling or a rotor, whole multiples of which mean nothing; 0: there is none
ARMATURE = 17  # inertia of the rotor on a row
IMPLICIT_STIFFNESS, IMPLICIT_DAMPING = 18, 19  # of the end of an interval: see `stiff_forces`
GAIN, TARGET = 20, 21  # of a servo, whose control adds to its target; its force is cut as controls
ROW_SIZE = 22

# One contact in plan; A and B are bodies as in a group
CONTACT_KIND = 2  # of `contacts.geometry`
BLOCKS = 3  # friction blocks: sliding, torsional, rolling
SLOT = 4  # first of its numbers in a state
AB_AT, BA_AT = 5, 6  # blocks between the bodies, -1 where one of them is the world
CONTACT_CALLBACK = 7
LIMITED_ROW = 8  # row of a force group, of a limit or of dry friction
FACETS = 9  # directions of the sliding block's linearized cone, 0 where it is round
OF_PLANE = 10  # 1 where a is a plane between two bodies
CONTACT_FIELDS = 11

# One contact in constant
CONTACT_A = 0  # point on a: centre, first end of a segment, point on a plane
SECOND_A = 3  # second end of a segment, normal of a plane, half sizes of a box
CONTACT_B = 6
SECOND_B = 9
RADIUS_A = 12
RADIUS_B = 13
FRAME_A = 14  # of a box on a, quaternion
RESTITUTION = 18
SOFTNESS = 19  # m/N
LIMIT = 20
SIGN = 21
FRICTION = 22  # coefficients of the blocks: none, m, m; of dry friction its bound, N or N m
OF_RATE = 25  # whether a limit is that of a velocity
# Units of the lighter of both parts: m v^2; reciprocals of v, and of v / l of blocks beyond the
# first; length and acceleration v^2 / l. Those of a limited angle are 1 rad, v / l and v^2 / l^2.
ENERGY = 26
CONTACT_PACE = 27
TURNING_PACE = 28
CONTACT_LENGTH = 29
FALL = 30
CONTACT_SIZE = 31

# Numbers of a contact in a state: (2,), then BLOCK per friction block, then those of the facets.
# Dry friction of a row is a contact that presses with gamma = 1, whose row N is 0 and whose s is 1.
GAMMA = 0  # normal impulse (in a state: force)
SLACK = 1  # s: normal velocity that the complementarity sees
CONES = 2  # first friction block
# One friction block
BETA = 0  # (2,): friction impulse
ETA0 = 2  # head of the dual cone
ETA = 3  # (2,): T u
BLOCK = 5


def slots_of(blocks: int, facets: int) -> int:
    """Numbers of a contact with so many friction blocks, and directions of a linearized cone."""
    return CONES + BLOCK * blocks + (facets + 1 if facets > 0 else 0)


# Nearest points of a contact: see `contacts.geometry.gap`
DISTANCE_AT = 0  # gap, m
NORMAL_AT = 1  # (3,): from a to b, world frame
ARM_A_AT = 4  # (3,): from the centre of mass of a to its nearest point, m
ARM_B_AT = 7  # (3,): the same of b

# Slopes of a row by the twists of its bodies: six of a, then six of b
SLOPES = 12

# Work array of a contact. Rows W are N, then two rows T per friction block.
W_AT = 0  # (12,): row N at the start of the interval
T_AT = 12  # (3 24,): rows T of each friction block at the start
NEXT_AT = 84  # (12,): row N at the end
GAP_AT = 96  # gap at the end, m
SPEED_AT = 97  # e N u at an impact, or the speed of a limit; 0: the gap is held
ACTIVE_AT = 98  # 1 if the contact takes part, 0 if not, or one of the marks below
ISLAND_AT = 99  # its island: see `contacts.islands`
BARRIER_AT = 100  # own barrier, if above that of the interval
UNDECIDED_AT = 101  # 1 if `delassus` solves the contact: it is not in the matrix then
MASS_AT = 102  # effective mass of N, in active contacts
BLOCK_MASS_AT = 103  # (3,): effective mass of the first row of each friction block
K_AT = 106  # stiffness of the normal
K_BLOCKS_AT = 107  # (3 6,): stiffness of each friction block
FREE_AT = 125  # step of gamma with all bodies held
FREE_BLOCKS_AT = 126  # (3 2,): step of each beta with all bodies held
RESTITUTION_AT = 132  # part of its restitution that a contact bounces with; negative if it did
ERROR_AT = 133  # of the gap's equation, before the step
SOFT_AT = 134  # C / (h t) of a time t that its force acts
FACTORED_AT = 135  # (12,): row N at the end that is in the matrix
FRICTION_PART_AT = 147  # part of its friction that the interval has
CONTACT_WORK = 148
SUMS = 3 * SLOPES  # three rows of the product K W of one contact, after the list of contacts
T_SIZE = 2 * SLOPES  # of one friction block
# Stiffness of a friction block: d beta by d gamma of the normal (2,), by d(T u) (2 x 2, row-major)
K_SPEED = 2
K_BLOCK = 6

#: Rows of contacts that `delassus` solves at once, and its workspace after that of contacts: two
#: matrices and two vectors.
DELASSUS_ROWS = 64
DELASSUS_WORK = 2 * DELASSUS_ROWS * (DELASSUS_ROWS + 1)
#: Right-hand sides that it solves at once; they and their solutions are the last of the workspace.
COLUMNS = 8

#: Marks of a contact: it must act as it was passed; it is left out, or bounced, and is checked.
MUST_ACT, LEFT_OUT, BOUNCED = 2.0, -1.0, -2.0

# Record of a body about islands, after all contacts, the list of those that act (their number,
# then which) and `SUMS`. An island has the number of one of its bodies; its numbers are in that
# body's record.
ISLAND = 0  # number of the body's island
PHASE = 1  # of the island: a mark below
MOMENTUM_ERROR = 2  # over units, as all errors
ERROR_BEFORE = 3  # that of the iteration before
CONTACT_ERROR = 4  # of the contacts' equations; -1 where momenta are not there yet
OPENED = 5  # largest |g|
MEAN = 6  # of gamma s of its contacts, over units of energy
PREDICTED = 7  # that after a step without barrier
AIM = 8  # barrier of the next step, over units of energy
STEP_PART = 9  # part of the next step
COUNT = 10
CORRECTED = 11  # 1 if that step has a second order
BEST = 12  # least contact error with momenta there
STALLED = 13  # iterations since it was halved
QUADRATIC = 14  # of the predicted step, over units of energy
FIRST_MEAN = 15  # mean of gamma s at the first iteration
PLANE_DAMPING = 16  # of planes between bodies in the matrix, over their own mass and inertia
ISLAND_SIZE = 17
#: Phases: its equations are being solved, are solved, or wait for another start.
OPEN, SETTLED, LOST = 1.0, 0.0, -1.0

# State of the solver of a planar mechanism: whether its factors are those of the equations in the
# plane alone, then the residuals out of it, over units, that let the factorization be so
TAKEN, BALANCED, CLOSED = 0, 1, 2
PLANAR_STATE = 3

# State: poses, momenta, velocities of this and the last interval, multipliers, contacts, and what
# is kept of stiff forces
POSE = 7  # x (world), q
TWIST = 6  # v (world), omega (body)
STORED = 6  # vectors of unknowns that Newton's method holds: see `broyden`


def state_size(bodies: int, rows: int, slots: int = 0) -> int:
    """Length of a state."""
    return (POSE + 3 * TWIST) * bodies + rows + slots


def forces_size(bodies: int, wrenches: int) -> int:
    """Length of a node's forces, with its time and users' wrenches."""
    return TWIST * bodies + (1 + WRENCH_SIZE * wrenches if wrenches else 0)


def node_size(bodies: int, all_rows: int, wrenches: int = 0) -> int:
    """Length of a node: see `step.node_of`."""
    return (POSE + 9) * (bodies + 1) + 15 * all_rows + 1 + forces_size(bodies, wrenches)


def planar_work_size(inner: int, entries: int, groups: int) -> int:
    """Length of the work arrays of a planar mechanism: see `Planar`."""
    panels = 2 * PANEL * groups + inner + 1 if groups else 0
    return PLANAR_STATE + entries + 2 * inner + panels if inner else 0


def contact_work_size(contacts: int, bodies: int) -> int:
    """Length of the work arrays of contacts, the list of those that act, sums and islands."""
    own = (CONTACT_WORK + 1) * contacts + 1 + SUMS
    return own + ISLAND_SIZE * bodies if contacts else 0


def work_size(
    bodies: int,
    rows: int,
    all_rows: int,
    contacts: int = 0,
    slots: int = 0,
    wrenches: int = 0,
    lates: int = 0,
    planar: int = 0,
) -> int:
    """Length of a step's workspace: see `step`."""
    unknowns = TWIST * bodies + rows
    node = node_size(bodies, all_rows, wrenches)
    saved = 2 * state_size(bodies, rows, slots + lates) + 6 * TWIST * bodies
    settled = DELASSUS_WORK + 2 * COLUMNS * unknowns if contacts else 0
    touching = contact_work_size(contacts, bodies) + settled
    return 2 * node + (3 + STORED) * unknowns + saved + 2 * slots + touching + planar
