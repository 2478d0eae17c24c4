"""Steps of a chain: its two branches by turns, or one after the other."""

from graphsys.kernels.base.jit import interpreted


@interpreted
def alternate(
    # Tables:
    parent,
    # Out:
    turns,
):
    """Steps of a postorder with two leaves, of either branch by turns; 1, or 0 for other trees."""
    n = parent.size
    leaves = split = 0
    for k in range(n):
        if k == 0 or parent[k - 1] != k:  # what is no leaf follows its last child
            leaves += 1
            split = k
    if leaves != 2:
        return 0
    meet = n if parent[split - 1] == -1 else parent[split - 1]
    left, right = 0, split
    for k in range(n):
        if k >= meet:
            turns[k] = k
        elif right == meet or (left < split and k % 2 == 0):
            turns[k] = left
            left += 1
        else:
            turns[k] = right
            right += 1
    return 1


@interpreted
def take_turns(
    # Tables:
    turns,
    step_node,
    parent,
    below,
    front_start,
    # Work:
    place,
    # Out:
    new_node,
    new_position,
    new_parent,
    new_below,
    new_start,
):
    """Tables of an elimination for its steps in the order ``turns``."""
    new_start[0] = 0
    for k in range(turns.size):
        place[turns[k]] = k
    for k in range(turns.size):
        old = turns[k]
        above = parent[old]
        new_node[k] = step_node[old]
        new_position[step_node[old]] = k
        new_parent[k] = -1 if above == -1 else place[above]
        new_below[k] = below[old]
        new_start[k + 1] = new_start[k] + front_start[old + 1] - front_start[old]


@interpreted
def is_postorder(
    # Tables:
    parent,
    # Work:
    count,
    first,
):
    """True if the steps of every subtree are consecutive."""
    for k in range(parent.size):
        count[k], first[k] = 1, k
    for k in range(parent.size):
        if first[k] + count[k] != k + 1:
            return False
        above = parent[k]
        if above != -1:
            count[above] += count[k]
            first[above] = min(first[above], first[k])
    return True
