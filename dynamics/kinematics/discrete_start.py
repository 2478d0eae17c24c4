"""The papers' start: given velocities are those of the first interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics import interrupts
from dynamics.kernels.base import layout
from dynamics.kernels.stepping import step as stepping
from dynamics.kernels.stepping.given_interval import follow
from dynamics.state import State

if TYPE_CHECKING:
    from dynamics.model import Model

Float = NDArray[np.float64]


def first_node(model: Model, state: State, control: Float, wrench: Float) -> State:
    """Node after an interval with the velocities of a state: theory/step (1), (6), (11a).

    Parameters
    ----------
    model : Model
        Of the papers' form.
    state : State
        Left as it is.
    control : ndarray of float, shape (c,)
    wrench : ndarray of float, shape (6 n,) or (0,)

    Returns
    -------
    State

    Raises
    ------
    ValueError
        If a body turns by 180 degrees or more in the interval, so that (1) has no solution.
    """
    tables, h, space = model.tables, model.timestep, model.workspace.free()
    u = model.velocities(state)
    turn = h * np.linalg.norm(u[:, 3:], axis=1)
    if turn.size and turn.max() >= 2.0:
        name = model.bodies[int(turn.argmax())].name
        raise ValueError(
            f"body {name!r} turns by h omega = {turn.max():.3g} in the first interval, which must "
            "be below 2; take a smaller timestep"
        )
    x = np.zeros(layout.TWIST * model.n_bodies + model.n_rows)
    x[: u.size] = u.ravel()
    node, end = stepping.node_of(tables.plan, space.work, 0)
    trial, _ = stepping.node_of(tables.plan, space.work, end)
    after = model.state_of(np.zeros(model.state_size), state.time + h)
    with interrupts.around(tables.callbacks):
        bad = follow(
            tables.plan, tables.constant, h, state.time, control, wrench, state.data, x,
            node, trial, after.data[: after.pose.size],
            after.data[after.pose.size : after.pose.size + after.momentum.size],
        )  # fmt: skip
    space.reraise()
    if bad:
        raise ValueError("a user's wrench is not finite at the end of the first interval")
    after.interval_velocity[:] = u
    after.interval_velocity_before[:] = u
    space.kick(after.data[None], -0.5)
    return after
