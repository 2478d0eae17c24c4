"""Layout of the flat arrays of a tree, for the kernels in this folder.

Bodies are numbered so that a parent comes before its children; joint i is the one above body i.
A step has nodes 0..s. Spatial vectors are [rotation, translation] in the world's frame about its
origin; 6 x 6 matrices are row-major.

- ``tree = (parent, body, gravity)``: parent (n,), -1 for the world; ``body[i * BODY + FIELD]``.
- ``rule = (weights, slope, place, quasi)``: w^a (s + 1,), b^ab (s + 1, s + 1), c_a (s + 1,), and
  the inverse of K = b^T W b without its last row and first column, (s, s).
- ``pins = (pin_kind, pin_body, pin)``: the constraints, (m,), (2 m,), (m * PIN).
- ``loads = (force, wrench, stride)``: forces of joints and wrenches on bodies; entry i of node a in
  step k is ``force[k * stride[0] + a * stride[1] + i]``, the wrench on body i starts at
  ``wrench[k * stride[2] + a * stride[3] + 6 * i]``; stride[4] is the wrenches' frame, 0 for none.
- ``motion[(i * (s + 1) + a) * RECORD + FIELD]``: body i at node a.
- q (s + 1, n), and r (s + 1, n): residuals of nodes 0..s - 1, then the next momentum p.
"""

# One body of the table `body`.
TWIST = 0  # of its joint, in the body's frame; 6
HOME_ROTATION = 6  # body's frame in the parent's at q = 0; 9
HOME_ORIGIN = 15  # 3
INERTIA = 18  # in the body's frame about its origin; 36
MASS = 54  # that gravity sees
CENTER = 55  # of mass, in the body's frame; 3
DRAG = 58  # force = -DRAG * velocity in the body's frame; 36
DRAGGED = 94  # 1 where DRAG is not zero
AREA = 95  # force = -AREA * |u| * u at the center of mass
STIFFNESS = 96  # of the joint's spring,
REST = 97  # its rest position,
DAMPING = 98  # the joint's damper
BODY = 99

# One body at one node, in `tree.motion`.
ROTATION = 0  # body's frame to the world's; 9
ORIGIN = 9  # 3
AXIS = 12  # S, the joint's twist; 6
TURN = 18  # dS/dt = ad_v S; 6
VELOCITY = 24  # v; 6
MOMENTUM = 30  # mu, of the body and all its descendants; 6
IMPULSE = 36  # Gamma, on the body and all its descendants; 6
WRENCH = 42  # F, impulse on the body alone; 6
SPEED = 48  # dq/dt of the joint
RECORD = 49

# One constraint of the table `pin`: a row of `AT_POINT` or `COUPLING`.
AT_POINT = 0  # axis . (x_a - x_b) = 0: points of two bodies, or of a body (x_b of body -1: world)
COUPLING = 1  # ratio_a q_a + ratio_b q_b = constant
PIN_AXIS = 0  # or the two ratios and the constant; 3
PIN_A = 3  # point of body a in its frame; 3
PIN_B = 6  # 3
PIN = 9

# Frames of wrenches.
NO_WRENCH = 0
BODY_FRAME = 1  # turns with the body, about its origin
WORLD_FRAME = 2  # the world's axes, about the body's origin

# Status of a step.
SOLVED = 0
NOT_CONVERGED = 1
NOT_FINITE = 2
REDUNDANT = 3  # the constraints' equations are singular
