"""From one near model to the next: pairs that stay keep their planes and contacts."""

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import BODY_SIZE, GRAVITY, INERTIA, MASS, POSE, TWIST


@kernel
def carry(
    # Tables:
    old,
    new,
    rows,
    # In:
    before,
    # Out:
    after,
    fresh,
):  # fmt: skip
    """State ``after`` <- ``before`` of the old model, 0 for pairs that appear.

    A near model is the numbers of its pairs, their planes, slots and counts of slots, the columns
    of the whole model's state, and its bodies. ``fresh`` gets the places of pairs that appear with
    a plane; how many.
    """
    numbers, plane, slot, slots, columns, n = new
    numbers_before, plane_before, slot_before, _, columns_before, n_before = old
    for k in range(columns.size):
        after[columns[k]] = before[columns_before[k]]
    first, first_before = (POSE + 3 * TWIST) * n + rows, (POSE + 3 * TWIST) * n_before + rows
    q, count = 0, 0
    for k in range(numbers.size):
        while q < numbers_before.size and numbers_before[q] < numbers[k]:
            q += 1
        stays = q < numbers_before.size and numbers_before[q] == numbers[k]
        for j in range(slots[k]):
            after[first + slot[k] + j] = before[first_before + slot_before[q] + j] if stays else 0.0
        if plane[k] < 0:
            continue
        for j in range(POSE):
            value = before[POSE * plane_before[q] + j] if stays else 0.0
            after[POSE * plane[k] + j] = value
        for part in range(3):  # momenta, and velocities of two intervals
            to = (POSE + part * TWIST) * n + TWIST * plane[k]
            for j in range(TWIST):
                at = (POSE + part * TWIST) * n_before + TWIST * plane_before[q] + j if stays else 0
                after[to + j] = before[at] if stays else 0.0
        if not stays:
            fresh[count] = k
            count += 1
    return count


@kernel
def balance_of(constant, h, at, bodies, state):
    """What a plane adds to the energy balance of an interval, J.

    Half a step's work of gravity, and the kinetic energy.
    """
    c, first = BODY_SIZE * at, (POSE + TWIST) * bodies + TWIST * at
    energy = 0.0
    for j in range(3):
        v, omega = state[first + j], state[first + 3 + j]
        energy += 0.5 * (constant[c + MASS] * v * v + constant[c + INERTIA] * omega * omega)
        energy += 0.5 * h * constant[c + MASS] * constant[c + GRAVITY + j] * v
    return energy


@kernel
def energy_of_others(constant, state, n, h, numbers, plane, others):
    """`balance_of` of the planes of pairs that are none of the ``others``."""
    energy, q = 0.0, 0
    for k in range(numbers.size):
        while q < others.size and others[q] < numbers[k]:
            q += 1
        if plane[k] < 0 or (q < others.size and others[q] == numbers[k]):
            continue
        energy += balance_of(constant, h, plane[k], n, state)
    return energy
