"""What fill-in means, straight from its definition: joining the neighbours of what goes out."""


def eliminate(graph, order, size):
    """Fronts by label in elimination order, and the pairs that were joined on the way.

    Nodes of size 0 carry no numbers: their edges do not count.
    """
    later = {v: {w for w in graph[v] if size[v] and size[w]} for v in graph}
    fronts, filled = {}, set()
    for v in order:
        fronts[v] = set(later[v])
        for a in later[v]:
            for b in later[v]:
                if a != b and b not in later[a]:
                    later[a].add(b)
                    filled.add(frozenset((a, b)))
            later[a].discard(v)
    return fronts, filled


def fronts_by_label(symbolic):
    order, start = symbolic.order, symbolic.front_start
    return {
        order[k]: {order[i] for i in symbolic.front[start[k] : start[k + 1]]}
        for k in range(len(order))
    }


def filled_by_label(symbolic):
    order, start = symbolic.order, symbolic.front_start
    return {
        frozenset((order[k], order[symbolic.front[e]]))
        for k in range(len(order))
        for e in range(start[k], start[k + 1])
        if symbolic.fill[e]
    }
