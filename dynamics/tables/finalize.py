"""From names to tables: a mechanism's plan, constants and block graph."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from dynamics.kernels.base import layout
from dynamics.kernels.rows import rows as kinds
from dynamics.kernels.rows import wrapping
from dynamics.kernels.rows.stiff_forces import KEPT
from dynamics.parts.bodies import WORLD
from dynamics.parts.couplings import Half, halves, on_loops
from dynamics.parts.forces import Spring, Thruster
from dynamics.parts.joints import Joint, Row
from dynamics.parts.servos import PositionServo, VelocityServo
from dynamics.parts.tendons import halves as parts_of_tendon
from dynamics.parts.tendons import looseness, sliders_of, terms
from dynamics.parts.user_functions import groups_of
from dynamics.tables import callbacks
from dynamics.tables import contacts as contact_tables
from dynamics.tables.elimination import loops_of, symbolic_of
from dynamics.tables.model_tables import Tables
from dynamics.tables.planar import planar_numbers, planar_work
from dynamics.tables.recombination import Recombination, of_loose_rows, recombined
from dynamics.tables.records import (
    BODY,
    CONTACT_CONSTANTS,
    GROUP,
    GROUP_CONSTANTS,
    HEADER,
    ROW,
    ROW_CONSTANTS,
    view,
)
from dynamics.tables.stiffness import longest_dragged, stiff_drags, stiff_rows
from dynamics.tables.trace_links import chain_mobilities
from dynamics.tables.units import LIGHTEST, Unit, is_angle, lighter, planes_of, units_of

if TYPE_CHECKING:
    from dynamics.mechanism import Mechanism

Float = NDArray[np.float64]
ORIGIN, UPRIGHT = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])

#: Added to the diagonal of constraints on loops, over their inverse mass: theory/loops (1).
LOOP_REGULARIZATION = 1e-8
#: Mass over the heaviest of its part, and inertia over that and the length squared, that bodies on
#: loops count with at least, and that residuals of a body are weighed with: those of links with a
#: trace of mass are the rounding of what joints pass on. With 1e-6 it is up to 1e-8 of a velocity,
#: and Newton's method ends in it (tests/dynamics/test_massless.py).
TRACE = 1e-3
#: Weight of the velocity of a tendon's slide in what ends Newton's method: it is a difference of
#: lengths over the interval, whose rounding may exceed the tolerance.
ROUNDED = 1e-2
TURNING = {
    kinds.ROTATION, kinds.ANGLE, kinds.SCREW, kinds.LOGARITHM, kinds.SPIN,
}  # fmt: skip
#: Coordinates of which whole turns mean nothing.
ROUND = {kinds.ANGLE, kinds.HEADING_A, kinds.HEADING_B}
ANGULAR = {kinds.ROTATION, kinds.ANGLE, kinds.DOT, kinds.LOGARITHM, kinds.SPIN}


class Group:
    """One group of rows while the tables are written."""

    def __init__(self, joint: Any, rows: tuple[Row, ...] | list[Row], offset: Any = None) -> None:
        self.parent, self.child = joint.parent, joint.child
        self.bodies = (joint.parent, joint.child)  # whose units its rows have
        self.points = getattr(joint, "parent_point", ORIGIN), getattr(joint, "child_point", ORIGIN)
        self.offset = UPRIGHT if offset is None else offset
        self.rows = list(rows)
        n = len(self.rows)
        self.n_rows = n
        (
            self.stiffness, self.damping, self.rest, self.compliance, self.regularization,
            self.implicit_stiffness, self.implicit_damping,
            self.gain, self.target,  # of a servo
            self.pull, self.period, self.armature,
        ) = np.zeros((12, n))  # fmt: skip
        self.theta = np.ones(n)
        self.source: Joint | Spring | None = None  # whose springs and dampers these are
        self.words: dict[str, str] = {}  # for "spring" in messages
        self.control = np.full(n, -1)
        self.control_limits = np.full((n, 2), np.inf)
        self.control_limits[:, 0] = -np.inf
        self.callback = 0
        self.ring = [self]  # groups of the same user's function
        self.driven = 0.0  # inertia that the slide of a tendon moves
        self.partner: int | None = None  # group whose equation these rows add to
        self.mix: Recombination | None = None  # of its rows
        self.spatial: Hashable = None  # name of the body of 6 x 6 whose axes these rows are
        self.limited: Hashable = None  # name of the joint whose limits look at these rows
        self.rated: Hashable = None  # name of the joint whose velocity limits or friction do

    @property
    def paired(self) -> bool:
        """True if the velocity of one body acts on the other."""
        return bool(self.damping.any() or self.implicit)

    @property
    def implicit(self) -> bool:
        """True if forces depend on the rows at the end of an interval."""
        return bool(self.armature.any() or self.stiff)

    @property
    def stiff(self) -> bool:
        """True if there are springs, dampers or servos that are implicit."""
        return bool(self.implicit_stiffness.any() or self.implicit_damping.any())

    @property
    def label(self) -> str:
        """Whose springs and dampers these are, for people."""
        what = "spring" if isinstance(self.source, Spring) else "joint"
        return f"{what} {getattr(self.source, 'name', None)!r}"


def tables_of(
    mechanism: Mechanism,
    timestep: float,
    order: int = 2,
    like: Tables | None = None,
    units: dict[Hashable, Unit] | None = None,
) -> Tables:
    """Write the tables of a mechanism.

    Parameters
    ----------
    mechanism : Mechanism
    timestep : float
        s; what is stiff for it is taken implicitly: see `dynamics.tables.stiffness`.
    order : int, optional
        2, or 4 or 6, which take nothing implicitly.
    like : Tables, optional
        Of a mechanism with the same graph: its loops and symbolic factorization are taken over.
    units : dict, optional
        By name of body, by default those of `units_of`.

    Returns
    -------
    Tables

    Raises
    ------
    ValueError
        If it has no body, or springs and dampers that are too stiff for order 4 or 6.
    """
    if not mechanism.bodies:
        raise ValueError("the mechanism has no body; add one with add_body")
    units = units_of(mechanism) if units is None else units
    joints = [joint for joint in mechanism.joints.values() if joint.n_rows > 0]
    forces, names, controls = _forces(mechanism)
    if order > 2:
        joints, springs = _with_springs(joints)
        forces += springs
    tendons = mechanism.tendons.values()
    longest = _stiff_forces(mechanism, forces, timestep, order)
    stiff = tuple(longest)
    if stiff and order > 2:
        label = min(stiff, key=longest.__getitem__)
        raise ValueError(
            f"the {label} is too stiff for order={order} and a timestep of {timestep:g} s; take a "
            f"timestep below {longest[label]:.2g} s, or order=2, which takes it implicitly"
        )
    if like is not None and like.stiff != stiff:
        like = None  # other bodies feel each other
    cycles = loops_of(mechanism.bodies, joints) if like is None else like.cycles
    in_loop = {name for cycle in cycles for name in cycle}
    body_index = {name: i for i, name in enumerate(mechanism.bodies)}
    groups = [_constraint(joint, joint.name in in_loop, units) for joint in joints]
    coupled: dict[Hashable, tuple[Half, ...]] = {
        name: halves(one, mechanism.joints) for name, one in mechanism.couplings.items()
    }
    coupled |= {one.equation: parts_of_tendon(one, mechanism) for one in tendons}
    firsts, later = _coupled(mechanism, coupled, bool(cycles), len(groups))
    calls, pieces = _users(joints, groups, body_index)
    groups += firsts + later + pieces
    users = _potentials(mechanism, forces, body_index)
    forces += _axes(mechanism)
    forces.sort(key=lambda group: not group.implicit)  # `plan[ROTORS]` of them
    measures: list[Group] = []
    measure_group: dict[Hashable, tuple[int, int]] = {}
    for joint in mechanism.joints.values():
        if joint.positions:
            first = len(groups) + len(forces) + len(measures)
            measure_group[joint.name] = (first, first + 1)
            measures += [Group(joint, joint.positions, joint.offset)]
            measures += [Group(joint, joint.rates, joint.offset)]
    first = sum(group.n_rows for group in groups)
    limited: dict[Hashable, int] = {}
    rated: dict[Hashable, int] = {}
    spatial: dict[Hashable, int] = {}
    for group in forces:
        if group.limited is not None:
            limited[group.limited] = first
        if group.rated is not None:
            rated[group.rated] = first
        if group.spatial is not None:
            spatial[group.spatial] = first
        first += group.n_rows
    records, distances = contact_tables.records_of(mechanism, limited, rated)
    symbolic, fallback = (
        (like.symbolic, like.fallback)
        if like
        else symbolic_of(mechanism.bodies, joints, coupled, forces, records, bool(cycles))
    )
    thetas = stiff_drags(mechanism.bodies.values(), timestep)
    plan, constant = _written(
        mechanism, thetas, units, groups, forces, measures, body_index, symbolic.graph
    )
    more, numbers, slots = contact_tables.written(records, units, body_index, symbolic.graph)
    rubbing = [record for record in records if record.friction > 0.0]  # the last
    header = view(plan, HEADER, 0, 1)
    header["controls"], header["contacts"], header["slots"] = len(names), len(slots) - 1, slots[-1]
    softness = view(numbers, CONTACT_CONSTANTS, 0, len(slots) - 1)["softness"]
    found = any(one.options.get("compliance", 0.0) > 0.0 for one in mechanism.collisions)
    header["soft_contacts"] = soft = int(found or (softness > 0.0).any())
    late = soft or stiff or any(group.stiff for group in forces) or (thetas == 1.0).any()
    if order == 2 and late:
        header["stiff_numbers"] = 1 + KEPT * sum(group.n_rows for group in forces if group.implicit)
    header["contact_at"], header["contact_constant_at"] = plan.size, constant.size
    planar = np.zeros(0, np.int64)
    if order == 2:
        touching = any(record.joins_bodies for record in records)
        planar = planar_numbers(mechanism, groups, forces, symbolic, touching)
    header["work_size"] = layout.work_size(
        len(body_index),
        int(header["rows"][0]),
        int(header["all_rows"][0]),
        len(slots) - 1,
        int(slots[-1]),
        len(mechanism.wrenches),
        int(header["stiff_numbers"][0]),
        planar_work(planar),
    )
    plan, constant = np.concatenate([plan, more]), np.concatenate([constant, numbers])
    plan, constant = _with_spatial(mechanism, spatial, body_index, plan, constant)
    plan[layout.UNITS_AT] = constant.size
    constant = np.concatenate([constant, _row_units(units, groups)])
    constant = np.concatenate([constant, *_mixes(groups + forces, plan, constant.size)])
    plan, more_users = _with_wrenches(mechanism, body_index, plan)
    if fallback is not None:
        plan[layout.FALLBACK_AT], plan[layout.FALLBACK_SIZE] = plan.size, fallback.program.size
        plan = np.concatenate([plan, fallback.program])
    if planar.size:
        plan[layout.PLANAR_AT] = plan.size
        plan = np.concatenate([plan, planar])
    return Tables(
        plan,
        constant,
        symbolic,
        fallback,
        body_index,
        {name: k for k, name in enumerate([*(joint.name for joint in joints), *coupled])},
        np.cumsum([0, *(g.n_rows for g in groups if g.partner is None)]).astype(np.int64),
        tuple(names),
        controls,
        measure_group,
        tuple(label for record in records if record.friction == 0.0 for label in record.labels),
        slots,
        dict(zip((r.labels[0] for r in rubbing), slots[len(slots) - 1 - len(rubbing) :].tolist())),
        cycles,
        units,
        stiff,
        (*calls, *distances, *users, *more_users),
    )


def _stiff_forces(
    mechanism: Mechanism, forces: list[Group], timestep: float, order: int
) -> dict[str, float]:
    """`stiff_rows` of all forces, whose dampers are first those of the trapezoidal rule."""
    tendons = mechanism.tendons.values()
    driven = {one.name: 1.0 / sum(map(looseness, terms(one, mechanism))) for one in tendons}
    for group in forces:
        group.theta[:] = 0.5
        group.driven = driven.get(getattr(group.source, "name", None), 0.0)
    chains = chain_mobilities(mechanism.bodies.values(), mechanism.joints.values())
    return stiff_rows(forces, timestep, order, chains)


def longest_explicit(mechanism: Mechanism, timestep: float) -> float:
    """Longest interval of order 2 for which no spring, damper, drag or servo is stiff.

    Parameters
    ----------
    mechanism : Mechanism
    timestep : float
        s; what is not stiff for it counts as if it were at its bound.

    Returns
    -------
    float
        s.
    """
    forces = _forces(mechanism)[0]
    for group in forces:
        group.stiffness += group.implicit_stiffness  # of servos
        group.damping += group.implicit_damping
    found = _stiff_forces(mechanism, forces, timestep, 2).values()
    return min([timestep, *found, longest_dragged(mechanism.bodies.values())])


def _constraint(joint: Joint, in_loop: bool, units: dict[Hashable, Unit]) -> Group:
    rows = list(joint.rows) or [Row(kinds.USER, np.zeros(3), np.zeros(3))] * joint.n_rows
    group = Group(joint, rows, joint.offset)
    group.bodies = joint.bodies
    group.rest = np.array([row.rest for row in rows])
    mix = recombined(joint.compliance, joint.constraint_damping, group.n_rows)
    group.compliance, group.damping = mix.compliance, mix.damping
    rigid = group.compliance == 0.0
    group.theta[~rigid] = joint.theta
    group.mix = None if mix.rows is None else mix
    if in_loop:
        bodies = [body for body in joint.bodies if body is not WORLD]
        light = thin = 0.0
        for body in bodies:  # a link without mass moves with what hangs on it
            unit = units[body.name]
            least = TRACE * unit.mass
            light += 1.0 / max(body.mass, least)
            thin += 1.0 / max(np.trace(body.inertia) / 3.0, least * unit.length**2)
        loose = np.array([thin if row.kind in ANGULAR else light for row in group.rows])
        if mix.rows is not None:
            loose = mix.rows**2 @ loose
        group.regularization[rigid] = LOOP_REGULARIZATION * loose[rigid]
    return group


def _with_springs(joints: list[Joint]) -> tuple[list[Joint], list[Group]]:
    """Joints with what is rigid of them, and springs of stiffness C^-1 for what is compliant."""
    held: list[Joint] = []
    springs: list[Group] = []
    for joint in joints:
        if not joint.soft:
            held.append(joint)
            continue
        soft, mix = of_loose_rows(joint.compliance, joint.constraint_damping, joint.n_rows)
        rows = np.array(joint.rows, object)
        rigid = replace(joint, rows=tuple(rows[~soft]), compliance=0.0, constraint_damping=0.0)
        if rigid.rows:
            held.append(rigid)
        spring = Group(joint, list(rows[soft]), joint.offset)
        spring.source, spring.mix = rigid, None if mix.rows is None else mix
        spring.words = {"spring": "compliance"}
        spring.rest = np.array([row.rest for row in spring.rows])
        spring.stiffness, spring.damping = 1.0 / mix.compliance, mix.damping
        springs.append(spring)
    return held, springs


def _coupled(
    mechanism: Mechanism, coupled: dict[Hashable, tuple[Half, ...]], loops: bool, first: int
) -> tuple[list[Group], list[Group]]:
    """Groups of couplings and tendons: all first parts, and all later ones; theory/joints.

    The slide of a tendon gives its constraint a pivot, so that it needs no regularization.
    """
    rings = on_loops(mechanism.couplings)
    sliding = {one.equation for one in mechanism.tendons.values() if not one.held}
    firsts: list[Group] = []
    later: list[Group] = []
    for k, (name, parts) in enumerate(coupled.items()):
        for part in parts:
            group = Group(part.joint, [part.row], part.joint.offset)
            group.rest[0], group.period[0] = part.row.rest, part.period
            if part is parts[0]:
                firsts.append(group)
            else:
                group.partner = first + k
                later.append(group)
            if part.row.kind == wrapping.WRAPPED and group.child not in later[-2].bodies:
                if group.child is not WORLD:  # after the other half of its path
                    later[-2].ring = group.ring = [later[-2], group]
        if name in rings or (loops and name not in sliding):
            driving = parts if name in mechanism.couplings else parts[1:]
            firsts[-1].regularization[0] = LOOP_REGULARIZATION * sum(map(looseness, driving))
    return firsts, later


def _forces(
    mechanism: Mechanism,
) -> tuple[list[Group], list[Hashable], dict[Hashable, tuple[int, int]]]:
    """Groups of springs, dampers and controls; names of the controls and where they start."""
    groups: list[Group] = []
    names: list[Hashable] = []
    start: dict[Hashable, tuple[int, int]] = {}
    for joint in mechanism.joints.values():
        sprung = bool((joint.stiffness != 0.0).any())
        moved = bool((joint.damping != 0.0).any()) or joint.actuated or bool(joint.armature.any())
        rubbed = joint.velocity_limits is not None or bool(joint.friction.any())
        moved = moved or rubbed
        if joint.actuated:
            start[joint.name] = (len(names), joint.n_coordinates)
        same = [p.kind == r.kind for p, r in zip(joint.positions, joint.rates)]
        if sprung or (moved and all(same)) or joint.limits is not None:
            group = Group(joint, joint.positions, joint.offset)
            group.limited = joint.name if joint.limits is not None else None
            group.stiffness, group.rest = joint.stiffness.copy(), joint.rest.copy()
            group.source = joint
            groups.append(group)
        if moved:
            if not all(same):
                groups.append(Group(joint, joint.rates, joint.offset))
            groups[-1].source = joint
            groups[-1].damping, groups[-1].armature = joint.damping.copy(), joint.armature.copy()
            groups[-1].period[:] = _turns(joint)
            groups[-1].rated = joint.name if rubbed else None
            if joint.actuated:
                groups[-1].control = len(names) + np.arange(joint.n_coordinates)
                names += [joint.name] * joint.n_coordinates
            if joint.control_limits is not None:
                groups[-1].control_limits = joint.control_limits
        if joint.servo is not None:
            start[joint.name] = (len(names), joint.n_coordinates)
            groups.append(_servo(joint, joint.servo, len(names)))
            names += [joint.name] * joint.n_coordinates
    for spring in mechanism.springs.values():
        group = Group(spring, [Row(kinds.DISTANCE, np.zeros(3), np.zeros(3))])
        group.source = spring
        group.stiffness[0], group.damping[0] = spring.stiffness, spring.damping
        group.rest[0] = spring.length
        group.limited = spring.name if spring.limits is not None else None
        if spring.actuated:
            start[spring.name] = (len(names), 1)
            group.control[0] = len(names)
            if spring.control_limits is not None:
                group.control_limits[0] = spring.control_limits
            names.append(spring.name)
        groups.append(group)
    for thruster in mechanism.thrusters.values():
        start[thruster.name] = (len(names), 1)
        groups.append(_thrust(thruster, len(names)))
        names.append(thruster.name)
    return groups, names, start


def _thrust(thruster: Thruster, control: int) -> Group:
    """Rows along which a thruster pushes: a velocity of its point, and one of turning."""
    ends = SimpleNamespace(
        parent=WORLD, child=thruster.child, parent_point=np.zeros(3), child_point=thruster.point
    )
    ways = zip((kinds.EDGE, kinds.SPIN), map(np.asarray, (thruster.force, thruster.torque)))
    group = Group(ends, [Row(kind, way, way) for kind, way in ways if way.any()])
    group.control[:] = control
    if thruster.control_limits is not None:
        group.control_limits[:] = thruster.control_limits
    return group


def _turns(joint: Joint) -> list[float]:
    """Whole turns of each coordinate, which mean nothing; 0 where there are none."""
    return [2.0 * np.pi * (row.kind in ROUND) for row in joint.positions]


def _servo(joint: Joint, servo: PositionServo | VelocityServo, first: int) -> Group:
    """Group of a joint's servo, whose controls are the ``first`` and those after it."""
    group = Group(joint, joint.positions, joint.offset)
    numbers = servo.rows(joint.n_coordinates, f"joint {joint.name!r}")
    group.implicit_stiffness, group.implicit_damping, group.gain, group.target = numbers[:4]
    group.control_limits = numbers[4]
    group.control, group.period[:] = first + np.arange(joint.n_coordinates), _turns(joint)
    return group


def _users(
    joints: list[Joint], groups: list[Group], body_index: dict[Hashable, int]
) -> tuple[list[callbacks.Callback], list[Group]]:
    """Functions of `Custom` joints, and the later groups of those of three and more bodies."""
    calls: list[callbacks.Callback] = []
    more: list[Group] = []
    for k, (joint, first) in enumerate(zip(joints, groups)):
        if joint.user is not None:
            numbers = _numbers(joint.bodies, body_index)
            made = callbacks.constraint(joint, numbers, len(body_index))
            ring = _ring(first, joint.bodies, made)
            for later in ring[1:]:
                later.partner = k
                for what in ("damping", "compliance", "theta", "regularization", "mix"):
                    setattr(later, what, getattr(first, what))
            calls += made
            more += ring[1:]
    return calls, more


def _potentials(
    mechanism: Mechanism, forces: list[Group], body_index: dict[Hashable, int]
) -> list[callbacks.Callback]:
    """Users' potentials as rows that pull with 1; their functions."""
    calls: list[callbacks.Callback] = []
    for force in mechanism.potentials.values():
        numbers = _numbers(force.bodies, body_index)
        made = callbacks.potential(force, numbers, len(body_index))
        first = Group(force, [Row(kinds.USER, np.zeros(3), np.zeros(3))])
        for group in _ring(first, force.bodies, made):
            group.pull[0] = 1.0
            forces.append(group)
        calls += made
    return calls


def _numbers(bodies: tuple[Any, ...], body_index: dict[Hashable, int]) -> list[int]:
    """Numbers of bodies, the world's after all others."""
    return [body_index.get(one.name, len(body_index)) for one in bodies]


def _ring(first: Group, bodies: tuple[Any, ...], made: list[callbacks.Callback]) -> list[Group]:
    """Groups of a user's function, of two bodies each, with ``first`` as the first one."""
    ring: list[Group] = []
    for (parent, child), call in zip(groups_of(bodies), made):
        ends = SimpleNamespace(parent=parent, child=child)
        group = Group(ends, first.rows) if ring else first
        group.parent, group.child, group.callback = parent, child, call.address
        ring.append(group)
    for group in ring:
        group.ring = ring
    return ring


def _axes(mechanism: Mechanism) -> list[Group]:
    """Rows along the axes of bodies of 6 x 6, and the torque of gravity off their origin."""
    groups = []
    for body in mechanism.bodies.values():
        if body.spatial_inertia is not None:
            ends = SimpleNamespace(
                parent=WORLD, child=body, parent_point=np.zeros(3), child_point=np.zeros(3)
            )
            gravity = -body.gravity_scale * mechanism.gravity
            rows = [Row(kinds.EDGE, axis, axis) for axis in np.eye(3)]
            group = Group(ends, [*rows, Row(kinds.DOT, gravity, body.center_of_mass)])
            group.pull[3], group.spatial = body.mass, body.name
            groups.append(group)
    return groups


def _with_spatial(
    mechanism: Mechanism,
    first: dict[Hashable, int],
    body_index: dict[Hashable, int],
    plan: NDArray[np.int64],
    constant: Float,
) -> tuple[NDArray[np.int64], Float]:
    """Plan and constants with the inertias of 6 x 6 at the end."""
    plan[layout.ADDED], plan[layout.ADDED_AT] = len(first), plan.size
    records = []
    for name, row in first.items():
        matrix = np.array(mechanism.bodies[name].spatial_inertia)
        matrix[:3, :3] = 0.0  # as for any body, from its inertia
        records += [body_index[name], row, constant.size]
        constant = np.concatenate([constant, matrix.ravel()])
    return np.concatenate([plan, np.array(records, np.int64)]), constant


def _with_wrenches(
    mechanism: Mechanism, body_index: dict[Hashable, int], plan: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[callbacks.Callback]]:
    """Plan with users' wrenches at the end, and their functions."""
    n = len(body_index)
    plan[layout.WRENCHES], plan[layout.WRENCH_AT] = len(mechanism.wrenches), plan.size
    calls, records = [], []
    for force in mechanism.wrenches.values():
        a, b = (body_index.get(end.name, n) for end in (force.parent, force.child))
        calls.append(callbacks.wrench(force, b, a, n))
        records += [a, b, calls[-1].address]
    return np.concatenate([plan, np.array(records, np.int64)]), calls


def _row_units(units: dict[Hashable, Unit], groups: list[Group]) -> Float:
    """A time, then reciprocal units of constraint rows and of their multipliers: see `layout`."""
    rows, impulses = [], []
    followers = {group.partner: group for group in groups if group.partner is not None}
    for k, group in enumerate(groups):
        if group.partner is None:
            unit = lighter(units, *group.bodies)
            own = followers.get(k, group).rows  # a coupling is in units of its follower
            arms = np.array([1.0 if is_angle(row) else unit.length for row in own])
            if group.mix is not None and (T := group.mix.rows) is not None:
                arms = np.sqrt(T**2 @ arms**2)
            rows += (1.0 / arms).tolist()
            impulses += (arms / (unit.energy / unit.speed * unit.length)).tolist()
    time = float(np.median([unit.length / unit.speed for unit in units.values()]))
    return np.array([time, *rows, *impulses])


def _mixes(groups: list[Group], plan: NDArray[np.int64], size: int) -> list[Float]:
    """Factors of recombined rows, which go to place ``size``; their places go into the plan."""
    found: list[Float] = []
    at = size - int(plan[layout.UNITS_AT])
    places: dict[int, int] = {}
    for group, record in zip(groups, view(plan, GROUP, plan[layout.GROUP_AT], len(groups))):
        if group.mix is not None:
            if id(group.mix) not in places:
                places[id(group.mix)] = at
                found.append(group.mix.factors.ravel())
                at += found[-1].size
            record["mix"] = places[id(group.mix)]
    return found


def _written(
    mechanism: Mechanism,
    thetas: Float,
    units: dict[Hashable, Unit],
    joints: list[Group],
    forces: list[Group],
    measures: list[Group],
    body_index: dict[Hashable, int],
    graph: Any,
) -> tuple[NDArray[np.int64], Float]:
    """Plan and constants of bodies, groups and rows."""
    groups = joints + forces + measures
    n, rows = len(body_index), sum(group.n_rows for group in groups)
    group_at = layout.HEADER + 2 * n
    row_at = group_at + len(groups) * layout.GROUP_FIELDS
    plan = np.zeros(row_at + rows * layout.ROW_FIELDS, np.int64)
    group_constant_at = n * layout.BODY_SIZE
    row_constant_at = group_constant_at + len(groups) * layout.GROUP_SIZE
    constant = np.zeros(row_constant_at + rows * layout.ROW_SIZE)
    header = view(plan, HEADER, 0, 1)
    header["bodies"], header["joints"], header["groups"] = n, len(joints), len(joints + forces)
    header["rows"] = sum(group.n_rows for group in joints if group.partner is None)
    header["all_rows"] = sum(group.n_rows for group in joints + forces)
    header["body_at"], header["group_at"], header["row_at"] = layout.HEADER, group_at, row_at
    header["group_constant_at"] = group_constant_at
    header["row_constant_at"] = row_constant_at
    header["measures"], header["measured_rows"] = len(groups), rows
    header["rotors"] = sum(group.implicit for group in forces)
    header["soft"] = sum(int((group.compliance > 0.0).sum()) for group in joints)
    header["holding"] = sum(group.rows[-1].kind >= kinds.EDGE for group in joints)
    bodies = mechanism.bodies.values()
    header["dragged"] = sum(body.drag > 0.0 or body.spin_drag > 0.0 for body in bodies)
    plan[layout.HEADER : layout.HEADER + n] = graph.diagonal_at[:n]
    plan[layout.HEADER + n : group_at] = _first_connected(mechanism, joints, forces, body_index)
    write_bodies(mechanism, thetas, units, view(constant, BODY, 0, n))
    if groups:
        _write_groups(
            groups, len(joints), body_index, graph, view(plan, GROUP, group_at, len(groups)),
            view(constant, GROUP_CONSTANTS, group_constant_at, len(groups)),
        )  # fmt: skip
        write_rows(
            groups, view(plan, ROW, row_at, rows),
            view(constant, ROW_CONSTANTS, row_constant_at, rows),
        )  # fmt: skip
    return plan, constant


def _first_connected(
    mechanism: Mechanism,
    joints: list[Group],
    forces: list[Group],
    body_index: dict[Hashable, int],
) -> list[int]:
    """Number of the first body that joints, forces and users' functions connect with each."""
    graph = nx.Graph()
    graph.add_nodes_from(body_index.values())
    connected = [(force.parent, force.child) for force in mechanism.wrenches.values()]
    for group in [*joints, *forces]:
        several = list(group.ring) if group.partner is None else [group, joints[group.partner]]
        connected.append(tuple(end for one in several for end in (one.parent, one.child)))
    for ends in connected:
        nx.add_path(graph, [body_index[end.name] for end in ends if end is not WORLD])
    first = [0] * len(body_index)
    for bodies in nx.connected_components(graph):
        for body in bodies:
            first[body] = min(bodies)
    return first


def write_bodies(
    mechanism: Mechanism, thetas: Float, units: dict[Hashable, Unit], records: NDArray[Any]
) -> None:
    """Constants of all bodies."""
    planes, sliders = planes_of(mechanism), sliders_of(mechanism)
    bodies = list(mechanism.bodies.values())
    inertia = np.array([body.inertia for body in bodies])
    length, speed, heaviest, _ = np.array([units[body.name] for body in bodies]).T
    total = np.array([body.mass for body in bodies])
    mass = np.array([
        body.mass if (M := body.spatial_inertia) is None else np.trace(M[3:, 3:]) / 3.0
        for body in bodies
    ])  # fmt: skip
    held = {name: one.plane.owner for name, one in planes.items() if one.plane is not None}
    owners = [held.get(body.name, body) for body in bodies]
    carrying = np.maximum([owner.mass for owner in owners], LIGHTEST * heaviest)
    pace = np.where([body.name in sliders for body in bodies], ROUNDED, 1.0)
    weight = np.array([body.gravity_scale for body in bodies]) * (total / mass)
    largest, least = np.linalg.eigvalsh(inertia)[:, -1], TRACE * heaviest
    inertias = np.stack([np.maximum(mass, least), np.maximum(largest, least * length**2)], axis=1)
    arms = np.stack([np.ones(len(bodies)), length], axis=1).repeat(3, axis=1)
    records["mass"], records["inertia"] = mass, inertia.reshape(-1, 9)
    records["gravity"] = weight[:, None] * mechanism.gravity
    records["drag"] = [body.drag for body in bodies]
    records["spin_drag"] = [body.spin_drag for body in bodies]
    records["drag_theta"], records["largest_inertia"] = thetas, largest
    records["lightness"] = arms / (inertias.repeat(3, axis=1) * speed[:, None])
    records["pace"] = pace[:, None] * arms / speed[:, None]
    records["impulse"] = 1.0 / ((carrying * speed)[:, None] * arms)
    records["extent"] = 1.0 / length


def _write_groups(
    groups: list[Group],
    n_joints: int,
    body_index: dict[Hashable, int],
    graph: Any,
    plan: NDArray[Any],
    constants: NDArray[Any],
) -> None:
    """Plan and constants of all groups, of which the first ``n_joints`` are joints."""
    n = len(body_index)
    counts = [group.n_rows for group in groups]
    start = np.cumsum([0, *counts])[:-1]
    index = {id(group): k for k, group in enumerate(groups)}
    equation, places, numbers = start.copy(), np.full((len(groups), 5), -1), []
    ends = [[body_index.get(one.name, n) for one in (g.parent, g.child)] for g in groups]
    for k, (group, (a, b)) in enumerate(zip(groups, ends)):
        if group.partner is not None:
            equation[k] = start[group.partner]
        if k < n_joints:
            node = n + (k if group.partner is None else group.partner)
            places[k, 0] = graph.diagonal_at[node]
            for end, side in ((a, 1), (b, 3)):
                if end < n:
                    places[k, side : side + 2] = _blocks(graph, end, node)
        elif a < n and b < n and group.paired:
            places[k, 1:3] = _blocks(graph, a, b)
        row_kinds = [row.kind for row in group.rows]
        usual = [kinds.POINT] * 3 + [kinds.ROTATION] * (group.n_rows - 3)
        following = group.ring[(group.ring.index(group) + 1) % len(group.ring)]
        turns = not TURNING.isdisjoint(row_kinds)
        numbers.append((turns, row_kinds == usual, index[id(following)], group.callback))
    constants["point_a"], constants["point_b"] = np.array([g.points for g in groups]).swapaxes(0, 1)
    constants["offset"] = offset = np.array([group.offset for group in groups])
    aligned = (offset == [1.0, 0.0, 0.0, 0.0]).all(axis=1)
    turning, plan["pinned"], plan["next"], plan["callback"] = np.array(numbers).T
    plan["turns"] = turning * np.where(aligned, layout.ALIGNED, 1)
    plan["a"], plan["b"] = np.array(ends).T
    plan["n_rows"], plan["first_row"], plan["equation"] = counts, start, equation
    for name, column in zip(("diagonal_at", "aj_at", "ja_at", "bj_at", "jb_at"), places.T):
        plan[name] = column


def write_rows(groups: list[Group], plan: NDArray[Any], constants: NDArray[Any]) -> None:
    """Plan and constants of the rows of all groups, one group after another."""
    rows = [row for group in groups for row in group.rows]
    plan["kind"] = [row.kind for row in rows]
    for name in ("axis", "second", "pitch"):
        constants[name] = [getattr(row, name) for row in rows]
    for name in (
        "rest", "compliance", "damping", "stiffness", "theta", "regularization", "pull",
        "period", "armature", "implicit_stiffness", "implicit_damping", "gain", "target",
    ):  # fmt: skip
        constants[name] = np.concatenate([getattr(group, name) for group in groups])
    plan["control"] = np.concatenate([group.control for group in groups])
    limits = np.concatenate([group.control_limits for group in groups])
    constants["least"], constants["most"] = limits.T


def _blocks(graph: Any, i: int, j: int) -> tuple[int, int]:
    """Places of blocks (i, j) and (j, i) in the values."""
    return graph.edge_at(i, j), graph.edge_at(j, i)
