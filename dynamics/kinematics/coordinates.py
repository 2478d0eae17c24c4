"""Joint coordinates to body states: a joint's child and its descendants, placed from its parent."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation
from dynamics.errors import InconsistentStateError, UnknownNameError
from dynamics.kernels.base import layout
from dynamics.kernels.rows import rows as kinds
from dynamics.kinematics.joint_frames import (
    STILL,
    Frame,
    along,
    child_frame,
    conjugate,
    cross,
    minus,
    parent_frame,
    plus,
    rotate,
)
from dynamics.kinematics.momenta import momenta, velocities_of
from dynamics.parts.bodies import WORLD
from dynamics.parts.joints import Joint
from dynamics.state import State, check_state
from dynamics.tables.records import HEADER, ROW_CONSTANTS, view

if TYPE_CHECKING:
    from dynamics.model import Model

Float = NDArray[np.float64]
#: Values of a joint's coordinates, and their rates.
Coordinates = Sequence[Sequence[float]]

#: Error of a length that a step leaves, over metres or rad, and no change by hand.
TIGHT = 1e-8
#: Period of an angle: two turns of a quaternion, one turn of a heading.
PERIOD = {kinds.ANGLE: 4.0 * np.pi, kinds.HEADING_A: 2.0 * np.pi, kinds.HEADING_B: 2.0 * np.pi}


def twists_of(model: Model, state: State) -> Float:
    """M^-1 p: velocities before the projection onto the constraints.

    After an interval with implicit forces the projected ones: see
    `dynamics.kernels.observables.stiff_forces`.

    Parameters
    ----------
    model : Model
    state : State

    Returns
    -------
    ndarray of float, shape (n, 6)
    """
    if state.contacts[model.late_at :][:1].any():
        return np.asarray(model.workspace.velocities(state.data[None])[0].reshape(-1, layout.TWIST))
    return velocities_of(model, state.pose, state.momentum)


def free_velocities(model: Model, state: State) -> Float:
    """Velocities of the momenta that joints allow; contacts and limits do not count.

    Parameters
    ----------
    model : Model
    state : State

    Returns
    -------
    ndarray of float, shape (6 n,)
    """
    free = state.copy()
    free.contacts[: model.late_at] = 0.0
    return np.asarray(model.workspace.velocities(free.data[None])[0])


def allowed_twists(model: Model, state: State, whole: bool) -> Float:
    """`twists_of`, and after an interval of a motion what joints allow of them, as users read it.

    Parameters
    ----------
    model : Model
    state : State
    whole : bool
        Whether no interval has been: `Workspace.is_given`.

    Returns
    -------
    ndarray of float, shape (n, 6)
    """
    late = state.contacts[model.late_at :][:1].any()  # `twists_of` gives these velocities
    if late or whole or model.n_rows == 0 or model.form == "first order":
        return twists_of(model, state)
    return free_velocities(model, state).reshape(-1, layout.TWIST)


def set_twists(
    model: Model, state: State, twists: Float, moved: list[int], with_them: Iterable[int] = ()
) -> None:
    """Give bodies velocities: momenta, and the guesses of the next step.

    Parameters
    ----------
    model : Model
    state : State
        Changed.
    twists : ndarray of float, shape (n, 6)
        Of all bodies.
    moved : list of int
        Whose are new; where there are rotors, momenta of others change with them. Planes between
        shapes go with the body they are tied to.
    with_them : iterable of int, optional
        Bodies that stay, whose momenta are to be those of ``twists``: after an interval they lack
        impulses of joints, which are others where one body moves otherwise.
    """
    moved = moved + _riders(model, state, twists, moved) + pull_tight(model, state, twists)
    held = momenta(model.tables, state.pose, twists.reshape(1, -1)).reshape(-1, layout.TWIST)
    touched = (
        slice(None)
        if model.tables.plan[layout.ROTORS] or model.tables.plan[layout.STIFF_NUMBERS]
        else [*moved, *with_them]
    )
    state.contacts[model.late_at :] = 0.0  # momenta are now M V, with nothing left to act
    state.contacts[_soft_contacts(model, moved)] = 0.0
    state.momentum[touched] = held[touched]
    state.interval_velocity[moved] = state.interval_velocity_before[moved] = twists[moved]


def _soft_contacts(model: Model, bodies: list[int]) -> list[int]:
    """Places in ``state.contacts`` of the normal forces of compliant contacts of bodies."""
    plan, constant = model.tables.plan, model.tables.constant
    if not plan[layout.SOFT_CONTACTS]:
        return []
    found, size = list[int](), layout.CONTACT_SIZE
    for k in range(int(plan[layout.CONTACTS])):
        at = plan[layout.CONTACT_AT] + k * layout.CONTACT_FIELDS
        soft = constant[plan[layout.CONTACT_CONSTANT_AT] + k * size + layout.SOFTNESS] > 0.0
        if soft and {int(plan[at + layout.A]), int(plan[at + layout.B])} & {*bodies}:
            found.append(int(plan[at + layout.SLOT]) + layout.GAMMA)
    return found


def _riders(model: Model, state: State, twists: Float, moved: list[int]) -> list[int]:
    """Planes tied to bodies that have moved, and have not been placed themselves."""
    planes = []
    for contact in model.mechanism.contacts.values():
        if contact.plane is None or model.body_number(contact.plane.body.name) in moved:
            continue
        if model.body_number(contact.plane.owner.name) in moved:
            planes.append(ride(model, state, twists, contact.plane))
    return planes


def pull_tight(model: Model, state: State, twists: Float) -> list[int]:
    """Put the slides of tendons where their lengths are.

    Parameters
    ----------
    model : Model
    state : State
        Changed, but its momenta: see `set_twists`.
    twists : ndarray of float, shape (n, 6)
        Changed.

    Returns
    -------
    list of int
        Numbers of the slides' bodies.
    """
    tables = model.tables
    tendons = [one for one in model.mechanism.tendons.values() if not one.held]
    if not tendons:
        return []
    found: Any = None
    moved = []
    for one in tendons:
        if found is None or model.mechanism.tendons.keys() & one.joints:  # slides of others
            found, whole = _open(model, state, twists)
        row = tables.row_start[tables.joint_index[one.equation]]
        number = model.body_number(one.slider)
        here = model.mechanism.joints[one.name].positions[0].axis
        at = float(here @ state.pose[number, :3])
        # what is closed up to turns that are counted stays; else angles are within one turn of 0
        shut = at != 0.0 and abs(found[row, 0]) <= TIGHT
        state.pose[number, :3] = (at + (found[row, 0] if shut else whole[row])) * here
        twists[number, :3] = (here @ twists[number, :3] + found[row, 1]) * here
        moved.append(number)
    return moved


def _open(model: Model, state: State, twists: Float) -> tuple[Float, Float]:
    """Values and rates of all constraint rows, and values without a look at turns."""
    tables = model.tables
    if "one turn" not in model.structures:
        constant = tables.constant.copy()
        header = view(tables.plan, HEADER, 0, 1)[0]
        rows = view(constant, ROW_CONSTANTS, header["row_constant_at"], header["all_rows"])
        rows["period"] = 0.0
        model.structures["one turn"] = constant
    given = 0, int(tables.plan[layout.JOINTS]), state.data[None], twists.reshape(1, -1)
    whole = model.workspace.measured(*given, model.structures["one turn"])[0, :, 0]
    return model.workspace.measured(*given)[0], whole


def ride(model: Model, state: State, twists: Float, plane: Any) -> int:
    """Let a plane move as if it were fixed to the body it is tied to.

    Parameters
    ----------
    model : Model
    state : State
    twists : ndarray of float, shape (n, 6)
        Changed.
    plane : Plane

    Returns
    -------
    int
        Number of the plane's body.
    """
    i = model.body_number(plane.body.name)
    x, _, v, omega = frame_of(model, state, plane.owner, twists)
    pose = state.pose[i].tolist()
    twists[i, :3] = plus(v, cross(omega, minus(pose, x)))
    twists[i, 3:] = rotate(conjugate(pose[3:]), omega)
    return i


def frame_of(model: Model, state: State, body: Any, twists: Float) -> Frame:
    """Frame of a body or the world."""
    if body is WORLD:
        return STILL
    i = model.body_number(body.name)
    q = rotation.normalized(state.pose[i, 3:])
    return _frame(state.pose[i, :3].tolist(), q.tolist(), twists[i].tolist())


def _frame(x: list[float], q: list[float], twist: list[float]) -> Frame:
    """Frame of a pose and of velocities, the angular one in the body's axes."""
    (i, j, k), (a, b, c, d), (u, v, w, *spin) = x, q, twist
    return (i, j, k), (a, b, c, d), (u, v, w), rotate(q, spin)


def put(model: Model, state: State, twists: Float, name: Hashable, frame: Frame) -> None:
    """Place a body, and its velocity among the ``twists``."""
    i = model.body_number(name)
    x, q, v, omega = frame
    state.pose[i] = *x, *q
    twists[i] = *v, *rotate(conjugate(q), omega)


def per_coordinate(joint: Joint, value: ArrayLike, what: str) -> Float:
    """Numbers of a joint's coordinates, checked."""
    count = joint.n_coordinates
    numbers = np.asarray(value)
    if numbers.ndim == 0:
        numbers = np.full(count, value) if count == 1 or value == 0.0 else numbers[None]
    parts = ", displacement and rotation vector," if joint.kind == "floating" else ""
    return rotation.as_numbers(numbers, (count,), f"{what} of joint {joint.name!r}{parts}")


def joint_of(model: Model, name: Hashable) -> Joint:
    """Joint by name."""
    try:
        return model.mechanism.joints[name]
    except KeyError:
        own = getattr(name, "name", None)
        if own is not None and model.mechanism.joints.get(own) is name:
            raise UnknownNameError(f"give a joint by its name, {own!r}") from None
        raise UnknownNameError(
            f"there is no joint {name!r}; joints are {list(model.mechanism.joints)}"
        ) from None


def set_joint(
    model: Model, state: State, name: Hashable, position: ArrayLike, velocity: ArrayLike
) -> None:
    """Put a joint at given coordinates, with all descendants of its child: `Model.set_joint`."""
    joint = joint_of(model, name)
    q = per_coordinate(joint, position, "position")
    rates = per_coordinate(joint, velocity, "velocity")
    set_joints(model, state, [(name, q.tolist(), rates.tolist())])


def set_joints(
    model: Model, state: State, given: Iterable[tuple[Hashable, list[float], list[float]]]
) -> None:
    """`set_joint` of several joints, one after another, with the momenta of all once.

    Parameters
    ----------
    model : Model
    state : State
        Changed, if all that is given makes sense.
    given : iterable of (hashable, list of float, list of float)
        Names, positions and velocities.
    """
    check_state(model, state)
    joints = [(*_mobile(model, name), q, rates) for name, q, rates in given]
    whole = model.workspace.is_given(state)
    twists, moved = allowed_twists(model, state, whole), set[Hashable]()
    for _, behind, _, _ in joints:
        moved |= behind
    if len(joints) < 2 or not _moved_at_once(model, state, twists, joints, moved):
        for one in joints:
            _move(model, state, twists, *one)
    numbers = [model.body_number(one) for one in moved - {WORLD.name}]
    set_twists(model, state, twists, numbers, () if whole else _joined(model, moved))


def _joined(model: Model, names: set[Hashable]) -> list[int]:
    """Numbers of the bodies that joints hold to some of these names, directly or through others."""
    if model.mechanism.couplings or model.mechanism.tendons:
        return list(range(model.n_bodies))
    if "parts" not in model.structures:
        graph = model.mechanism.graph()
        graph.remove_node(WORLD.name)
        parts = [frozenset(part) for part in nx.connected_components(graph)]
        model.structures["parts"] = {name: part for part in parts for name in part}
    parts = model.structures["parts"]
    found = set().union(*(parts[name] for name in names if name != WORLD.name))
    return [model.body_number(name) for name in found]


def _mobile(model: Model, name: Hashable) -> tuple[Joint, set[Hashable]]:
    """Joint that can move alone, and names of what goes with it."""
    joint = joint_of(model, name)
    if name in model.mechanism.tendons:
        raise InconsistentStateError(
            f"{name!r} is the length of a tendon, which its joints and bodies make: set those"
        )
    if joint.positions == () or joint.child.name == WORLD.name:
        raise InconsistentStateError(f"joint {name!r} has no coordinates to set; use assemble")
    behind = _descendants(model, joint)
    if joint.parent.name in behind:
        raise InconsistentStateError(
            f"joint {name!r} is on a loop, so it cannot move alone: use "
            f"model.assemble(state, {{{name!r}: ...}})"
        )
    if WORLD.name in behind and joint.kind != "floating":
        raise InconsistentStateError(
            f"joint {name!r} moves its child {joint.child.name!r}, which other joints hold to the "
            f"world: make it with {joint.child.name!r} as parent, or use "
            f"model.assemble(state, {{{name!r}: ...}})"
        )
    return joint, behind


def _descendants(model: Model, joint: Joint) -> set[Hashable]:
    """Names of the child of a joint and of all that other joints connect to it, found once."""
    key = "descendants", joint.name
    if key not in model.structures:
        graph = model.mechanism.graph()
        graph.remove_edge(joint.parent.name, joint.child.name, key=joint.name)
        model.structures[key] = set(nx.node_connected_component(graph, joint.child.name))
    return cast(set[Hashable], model.structures[key])


def _move(
    model: Model,
    state: State,
    twists: Float,
    joint: Joint,
    behind: set[Hashable],
    q: list[float],
    rates: list[float],
) -> None:
    """Poses and ``twists`` of a joint's child and all that goes with it."""
    before = _frames(model, state, twists)
    known = _coordinates(model, state, twists, behind)
    child = child_frame(joint, before[joint.parent.name], q, rates)
    every = {WORLD.name, *model.mechanism.bodies}
    frames = dict.fromkeys(every - behind, STILL)  # stay where they are
    frames[joint.child.name] = child
    hang(model, state, twists, frames, known, [joint.child.name], before)


def _moved_at_once(
    model: Model,
    state: State,
    twists: Float,
    joints: list[tuple[Joint, set[Hashable], list[float], list[float]]],
    moved: set[Hashable],
) -> bool:
    """Move several joints by one walk from the bodies that stay; False where it reaches not all."""
    before = _frames(model, state, twists)
    frames = {name: frame for name, frame in before.items() if name not in moved}
    first = [joint.parent.name for joint, *_ in joints if joint.parent.name in frames]
    given = {joint.name: (q, rates) for joint, _, q, rates in joints}
    known = given | _coordinates(model, state, twists, moved, given)
    poses, speeds = state.pose.copy(), twists.copy()
    hang(model, state, twists, frames, known, list(dict.fromkeys(first)), before)
    reached = len(frames) == len(before)
    for name in frames if reached else ():
        if name in moved:
            i = model.body_number(name)
            poses[i], speeds[i] = state.pose[i], twists[i]
    state.pose[:], twists[:] = poses, speeds  # those that stay to the last bit
    return reached


def _frames(model: Model, state: State, twists: Float) -> dict[Hashable, Frame]:
    """Frames of all bodies and the world, by name."""
    q = rotation.normalized(state.pose[:, 3:])
    parts = zip(model.bodies, state.pose[:, :3].tolist(), q.tolist(), twists.tolist())
    return {WORLD.name: STILL, **{body.name: _frame(*numbers) for body, *numbers in parts}}


def _coordinates(
    model: Model,
    state: State,
    twists: Float,
    moved: set[Hashable],
    given: Collection[Hashable] = (),
) -> dict[Hashable, Coordinates]:
    """Coordinates and rates of the joints between bodies that move, but those given, by name."""
    space = model.workspace
    return {
        joint.name: space.joint(joint.name, state.data[None], twists.reshape(1, -1))[0].T.tolist()
        for joint in model.mechanism.joints.values()
        if joint.positions
        and joint.name not in given
        and joint.parent.name in moved
        and joint.child.name in moved
    }


def hang(
    model: Model,
    state: State,
    twists: Float,
    frames: dict[Hashable, Frame],
    known: Mapping[Hashable, Coordinates],
    waiting: list[Hashable] | None = None,
    before: dict[Hashable, Frame] | None = None,
) -> None:
    """Place bodies: those with frames there, then those that joints hang on them, breadth first.

    Parameters
    ----------
    model : Model
    state : State
        Changed, but its momenta: see `set_twists`.
    twists : ndarray of float, shape (n, 6)
        Changed.
    frames : dict
        Frames by name, added to.
    known : mapping
        Coordinates and their rates by joint; the others are at 0 and still.
    waiting : list, optional
        Names to begin with; by default all that have frames.
    before : dict, optional
        Frames of all bodies that they had: what a joint whose coordinates tell no pose holds, as
        `Distance`, goes along with its neighbour.
    """
    waiting = list(frames) if waiting is None else waiting
    by_body = _joints_at(model)
    for name in waiting:
        if name != WORLD.name:
            put(model, state, twists, name, frames[name])
    while waiting:
        name = waiting.pop(0)
        for joint in by_body.get(name, ()):
            if len(joint.bodies) > 2:  # a function of many bodies places none of them
                rest = [one.name for one in joint.bodies if one.name not in frames]
                for other in rest:
                    if before is None:
                        break
                    frames[other] = along(before[name], before[other], frames[name])
                    put(model, state, twists, other, frames[other])
                    waiting.append(other)
                continue
            down = joint.parent.name == name
            other = (joint.child if down else joint.parent).name
            if other in frames:
                continue
            if before is not None and not joint.positions and joint.kind != "fixed":
                frames[other] = along(before[name], before[other], frames[name])
            else:
                still = [0.0] * joint.n_coordinates
                place = child_frame if down else parent_frame
                frames[other] = place(joint, frames[name], *known.get(joint.name, (still, still)))
            put(model, state, twists, other, frames[other])
            waiting.append(other)


def _joints_at(model: Model) -> dict[Hashable, list[Joint]]:
    """Joints of each body and the world, found once."""
    if "joints at" not in model.structures:
        found: dict[Hashable, list[Joint]] = {}
        for joint in model.mechanism.joints.values():
            for body in joint.bodies:
                found.setdefault(body.name, []).append(joint)
        model.structures["joints at"] = found
    return cast(dict[Hashable, list[Joint]], model.structures["joints at"])


def set_body(
    model: Model,
    state: State,
    name: Hashable,
    position: ArrayLike | None,
    orientation: ArrayLike | None,
    velocity: ArrayLike | None,
    angular_velocity: ArrayLike | None,
    carry: bool,
) -> None:
    """Place a body, alone or with all that joints connect to it: `Model.set_body`."""
    check_state(model, state)
    i, label = model.body_number(name), f"body {name!r}"
    others = connected(model, name) if carry else []
    whole = not others or model.workspace.is_given(state)
    twists = allowed_twists(model, state, whole)
    body, before = model.bodies[i], dict[Hashable, Frame]()
    if others:  # else the state may have no poses yet
        before = {one.name: frame_of(model, state, one, twists) for one in (body, *others)}
    pose = state.pose[i].copy()
    if position is not None:
        pose[:3] = rotation.as_numbers(position, (3,), f"position of {label}")
    if orientation is not None:
        q = rotation.as_numbers(orientation, (4,), f"orientation of {label}")
        pose[3:] = rotation.normalized(q)
    if velocity is not None:
        twists[i, :3] = rotation.as_numbers(velocity, (3,), f"velocity of {label}")
    if angular_velocity is not None:
        label = f"angular_velocity of {label}"
        twists[i, 3:] = rotation.as_numbers(angular_velocity, (3,), label)
    state.pose[i] = pose
    if others:
        now = frame_of(model, state, body, twists)
        for one in others:
            put(model, state, twists, one.name, along(before[name], before[one.name], now))
    set_twists(model, state, twists, [i, *(model.body_number(one.name) for one in others)])


def connected(model: Model, name: Hashable) -> list[Any]:
    """Bodies that joints connect to one, directly or through others.

    Parameters
    ----------
    model : Model
    name : hashable
        Of a body.

    Returns
    -------
    list of Body

    Raises
    ------
    InconsistentStateError
        If joints hold them to the world.
    """
    joints = [joint for joint in model.mechanism.joints.values() if joint.n_rows > 0]
    reached, waiting, found = {name}, [name], []
    while waiting:
        at = waiting.pop()
        for joint in joints:
            if at not in (body.name for body in joint.bodies):
                continue
            for body in joint.bodies:
                if body is WORLD:
                    raise InconsistentStateError(
                        f"body {name!r} cannot carry others, as joint {joint.name!r} holds it or "
                        "them to the world: use set_joint, or place it alone and use assemble"
                    )
                if body.name not in reached:
                    reached.add(body.name)
                    waiting.append(body.name)
                    found.append(body)
    return found
