"""Newton's method along the central path on a Delassus operator, a small dense matrix.

Its iterates are made as those of `path_newton`, at the last barrier, but the masses of (6),
theory/contacts, are those of the operator.
"""

from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.base.layout import (
    BLOCK,
    BLOCK_MASS_AT,
    BLOCKS,
    CONES,
    CONTACT_AT,
    CONTACT_CONSTANT_AT,
    CONTACT_FIELDS,
    CONTACT_SIZE,
    CONTACT_WORK,
    ENERGY,
    ETA,
    ETA0,
    FACETS,
    MASS_AT,
    SLACK,
    SLOT,
    UNDECIDED_AT,
)
from dynamics.kernels.contacts.central_path import cone_path
from dynamics.kernels.contacts.condensation import cone_errors, friction_law, softness
from dynamics.kernels.contacts.linear_cone import on_path, polygon_law, polygon_path
from dynamics.kernels.contacts.rows import (
    acting_contact,
    acting_contacts,
    friction_of,
    is_dry_friction,
)

#: Iterations at most, and the change of an impulse, over the largest, that ends them. With 12
#: iterations, dominoes take 1.25, heaps of shapes 1.01 to 1.04 times the factorizations.
ITERATIONS, SETTLED = 20, 1e-6


@kernel
def linearize(plan, constant, barrier, rows, contacts, D, v, c, M, f):
    """M, f <- the equations M step = f of impulses: the laws, linearized, of velocities v + D step.

    Matrices are stored by columns.
    """
    i = 0
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        w = k * CONTACT_WORK
        if contacts[w + UNDECIDED_AT] == 0.0:
            continue
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        p = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
        slot, kappa = plan[at + SLOT], barrier * constant[p + ENERGY]
        gamma, s = c[slot], c[slot + SLACK]
        stiff = 0.0
        f[i] = 0.0
        if not is_dry_friction(plan, k):
            soft = softness(contacts, w)
            reach = 1.0 / (s + soft * gamma)
            stiff = gamma * reach
            f[i] = -stiff * (v[i] + soft * gamma - s)
        for j in range(rows):
            M[j * rows + i] = stiff * D[j * rows + i]
        M[i * rows + i] += 1.0
        for block in range(plan[at + BLOCKS]):
            q, one = slot + CONES + BLOCK * block, i + 1 + 2 * block
            two = one + 1
            friction = friction_of(constant, contacts, p, w, block)
            head = friction * gamma
            if block == 0 and plan[at + FACETS] > 0:
                tail = slot + CONES + BLOCK * plan[at + BLOCKS]
                law = polygon_law(plan[at + FACETS], head, kappa, v[one], v[two], c, q, tail)
            else:
                r6, r7, r8 = cone_errors(head, c, q, kappa)
                law = friction_law(
                    head, c, q, r6, r7, r8, c[q + ETA] - v[one], c[q + ETA + 1] - v[two]
                )
            for j in range(rows):
                M[j * rows + one] = -law[4] * D[j * rows + one] - law[5] * D[j * rows + two]
                M[j * rows + two] = -law[6] * D[j * rows + one] - law[7] * D[j * rows + two]
            M[one * rows + one] += 1.0
            M[two * rows + two] += 1.0
            M[i * rows + one] -= friction * law[2]
            M[i * rows + two] -= friction * law[3]
            f[one], f[two] = law[0], law[1]
        i += 1 + 2 * plan[at + BLOCKS]


@kernel
def eliminate(rows, M, f):
    """f <- M^-1 f by elimination with row exchanges, M <- its factors; False if it is singular."""
    for k in range(rows):
        column, best = k * rows, k
        for i in range(k + 1, rows):
            if abs(M[column + i]) > abs(M[column + best]):
                best = i
        pivot = M[column + best]
        if pivot == 0.0:
            return False
        if best != k:
            f[k], f[best] = f[best], f[k]
            for j in range(k, rows):
                M[j * rows + k], M[j * rows + best] = M[j * rows + best], M[j * rows + k]
        for i in range(k + 1, rows):
            M[column + i] /= pivot
            f[i] -= M[column + i] * f[k]
        for j in range(k + 1, rows):
            part = M[j * rows + k]
            if part != 0.0:
                for i in range(k + 1, rows):
                    M[j * rows + i] -= M[column + i] * part
    for k in range(rows - 1, -1, -1):
        f[k] /= M[k * rows + k]
        for i in range(k):
            f[i] -= M[k * rows + i] * f[k]
    return True


@kernel
def multiply_add(rows, D, f, v):
    """v <- v + D f."""
    for j in range(rows):
        part = f[j]
        if part != 0.0:
            for i in range(rows):
                v[i] += D[j * rows + i] * part


@kernel
def mass_of(answer, own):
    """Mass of a row from its velocity per impulse; its own if that is not positive."""
    return 1.0 / answer if answer > 0.0 else own


@kernel
def step_and_follow(plan, constant, barrier, rows, contacts, D, v, c, f):
    """Each contact <- the point of its central path that a step f leads to; v <- velocities then.

    Gives the largest component of the step and the largest force.
    """
    change, most = 0.0, 0.0
    for j in range(rows):
        change = max(change, abs(f[j]))
    multiply_add(rows, D, f, v)
    i = 0
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        w = k * CONTACT_WORK
        if contacts[w + UNDECIDED_AT] == 0.0:
            continue
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        p = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
        slot, kappa = plan[at + SLOT], barrier * constant[p + ENERGY]
        gamma = c[slot] + f[i]
        if not is_dry_friction(plan, k):
            soft = softness(contacts, w)
            mass = mass_of(D[i * rows + i] + soft, contacts[w + MASS_AT])
            c[slot] = on_path(mass * kappa, gamma - mass * (v[i] + soft * gamma))
            c[slot + SLACK] = kappa / c[slot]
        f[i] = c[slot] - gamma
        most = max(most, c[slot])
        for block in range(plan[at + BLOCKS]):
            q, one = slot + CONES + BLOCK * block, i + 1 + 2 * block
            two = one + 1
            answer = max(D[one * rows + one], D[two * rows + two])
            mass = mass_of(answer, contacts[w + BLOCK_MASS_AT + block])
            head = friction_of(constant, contacts, p, w, block) * c[slot]
            b0, b1 = c[q] + f[one], c[q + 1] + f[two]
            z0, z1 = b0 - mass * v[one], b1 - mass * v[two]
            if block == 0 and plan[at + FACETS] > 0:
                tail = slot + CONES + BLOCK * plan[at + BLOCKS]
                polygon_path(plan[at + FACETS], head, kappa, mass, z0, z1, c, q, tail)
            else:
                c[q], c[q + 1], c[q + ETA0], c[q + ETA], c[q + ETA + 1] = cone_path(
                    head, kappa / head, mass, z0, z1
                )
            f[one], f[two] = c[q] - b0, c[q + 1] - b1
        i += 1 + 2 * plan[at + BLOCKS]
    multiply_add(rows, D, f, v)
    return change, most


@kernel
def delassus_newton(plan, constant, barrier, rows, contacts, D, v, c):
    """c of the undecided contacts, and their velocities v, <- the solution or the last iterate.

    D is followed by v, and v by a workspace.
    """
    M = pointer(v, rows)
    f = pointer(M, rows * rows)
    for _ in range(ITERATIONS):
        linearize(plan, constant, barrier, rows, contacts, D, v, c, M, f)
        if not eliminate(rows, M, f):
            return
        change, most = step_and_follow(plan, constant, barrier, rows, contacts, D, v, c, f)
        if not change > SETTLED * most:
            return
