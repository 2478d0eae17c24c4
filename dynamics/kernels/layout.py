"""Where the kernels find things: an int64 ``plan`` and a float64 ``constant``, made once a model.

``plan`` starts with a header; the places below index it. Then come, one after another,

- *bodies*: the place of the body's diagonal block in the matrix values;
- *groups*: pairs of frames on two bodies that rows refer to. The first ``JOINTS`` are joints, with
  constraint rows and a node of the graph each; the others carry forces;
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
MEASURES = 12  # groups behind the forces, which nothing but `measure` looks at
MEASURED_ROWS = 13
HEADER = 16

# One group in plan
A, B = 0, 1  # bodies; BODIES is the world
N_ROWS = 2
FIRST_ROW = 3
DIAGONAL_AT = 4  # block (j, j) of a joint j; -1 where there is none
# Blocks (a, j), (j, a), (b, j), (j, b) of a joint; blocks (a, b), (b, a) of a force, then -1, -1.
AJ_AT, JA_AT, BJ_AT, JB_AT = 5, 6, 7, 8
CALLBACK = 9  # address of a user's function, 0 where there is none
TURNS = 10  # whether a row looks at the relative rotation
GROUP_FIELDS = 12

# One row in plan
KIND = 0
CONTROL = 1  # index into the controls, -1 where there is none
ROW_FIELDS = 2

# One body in constant, from place body * BODY_SIZE
MASS = 0
INERTIA = 1  # 3 x 3, row-major, body frame
GRAVITY = 10  # world frame
DRAG = 13  # force over velocity
SPIN_DRAG = 14  # torque over angular velocity
LARGEST_INERTIA = 15
BODY_SIZE = 16

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
THETA = 11
REGULARIZATION = 12  # in the matrix only
ROW_SIZE = 13

# State: poses, momenta, velocities of this and the last interval, multipliers
POSE = 7  # x (world), q
TWIST = 6  # v (world), omega (body)


def state_size(bodies: int, rows: int) -> int:
    """Length of a state."""
    return (POSE + 3 * TWIST) * bodies + rows


def work_size(bodies: int, rows: int, all_rows: int) -> int:
    """Length of a step's workspace: see `step`."""
    unknowns = TWIST * bodies + rows
    node = (POSE + 9) * (bodies + 1) + 13 * all_rows + TWIST * bodies
    return 2 * node + 4 * unknowns + TWIST * bodies + state_size(bodies, rows)
