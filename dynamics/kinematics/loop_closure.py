"""Closing loops: the nearest state that fulfils all constraints, by Levenberg and Marquardt."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import diags_array, eye_array

import graphsys as gs
from dynamics import rotation
from dynamics.errors import InconsistentStateError, UnknownNameError
from dynamics.kernels.base import layout
from dynamics.kernels.rows import rows as kinds
from dynamics.kinematics import coordinates
from dynamics.kinematics.joint_frames import STILL, Frame, at_rest
from dynamics.kinematics.plane_placement import placed
from dynamics.kinematics.spanning_tree import RowSlopes, groups_of
from dynamics.parts.bodies import WORLD
from dynamics.parts.couplings import counters
from dynamics.state import State
from dynamics.tables.model_tables import row_units
from dynamics.tables.units import UNITLESS, lighter

if TYPE_CHECKING:
    from dynamics.mechanism import Mechanism
    from dynamics.model import Model
    from dynamics.parts.couplings import Coupling
    from dynamics.parts.tendons import Tendon

Float = NDArray[np.float64]

#: How far open rows are when they count as closed, and when they are refused, over the unit of
#: length, or in rad.
CLOSED, OPEN = 1e-12, 1e-10
#: Error of velocities that is refused, over the largest one or the unit of speed.
UNMOVED = 1e-8
ITERATIONS = 300
#: Least mass over the largest that decides where velocities go. With 1e-6 the normal equations lose
#: the coordinates between links without mass (tests/dynamics/test_massless.py).
LIGHTEST = 1e-5
JUMPS, JOLT = 5, 0.3  # how often bodies are turned at random where nothing else helps, and by what
SLIDING = 1e6  #: how much rather the slide of a tendon moves than what makes its length
#: Least damping, against redundant rows, over the diagonal of G M^-1 G^T; what a step that does not
#: lower the error goes on with, and where it is given up.
DAMPED, CAREFUL, HOPELESS = 1e-9, 1e-3, 1e3
FAR = 8.0  #: roundings of a position that the rows of a joint may be open by


def initial_state(model: Model) -> State:
    """Bodies where joints put them; see `Model.initial_state`."""
    state = model.state_of(np.zeros(model.state_size))
    state.pose[:, 3] = 1.0
    mechanism = model.mechanism
    known: dict[Hashable, Frame] = {WORLD.name: STILL}
    for body in mechanism.bodies.values():
        if body.position is not None and body.orientation is not None:
            known[body.name] = at_rest([*body.position.tolist(), *body.orientation.tolist()])
    near: dict[Hashable, coordinates.Coordinates] = {}
    for joint in mechanism.joints.values():
        if joint.limits is not None:  # 0, or the end next to it
            ends = joint.limits.tolist()
            near[joint.name] = [min(max(0.0, a), b) for a, b in ends], [0.0] * len(ends)
    near |= _coupled(model)
    try:
        found = _hung(model, state, known, near)
    except InconsistentStateError:
        if not near:
            raise
        found = _hung(model, state, known, {})  # closed, but beyond limits
    carry_back(model, found)
    return placed(model, found)


def carry_back(model: Model, state: State) -> None:
    """Move robots that closing has moved as a whole back, where one body alone has a place.

    Parameters
    ----------
    model : Model
    state : State
        Changed.
    """
    placed_bodies = {
        body.name: [*body.position, *body.orientation]
        for body in model.mechanism.bodies.values()
        if body.position is not None and body.orientation is not None
    }
    for name, pose in placed_bodies.items():
        if np.array_equal(state.pose[model.body_number(name)], pose):
            continue
        try:
            others = coordinates.connected(model, name)
        except InconsistentStateError:  # the world holds it
            continue
        if not any(one.name in placed_bodies for one in others):
            coordinates.set_body(model, state, name, pose[:3], pose[3:], None, None, carry=True)


def _coupled(model: Model) -> dict[Hashable, coordinates.Coordinates]:
    """Coordinates of leaders and all that follow them: 0, or next to it within all their limits."""
    joints, couplings = model.mechanism.joints, model.mechanism.couplings.values()
    led = {one.follower for one in couplings}
    below: dict[Hashable, list[Coupling]] = {}
    for one in couplings:
        below.setdefault(one.leader, []).append(one)
    found: dict[Hashable, coordinates.Coordinates] = {}
    for first in below.keys() - led:
        lines, waiting = {first: (1.0, 0.0)}, [first]  # factor and offset from the first leader's
        for leader in waiting:
            factor, offset = lines[leader]
            for one in below.get(leader, ()):
                if one.follower in lines:
                    continue  # couplings that form a cycle
                lines[one.follower] = one.ratio * factor, one.ratio * offset + one.offset
                waiting.append(one.follower)
        low, high = -np.inf, np.inf
        for name, (factor, offset) in lines.items():
            if (limits := joints[name].limits) is not None:
                a, b = sorted(((limits[0] - offset) / factor).tolist())
                low, high = max(low, a), min(high, b)
        q = min(max(0.0, low), high)
        found |= {name: ([k * q + offset], [0.0]) for name, (k, offset) in lines.items()}
    return found


def _hung(
    model: Model,
    state: State,
    frames: Mapping[Hashable, Frame],
    near: Mapping[Hashable, coordinates.Coordinates],
) -> State:
    """Bodies on joints, closed: those with frames there, joints at these coordinates or at 0."""
    known, twists, state = dict(frames), np.zeros((model.n_bodies, 6)), state.copy()
    coordinates.hang(model, state, twists, known, near)
    for body in model.mechanism.bodies.values():  # neither placed nor held by what is
        if body.name not in known:
            known[body.name] = STILL
            coordinates.hang(model, state, twists, known, near, [body.name])
    coordinates.pull_tight(model, state, twists)
    if not is_closed(model, state, CLOSED):
        state = assemble(model, state, {}, {})
    return state


def keyframe(model: Model, name: str) -> State:
    """State of a posture of the file; see `Model.keyframe`."""
    mechanism = model.mechanism
    if name not in mechanism.keyframes:
        raise UnknownNameError(
            f"there is no keyframe {name!r}; keyframes are {list(mechanism.keyframes)}"
        )
    state = model.state_of(np.zeros(model.state_size))
    state.pose[:, 3] = 1.0
    given, twists = mechanism.keyframes[name], np.zeros((model.n_bodies, 6))
    for owner, pose in given.poses.items():
        frame = mechanism.frames[owner]
        if frame.body.name not in model.tables.body_index:
            continue  # it is on the world
        q = rotation.multiply(pose[3:], rotation.conjugate(frame.orientation))
        number = model.body_number(frame.body.name)
        place = state.pose[number]
        place[:] = [*(pose[:3] - rotation.rotate(q, frame.position)), *rotation.normalized(q)]
        if owner in given.twists:
            v, omega = np.split(given.twists[owner], 2)
            twists[number, :3] = v + np.cross(omega, place[:3] - pose[:3])
            twists[number, 3:] = rotation.rotate(rotation.conjugate(place[3:]), omega)
    if given.twists or mechanism.tendons:
        coordinates.set_twists(model, state, twists, list(range(model.n_bodies)))
    if given.twists or not is_closed(model, state, CLOSED):
        state = assemble(model, state, {}, {})
    return placed(model, state)


def is_closed(model: Model, state: State, most: float) -> bool:
    """True if no constraint row is open by more than ``most`` units of length, or rad."""
    joints, zeros = int(model.tables.plan[layout.JOINTS]), np.zeros((1, 6 * model.n_bodies))
    g = model.workspace.measured(0, joints, state.data[None], zeros)[0, :, 0]
    return bool(np.abs(row_units(model.tables) * g).max(initial=0.0) <= most)


def reciprocal_units(model: Model, targets: Mapping[Hashable, Float]) -> Float:
    """Reciprocal units of the rows of `equations`."""
    more = []
    for name in targets:
        joint = model.mechanism.joints[name]
        length = lighter(model.tables.units, joint.parent, joint.child).length
        more += [1.0 if row.kind in UNITLESS else 1.0 / length for row in joint.positions]
    return np.concatenate([row_units(model.tables), more])


def _follow(model: Model, targets: dict[Hashable, Float]) -> None:
    """Add coordinates that couplings give to those that are given.

    A coupling of angles holds up to the teeth of its wheels: the pose alone does not tell which.
    """
    couplings = list(model.mechanism.couplings.values())
    for _ in couplings:
        for one in couplings:
            if one.leader in targets and one.follower not in targets:
                value = one.ratio * targets[one.leader] + one.offset
                if np.abs(value).max() <= 2.0 * np.pi:  # beyond, coordinates come back
                    targets[one.follower] = value


def assemble(
    model: Model,
    state: State,
    joints: Mapping[Hashable, ArrayLike],
    velocities: Mapping[Hashable, ArrayLike],
) -> State:
    """Nearest state with closed loops; see `Model.assemble`."""
    # Positions move by what is near in metres, velocities by what is near in momentum.
    after = state.copy()
    targets = {
        name: coordinates.per_coordinate(coordinates.joint_of(model, name), value, "position")
        for name, value in joints.items()
    }
    _follow(model, targets)
    wanted = {
        name: coordinates.per_coordinate(coordinates.joint_of(model, name), value, "velocity")
        for name, value in velocities.items()
    }
    twists = coordinates.twists_of(model, state)
    weights, lengths = inverse_masses(model), mobilities(model)
    for one in ends_of_chains(model.mechanism):  # slides follow, if they are not held
        place = model.body_number(one.slider)
        weights[6 * place : 6 * place + 3] *= SLIDING
    n, units = model.n_bodies, reciprocal_units(model, targets)
    after, g = closest(after, lengths, units, lambda trial: equations(model, trial, targets), JUMPS)
    if not np.abs(units * g).max(initial=0.0) <= OPEN:
        k = int(np.argmax(np.abs(units * g)))
        name, far = _owner(model, k, targets), float(np.abs(after.pose[:, :3]).max())
        if abs(g[k]) <= FAR * np.finfo(float).eps * far:
            raise InconsistentStateError(
                f"joint {name!r} stays open by {abs(g[k]):.2e}, as bodies are {far:.0e} m from the "
                "origin, where positions have no more digits: place them nearer to it"
            )
        others = f", give other coordinates of {list(joints)}" if joints else ""
        raise InconsistentStateError(
            f"the joints cannot all be satisfied: {name!r} stays open by {abs(g[k]):.2e}; look at "
            f"its points and axes{others}, or start from a state nearer to the intended one"
        )
    g, G = equations(model, after, wanted if wanted else {}, rates=True)
    rates = np.zeros(g.size)
    if wanted:
        rates[model.n_rows :] = np.concatenate(list(wanted.values()))
    missed, twist = G @ twists.ravel() - rates, twists.ravel()
    if missed.any():
        twist = twist - LeastChange()(G, missed, weights)
    left = np.abs(reciprocal_units(model, wanted) * (G @ twist - rates))
    if not left.max(initial=0.0) <= UNMOVED * _fastest(model, twist.reshape(n, 6)):
        k = int(np.argmax(left))
        raise InconsistentStateError(
            f"the velocities cannot all be satisfied: that of {_owner(model, k, wanted)!r} is not "
            "what was asked for"
        )
    coordinates.set_twists(model, after, twist.reshape(n, 6), list(range(n)))
    return after


def ends_of_chains(mechanism: Mechanism) -> list[Tendon]:
    """Tendons whose length makes no other coordinate, as those do that count turns."""
    used = counters(mechanism.couplings)
    used |= {name for one in mechanism.tendons.values() for name in one.joints}
    return [one for one in mechanism.tendons.values() if one.name not in used]


def mobilities(model: Model) -> Float:
    """How rather positions move, shape (6 n,): metres alike, and turns by radii of gyration."""
    lengths = np.ones((model.n_bodies, 6))
    for one in ends_of_chains(model.mechanism):
        lengths[model.body_number(one.slider), :3] = SLIDING
    masses, moments = _inertias(model)
    lengths[:, 3:] = (masses / moments)[:, None]
    return lengths.ravel()


def _inertias(model: Model) -> Float:
    """Masses and mean moments of inertia of the bodies, shape (2, n), found once."""
    if "inertias" not in model.structures:
        moments = np.trace([body.inertia for body in model.bodies], axis1=1, axis2=2) / 3.0
        model.structures["inertias"] = np.stack([[body.mass for body in model.bodies], moments])
    return cast(Float, model.structures["inertias"])


def closest(
    state: State,
    lengths: Float,
    units: Float,
    evaluate: Callable[[State], tuple[Float, Any]],
    jumps: int,
    iterations: int = ITERATIONS,
) -> tuple[State, Float]:
    """Levenberg and Marquardt from a state to one that fulfils equations; it and what is left.

    Parameters
    ----------
    state : State
    lengths : ndarray of float, shape (6 n,)
        See `mobilities`.
    units : ndarray of float, shape (m,)
        Reciprocal units of the equations.
    evaluate : callable
        Values, shape (m,), and Jacobian of the equations.
    jumps : int
        How often bodies may be turned at random where nothing else helps.
    iterations : int, optional

    Returns
    -------
    State
    ndarray of float, shape (m,)
    """
    after, (g, G) = state, evaluate(state)
    damping, rng, least = DAMPED, np.random.default_rng(0), LeastChange()
    for _ in range(iterations):
        error = float(np.abs(units * g).max(initial=0.0))
        if error <= CLOSED or (damping > HOPELESS and jumps == 0):
            break
        jump = damping > HOPELESS  # out of a valley, or off a saddle such as a flat linkage
        if jump:
            damping, jumps = DAMPED, jumps - 1
            move = np.hstack([np.zeros((state.n, 3)), JOLT * rng.normal(size=(state.n, 3))])
        else:
            move = -least(G, g, lengths, damping).reshape(-1, 6)
        trial = moved(after, move)
        g_trial, G_trial = evaluate(trial)
        if jump or np.linalg.norm(units * g_trial) < np.linalg.norm(units * g):
            after, g, G = trial, g_trial, G_trial
            damping = max(DAMPED, 0.1 * damping)
        elif error <= OPEN:
            break  # round-off
        else:
            damping = max(CAREFUL, 10.0 * damping)
    return after, g


def _fastest(model: Model, twists: Float) -> float:
    """Largest rate of a body, lengths or rad per second, at least the unit of speed over length."""
    units = np.array([model.tables.units[body.name] for body in model.bodies])
    rates = np.maximum(units[:, 1], np.abs(twists[:, :3]).max(axis=1)) / units[:, 0]
    return float(max(rates.max(), np.abs(twists[:, 3:]).max()))


def moved(state: State, move: Float) -> State:
    """The state with bodies displaced and turned, none by more than 1/2 rad."""
    after = state.copy()
    part = min(1.0, 0.5 / max(1e-300, np.abs(move[:, 3:]).max(initial=0.0)))
    after.pose[:, :3] += part * move[:, :3]
    turned = rotation.from_rotation_vector(part * move[:, 3:])
    after.pose[:, 3:] = rotation.normalized(rotation.multiply(after.pose[:, 3:], turned))
    return after


def inverse_masses(model: Model) -> Float:
    """Inverse masses and mean inverse moments, those of nearly massless links not without end."""
    out = np.empty((model.n_bodies, 6))
    for columns, values in zip((slice(0, 3), slice(3, 6)), _inertias(model)):
        out[:, columns] = 1.0 / np.maximum(values, LIGHTEST * values.max())[:, None]
    return out.ravel()


def equations(
    model: Model, state: State, targets: Mapping[Hashable, Float], rates: bool = False
) -> tuple[Float, Any]:
    """Values and Jacobian (scipy.sparse) of all constraints and of the given joints."""
    space, tables = model.workspace, model.tables
    zeros = np.zeros((1, 6 * model.n_bodies))
    joints = int(tables.plan[layout.JOINTS])
    values = [space.measured(0, joints, state.data[None], zeros)[0, :, 0]]
    for name, target in targets.items():
        group = tables.measure_group[name][1 if rates else 0]
        found = space.measured(group, group + 1, state.data[None], zeros)[0, :, 0]
        values.append(found - target)
    key = "equations", tuple(targets), rates
    if key not in model.structures:
        model.structures[key] = _row_slopes(model, targets, rates)
    return np.concatenate(values), model.structures[key].matrix(space.G)


def _row_slopes(model: Model, targets: Iterable[Hashable], rates: bool) -> RowSlopes:
    """Sparsity of `equations`."""
    groups, rows = groups_of(model), [np.arange(model.n_rows)]
    for name in targets:
        group = groups[model.tables.measure_group[name][1 if rates else 0]]
        rows.append(np.arange(group[layout.N_ROWS]) + group[layout.FIRST_ROW])
    every, plan = np.concatenate(rows), model.tables.plan
    kind = plan[plan[layout.ROW_AT] + layout.KIND + layout.ROW_FIELDS * every]
    # what holds velocities alone leaves positions free
    empty = (kind >= kinds.EDGE) & (every < model.n_rows) & (not rates)
    return RowSlopes(model, every, empty=empty)


class LeastChange:
    """Smallest weighted x with G x = g: theory/loops (3), on the graph of joints that share bodies.

    With rows scaled to length 1 in the metric of the weights, ``B = S G W^1/2``, the normal
    equations ``(B B^T + damping I) y = S g`` are solved. Rows that repeat others share their
    multipliers.
    """

    def __init__(self) -> None:
        self._pattern: Any = None
        self._system: Any = None
        self._factor: Any = None

    def __call__(self, G: Any, g: Float, weights: Float, damping: float = DAMPED) -> Float:
        """Solve for x, shape (6 n,); a matrix G of the last pattern is analyzed no more."""
        m, n = G.shape
        if m == 0:
            return np.zeros(n)
        roots = np.sqrt(weights)
        length = np.sqrt((G * G) @ weights)
        length[length == 0.0] = 1.0
        B = (diags_array(1.0 / length) @ G @ diags_array(roots)).tocsr()
        self._factorize(B, (B @ B.T + damping * eye_array(m)).tocsr())
        wanted = g / length
        y, left = np.zeros(m), wanted
        for _ in range(4 if damping == DAMPED else 1):  # takes the damping out of what it need not
            y += self._factor.solve(left)
            left = wanted - B @ (B.T @ y)
        return np.asarray(roots * (B.T @ y))

    def _factorize(self, B: Any, normal: Any) -> None:
        """Factorize the normal equations, analyzed if their pattern is a new one."""
        normal.sort_indices()
        pattern = self._pattern
        if pattern is not None and all(
            map(np.array_equal, pattern, (normal.indptr, normal.indices))
        ):
            self._system.set_from_scipy(normal)
            self._factor.refactorize(self._system.values)
            return
        self._pattern = normal.indptr, normal.indices
        self._system = gs.System.from_scipy(normal, _runs(B))
        self._factor = self._system.factorize(refine=False)  # `__call__` refines


def _runs(B: Any) -> list[int]:
    """Numbers of consecutive rows that meet the same columns."""
    runs: list[int] = []
    last: bytes | None = None  # the first row may be empty
    for k in range(B.shape[0]):
        columns = B.indices[B.indptr[k] : B.indptr[k + 1]].tobytes()
        if columns == last:
            runs[-1] += 1
        else:
            runs.append(1)
        last = columns
    return runs


def most_open(model: Model, state: State) -> Hashable:
    """Joint that is farthest from closed, over the unit of length or in rad."""
    g, _ = equations(model, state, {})
    return _owner(model, int(np.argmax(np.abs(reciprocal_units(model, {}) * g))), {})


def _owner(model: Model, row: int, targets: Mapping[Hashable, Float]) -> Hashable:
    """Joint of a row of `equations`."""
    if row < model.n_rows:
        k = int(np.searchsorted(model.tables.row_start, row, side="right")) - 1
        return list(model.tables.joint_index)[k]
    row -= model.n_rows
    for name, target in targets.items():
        if row < target.size:
            return name
        row -= target.size
    raise AssertionError("a row has an owner")
