"""States of other models, and mechanisms in place of models, are refused before anything reads."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.zoo import cart_pole, double_pendulum, pendulum

LINK, JOINT = ("link", 3), ("joint", 3)

READERS = {
    "velocities": lambda model, state: model.velocities(state),
    "joint": lambda model, state: model.joint(state, JOINT),
    "energy": lambda model, state: model.energy(state),
    "constraint_violation": lambda model, state: model.constraint_violation(state),
    "redundancy": lambda model, state: model.redundancy(state),
    "set_joint": lambda model, state: model.set_joint(state, JOINT, 0.1),
    "set_body": lambda model, state: model.set_body(state, LINK, position=(0, 0, 1)),
    "assemble": lambda model, state: model.assemble(state, {JOINT: 0.1}),
    "step": lambda model, state: model.step(state),
    "simulate": lambda model, state: dy.simulate(model, state, 0.1),
    "pose": lambda model, state: dy.Kinematics(model).pose(state, LINK),
    "jacobian": lambda model, state: dy.Kinematics(model).jacobian(state, LINK),
    "mass_matrix": lambda model, state: dy.Kinematics(model).mass_matrix(state),
    "kinematic velocities": lambda model, state: dy.Kinematics(model).velocities(state),
    "center_of_mass": lambda model, state: dy.Kinematics(model).center_of_mass(state),
    "inverse kinematics": lambda model, state: dy.Kinematics(model).inverse(state, {}),
    "read": lambda model, state: dy.JointSpace(model).read(state),
    "place": lambda model, state: dy.JointSpace(model).place(state, np.zeros(5)),
    "sensors": lambda model, state: dy.Sensors(model, [dy.JointSensor(JOINT)]).read(state),
    "inverse_dynamics": lambda model, state: dy.inverse_dynamics(model, state, 0.0),
    "linearize": lambda model, state: dy.linearize(model, state),
    "sensitivity": lambda model, state: dy.sensitivity(model, state, 0.1, [(LINK, "mass")]),
    "separate": lambda model, state: dy.separate(model, state),
    "suggest_timestep": lambda model, state: dy.suggest_timestep(model, state, 1e-3, 0.1),
}


@pytest.mark.parametrize("name", READERS)
def test_a_state_of_another_mechanism_is_refused(name):
    model = pendulum(5)[0]
    with pytest.raises(ValueError, match="of another model: it has 30 numbers, this model's have"):
        READERS[name](model, pendulum()[1])
    with pytest.raises(TypeError, match=r"the state is None; start with model.initial_state\(\)"):
        READERS[name](model, None)


def test_a_controller_that_takes_the_time_first_is_told_the_order():
    model, state = cart_pole()
    sensors = dy.Sensors(model, [dy.JointSensor(next(iter(model.mechanism.joints)))])

    def controller(time, state):
        return sensors.read(state)

    with pytest.raises(TypeError, match=r"the state is 0.0; .*a controller gets \(state, time\)"):
        dy.simulate(model, state, 0.1, controller=controller)


def test_what_a_step_returns_is_no_state():
    model, state = double_pendulum()
    with pytest.raises(
        TypeError,
        match=r"a step returns: use state, info = model.step\(state\)$",
    ):
        model.step(model.step(state))


def test_a_controller_without_limits_reads_states_of_a_mechanism_with_limits():
    def arm(limits):
        mech = dy.Mechanism()
        rod = mech.add_body(dy.Box(0.1, 0.1, 1.0, mass=1.0), name="rod")
        hinge = dy.Revolute(
            mech.world, rod, (0, 1, 0), child_point=(0, 0, 0.5), limits=limits, actuated=True,
            name="hinge",
        )  # fmt: skip
        mech.add_joint(hinge)
        return mech.finalize(0.01)

    free, limited = arm(None), arm((-2.0, 2.0))
    state = limited.initial_state()
    limited.set_joint(state, "hinge", 0.5, 0.3)
    same = free.initial_state()
    free.set_joint(same, "hinge", 0.5, 0.3)
    found = dy.inverse_dynamics(free, state, 0.0)
    np.testing.assert_allclose(found, dy.inverse_dynamics(free, same, 0.0), rtol=1e-12)
    assert found.item() == pytest.approx(9.81 * 0.5 * np.sin(0.5))
    for begin in (free.step, lambda state: dy.simulate(free, state, 0.1)):
        with pytest.raises(ValueError, match="of another model"):
            begin(state)


MAKERS = {
    "inverse_dynamics": lambda mech, state: dy.inverse_dynamics(mech, state, 0.0),
    "sensitivity": lambda mech, state: dy.sensitivity(mech, state, 0.1, [("cart", "mass")]),
    "separate": dy.separate,
    "suggest_timestep": lambda mech, state: dy.suggest_timestep(mech, state, 1e-3, 0.1),
    "variant": lambda mech, state: dy.variant(mech, {}),
    "Muscles": lambda mech, state: dy.Muscles(mech),
    "rollouts": lambda mech, state: dy.rollouts(mech, [dy.Job(state, 0.1)]),
    "gym.Task": lambda mech, state: dy.gym.Task(mech, lambda q, rate, action: 0.0),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_mechanism_is_no_model(name):
    if name == "gym.Task":
        pytest.importorskip("gymnasium")
    model, state = cart_pole()
    with pytest.raises(TypeError, match=f"{name} takes a model, not Mechanism.*finalize"):
        MAKERS[name](model.mechanism, state)
