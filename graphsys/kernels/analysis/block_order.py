"""Order of the diagonal blocks of a block triangular form."""

from graphsys.kernels.base.jit import kernel


@kernel
def order_blocks(
    # Tables:
    start,
    after,
    dense,
    # In and out:
    waits,
    # Work:
    large,
    # Out:
    order,
    run_start,
):
    """Order blocks after all that they need, in few runs of blocks of one kind; the number of runs.

    ``after[start[k] : start[k + 1]]`` need block k, with repeats, and ``waits`` counts what a
    block still needs. ``dense`` blocks come as soon as they can, others when none of these is
    left: those of one run do not need each other. Run r begins at ``order[run_start[r]]``.
    """
    blocks = waits.size
    done = ready = held = runs = 0  # order[done:ready] and large[:held] are free to come
    for k in range(blocks):
        if waits[k] == 0 and dense[k]:
            order[ready] = k
            ready += 1
        elif waits[k] == 0:
            large[held] = k
            held += 1
    while done < blocks:
        run_start[runs] = done
        runs += 1
        if done == ready:
            for i in range(held):
                order[ready + i] = large[i]
            ready += held
            held = 0
            end = ready
        else:
            end = blocks
        while done < min(end, ready):
            k = order[done]
            done += 1
            for e in range(start[k], start[k + 1]):
                other = after[e]
                waits[other] -= 1
                if waits[other] == 0 and dense[other]:
                    order[ready] = other
                    ready += 1
                elif waits[other] == 0:
                    large[held] = other
                    held += 1
    run_start[runs] = blocks
    return runs
