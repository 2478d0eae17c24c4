"""Order of the diagonal blocks of a block triangular form."""

from graphsys.kernels.base.jit import kernel


@kernel
def order_blocks(
    # Tables:
    start,
    after,
    single,
    # In and out:
    waits,
    # Work:
    large,
    # Out:
    order,
):
    """Order blocks after all that they need, in few runs of blocks of one row.

    ``after[start[k] : start[k + 1]]`` need block k, with repeats, and ``waits`` counts what a
    block still needs. ``single`` blocks come as soon as they can, one of the others when none of
    these is left.
    """
    blocks = waits.size
    done = ready = held = taken = 0  # order[done:ready] and large[taken:held] are free to come
    for k in range(blocks):
        if waits[k] == 0 and single[k]:
            order[ready] = k
            ready += 1
        elif waits[k] == 0:
            large[held] = k
            held += 1
    while done < blocks:
        if done == ready:
            order[ready] = large[taken]
            ready += 1
            taken += 1
        k = order[done]
        done += 1
        for e in range(start[k], start[k + 1]):
            other = after[e]
            waits[other] -= 1
            if waits[other] == 0 and single[other]:
                order[ready] = other
                ready += 1
            elif waits[other] == 0:
                large[held] = other
                held += 1
