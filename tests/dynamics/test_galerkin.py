"""Orders 4 and 6 in maximal coordinates: equations, their matrix, and motion known elsewhere."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation, zoo
from dynamics.kernels.base import layout
from dynamics.kernels.base.run_totals import TOTALS_SIZE
from dynamics.kernels.base.step_info import INFO_SIZE
from dynamics.kernels.galerkin import step as galerkin_step
from dynamics.tables import galerkin
from tests.dynamics.kernel_calls import galerkin_matrix, galerkin_residual

X, Y, Z = np.eye(3)
WIDE = 2.4  # rad: steps of convergence tests are never cut


def dense(stages, values):
    """Matrix of the blocks at their places."""
    graph = stages.symbolic.graph
    n, start = len(graph.labels), graph.row_start
    matrix = np.zeros((start[n], start[n]))
    for i in range(n):
        places = graph.blocks_at(np.full(n, i), np.arange(n))
        for j in np.flatnonzero(places >= 0):
            block = values[places[j] : places[j] + graph.size[i] * graph.size[j]]
            square = block.reshape(graph.size[j], graph.size[i]).T
            matrix[start[i] : start[i + 1], start[j] : start[j + 1]] = square
    return matrix


def machine(damped, added=False):
    """Five bodies with a row of every kind whose stiffness is known, some with added mass."""
    m = dy.Mechanism(gravity=(0.3, -1.0, -9.0))
    rng = np.random.default_rng(3)
    turn = rotation.normalized(rng.normal(size=4))
    drag = {"drag": 0.4, "spin_drag": 0.3} if damped else {}
    water = np.random.default_rng(4).normal(size=(6, 6))
    b = []
    for i in range(5):
        inertia = np.diag([0.4, 0.3 + 0.05 * i, 0.2])
        if added and i in (0, 3):
            inertia = dy.integrators.spatial_inertia(1.0 + i, inertia) + 0.1 * water @ water.T
        b.append(m.add_body(mass=1.0 + i, inertia=inertia, name=i, **drag))
    loose = {"stiffness": 30.0, "damping": 2.0 if damped else 0.0, "actuated": True}
    p, q = [0.1, 0.2, -0.3], [-0.2, 0.1, 0.4]
    m.add_joint(dy.Revolute(m.world, b[0], X, child_point=q, name="hinge"))
    m.add_joint(
        dy.Prismatic(b[0], b[1], [0.6, 0.0, 0.8], parent_point=p, child_point=q, orientation=turn,
                     name="slide", **loose)
    )  # fmt: skip
    m.add_joint(dy.Universal(b[1], b[2], X, Y, parent_point=p, child_point=q, name="cross"))
    m.add_joint(dy.Revolute(b[2], b[3], Z, parent_point=q, child_point=p, orientation=turn,
                            name="second hinge"))  # fmt: skip
    m.add_joint(dy.Distance(b[3], b[4], 1.0, parent_point=q, child_point=p, name="rod"))
    m.add_force(dy.Spring(b[0], b[4], 50.0, 3.0 if damped else 0.0, 0.5, parent_point=p))
    m.add_force(dy.Spring(m.world, b[4], 20.0, 1.0 if damped else 0.0, 0.0, child_point=q))
    return m


@pytest.mark.parametrize("order", [4, 6])
@pytest.mark.parametrize("damped", [False, True])
@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("added", [False, True])
def test_matrix_is_the_residuals_derivative(order, damped, coupled, added):
    # dampers leave out how their lever arms change, which is nothing at rest: there x = 0
    model = machine(damped, added).finalize(0.05)
    stages = galerkin.Stages(model.tables, order, coupled=coupled)
    arrays, _, blocks, nodes, _, _, table, work, driven, _ = stages.work()
    r, _, _, _, f, *_ = work
    values = stages.solver()[0][0]
    plan, constant, _ = stages.tables
    rule = (stages.s, *arrays)
    h, control, wrench = 0.05, np.full_like(driven, 0.7), np.linspace(-1.0, 1.0, 30)
    rng = np.random.default_rng(5)
    state = model.initial_state()
    state.pose[:, :3] += rng.normal(size=(5, 3))
    state.pose[:, 3:] = rotation.normalized(rng.normal(size=(5, 4)))
    x, p = rng.normal(size=r.size), rng.normal(size=30)
    moving = np.arange(r.size) % (r.size // stages.s) < 30
    if damped:
        x[moving] = 0.0

    def residual(x):
        galerkin_step.load_state(plan, constant, stages.s, state.data, nodes)
        out = np.zeros(r.size)
        galerkin_residual(plan, constant, rule, 0.0, h, control, wrench, p, x.copy(), nodes, f, out)
        return out

    residual(x)
    galerkin_matrix(plan, constant, rule, blocks, h, control, nodes, x, table, work, values)
    exact, compared = dense(stages, values), np.ones((r.size, r.size))
    d = 1e-6
    differences = np.array(
        [(residual(x + d * e) - residual(x - d * e)) / (2.0 * d) for e in np.eye(r.size)]
    ).T
    # central differences: d^2 of curvature, and round-off over d, of residuals of size 1e2
    if not coupled:  # constraint forces on one body that another's motion changes are left out
        body = np.tile(np.arange(5).repeat(layout.TWIST), stages.s)
        compared[np.ix_(moving, moving)] = body[:, None] == body
    assert (compared * np.abs(exact - differences)).max() < 1e-7
    assert np.abs(exact).max() > 1.0


def errors(make, order, steps, seconds, controls=None):
    """Largest differences of poses and of velocities from order 6 with four times the steps."""

    def end(order, steps):
        model, state = make(
            timestep=seconds / steps, order=order, tolerance=1e-13, largest_turn=WIDE
        )
        motion = dy.simulate(model, state, seconds, controls=controls)
        assert motion.constraint_violation().max() < 1e-11
        return motion.states[-1, : layout.POSE * model.n_bodies], motion.twists[-1]

    pose, twist = end(6, 4 * steps[-1])
    found = [end(order, n) for n in steps]
    return np.array([[np.abs(z - pose).max(), np.abs(v - twist).max()] for z, v in found])


def arm(*, timestep, **options):
    """Three bodies in space with springs, dampers, drag and motors, not near any symmetry."""
    m = dy.Mechanism()
    a = m.add_body(mass=1.0, inertia=[0.06, 0.05, 0.02], name="a", drag=0.2, spin_drag=0.05)
    b = m.add_body(mass=0.7, inertia=[0.03, 0.04, 0.02], name="b", drag=0.1)
    c = m.add_body(mass=0.5, inertia=[0.02, 0.02, 0.01], name="c", spin_drag=0.02)
    p = np.array([0.05, 0.0, 0.4])
    m.add_joint(dy.Spherical(m.world, a, child_point=p, name="ball", stiffness=1.0, damping=0.1))
    m.add_joint(dy.Revolute(a, b, [0.6, 0.8, 0.0], parent_point=-p, child_point=p, name="hinge",
                            stiffness=2.0, damping=0.2, actuated=True))  # fmt: skip
    m.add_joint(dy.Prismatic(b, c, [0.6, 0.0, 0.8], parent_point=-p, child_point=0.5 * p,
                             name="slide", stiffness=40.0, damping=0.5, actuated=True))  # fmt: skip
    m.add_force(dy.Spring(m.world, c, 10.0, 0.3, 0.5, parent_point=(0.5, 0.2, -1.0)))
    model = m.finalize(timestep, **options)
    state = model.initial_state()
    model.set_joint(state, "ball", [0.5, 0.3, -0.2], [1.0, -0.5, 2.0])
    model.set_joint(state, "hinge", 0.4, -1.0)
    model.set_joint(state, "slide", 0.05, 0.3)
    return model, state


#: Mechanism, steps in a second at orders 2, 4 and 6, largest pose errors of the last; the figures
#: are those of docs/theory/galerkin.md.
CONVERGENCE = {
    "double pendulum": (zoo.double_pendulum, (80, 160), (80, 160), (40, 80), (2e-4, 2e-8, 3e-10)),
    "four-bar": (zoo.four_bar, (80, 160), (80, 160), (160, 240), (2.1e-3, 5e-7, 1e-10)),
    "heavy top": (zoo.heavy_top, (100, 200), (100, 200), (50, 100), (3.9e-3, 2e-8, 2e-10)),
    "Bricard": (zoo.bricard, (50, 100), (25, 50), (10, 15), (3.2e-5, 1e-8, 1e-9)),
    "arm with forces": (arm, (50, 100), (50, 100), (20, 40), (1e-2, 1e-6, 1e-6)),
}


@pytest.mark.parametrize("case", CONVERGENCE)
@pytest.mark.parametrize("order", [2, 4, 6])
def test_orders_hold_in_poses_and_velocities(case, order):
    make, *all_steps, most = CONVERGENCE[case]
    steps = all_steps[order // 2 - 1]
    controls = [0.3, -1.0] if case.startswith("arm") else None
    found = errors(make, order, steps, 1.0, controls)
    slopes = np.log(found[0] / found[1]) / np.log(steps[1] / steps[0])
    assert np.abs(slopes - order).max() < {2: 0.1, 4: 0.2, 6: 0.6}[order]
    assert found[1, 0] < most[order // 2 - 1]


def test_the_four_bar_has_the_errors_of_the_design():
    # 160 steps leave 1.01e-3, 1.83e-7 and 9.4e-11 m
    def end(order, steps):
        options = {"order": order, "tolerance": 1e-13, "largest_turn": WIDE}
        model, state = zoo.four_bar(timestep=1.0 / steps, **options)
        return dy.simulate(model, state, 1.0).final.pose[:, :3]

    exact = end(6, 960)
    found = [np.abs(end(order, 160) - exact).max() for order in (2, 4, 6)]
    # to the digits printed; 1e-13 m of Newton's tolerance is less
    assert found == pytest.approx([1.01e-3, 1.83e-7, 9.4e-11], rel=0.01)


def test_one_stage_is_the_second_order_step():
    # same equations and unknowns: poses differ by what Newton's tolerance leaves over 100 steps
    for make in (zoo.four_bar, zoo.spherical_pendulum, arm):
        model, state = make(timestep=0.01, tolerance=1e-14, largest_turn=WIDE)
        reference = dy.simulate(model, state, 1.0).states
        stages, data = galerkin.Stages(model.tables, 2), state.data.copy()
        record = np.empty((100, data.size))
        inputs = 0, np.zeros((1, model.n_controls)), np.zeros((1, 0))
        results = record, np.zeros(INFO_SIZE), np.zeros(TOTALS_SIZE)
        done = galerkin_step.simulate(
            *stages.tables, 0.01, model.settings, 100, 1, inputs, None, data, stages.work(),
            stages.solver(), results,
        )  # fmt: skip
        assert done == 100
        size = layout.POSE * model.n_bodies
        assert np.abs(record[:, :size] - reference[1:, :size]).max() < 1e-11


@pytest.mark.parametrize("order", [4, 6])
def test_loops_through_change_points_keep_their_energy(order):
    # docs/theory/galerkin.md: 4.2e-2 at order 2, 1.1e-6 at order 4
    model, state = zoo.double_four_bar(order=order, largest_turn=WIDE)
    motion = dy.simulate(model, state, 10.0)
    assert np.ptp(motion.energy()) < {4: 1.2e-6, 6: 1e-9}[order]
    assert motion.constraint_violation().max() < 1e-11
    # where links align the matrix of the middle may fail first, after few iterations
    assert motion.info["most_iterations"] <= 7


@pytest.mark.parametrize("order", [4, 6])
def test_energy_stays_where_it_was(order):
    # at order 4: 3.1e-5 J over 200 s
    model, state = zoo.double_pendulum(order=order)
    energy = dy.simulate(model, state, 200.0).energy()
    assert np.abs(energy - energy[0]).max() < {4: 3.5e-5, 6: 3e-7}[order]
    assert abs(np.polyfit(np.arange(energy.size), energy, 1)[0] * energy.size) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(("order", "most"), [(4, 5e-5), (6, 1e-6)])
def test_an_hour_of_a_double_pendulum_shifts_no_energy(order, most):
    model, state = zoo.double_pendulum(order=order)
    energy = dy.simulate(model, state, 3600.0, every=10).energy()
    assert np.abs(energy - energy[0]).max() < most
    halves = energy[1:].reshape(2, -1).mean(axis=1)
    # means over half an hour of a chaotic motion, of a band as wide as the bound
    assert abs(halves[1] - halves[0]) < 0.02 * most


@pytest.mark.parametrize("order", [4, 6])
def test_free_chain_keeps_its_momentum(order):
    # 1000 steps leave 1e-12 each, as lever arms of some metres see them
    model, state = zoo.floating_chain(timestep=0.02, order=order, largest_turn=WIDE)
    momentum = dy.simulate(model, state, 20.0).momentum()
    assert np.abs(momentum - momentum[0]).max() < 1e-9


def test_a_step_of_two_radians_converges():
    model, state = zoo.heavy_top(timestep=0.16, order=4, largest_turn=WIDE)
    _, info = model.step(state)
    assert info.intervals == 1
    assert info.iterations < 15  # the first with the matrix of the middle, which does not do here


def test_steps_are_cut_where_a_body_turns_more_than_it_may():
    model, state = zoo.heavy_top(timestep=0.04, order=4, largest_turn=0.2)
    after, info = model.step(state)
    fine, start = zoo.heavy_top(timestep=0.01, order=4, largest_turn=WIDE)
    assert info.intervals == 4
    # four short steps; their guesses differ, so the same to Newton's tolerance
    assert np.abs(after.pose - dy.simulate(fine, start, 0.04).final.pose).max() < 4e-11


def test_what_a_step_reports_and_what_a_run_records_agree():
    model, state = zoo.four_bar(order=4)
    motion = dy.simulate(model, state, 0.1)
    for _ in range(10):
        state, _ = model.step(state)
    # a run guesses from more steps and keeps factors: both solve ten steps to 1e-11
    assert np.abs(state.pose - motion.final.pose).max() < 1e-10
    assert state.time == pytest.approx(0.1)


def test_reactions_of_a_body_at_rest_carry_its_weight():
    model, state = zoo.damped_pendulum(angle=0.0, order=4)
    motion = dy.simulate(model, state, 0.1)
    weight = 9.81 * model.mechanism.mass
    assert motion.reaction("hinge")[-1, 2] == pytest.approx(weight, rel=1e-10)


def test_controls_act_at_every_order():
    # a constant torque on a free hinge without gravity: rate = torque t / J, exactly
    for order, error in ((2, 1e-3), (4, 1e-6), (6, 1e-9)):
        m = dy.Mechanism(gravity=(0.0, 0.0, 0.0))
        body = m.add_body(mass=1.0, inertia=[0.1, 0.1, 0.05])
        m.add_joint(dy.Revolute(m.world, body, Z, name="hinge", actuated=True))
        model = m.finalize(0.1, order=order, largest_turn=WIDE)
        motion = dy.simulate(model, model.initial_state(), 1.0, controls=[0.01])
        assert motion.joint_velocity("hinge")[-1] == pytest.approx(0.2, rel=1e-10)
        assert motion.joint("hinge")[-1] == pytest.approx(0.1, rel=error)


@pytest.mark.parametrize("order", [4, 6])
def test_steps_that_are_cut_take_controls_along_their_polynomial(order):
    # torques of degree s are given exactly by s + 1 nodes, in a step and in its quarters
    def run(steps, turn):
        m = dy.Mechanism(gravity=(0.0, 0.0, 0.0))
        body = m.add_body(mass=1.0, inertia=[0.1, 0.1, 0.05])
        m.add_joint(dy.Revolute(m.world, body, Z, name="hinge", actuated=True))
        model = m.finalize(0.4 / steps, order=order, largest_turn=turn, tolerance=1e-13)
        state = model.initial_state()
        model.set_joint(state, "hinge", 0.0, 1.0)
        time = (np.arange(steps)[:, None] + model.nodes) * model.timestep
        torques = (0.1 + 0.3 * time - 0.8 * time**2)[..., None]
        return dy.simulate(model, state, 0.4, controls=torques)

    cut, whole = run(1, 0.2), run(4, WIDE)  # 0.1 to 0.15 rad a quarter
    assert cut.info["intervals"] > 1
    assert np.abs(cut.final.pose - whole.final.pose).max() < 1e-12
    # rate = 1 + integral of the torque / J: quadrature in the nodes is exact for it
    rate = 1.0 + (0.1 * 0.4 + 0.15 * 0.4**2 - 0.8 / 3.0 * 0.4**3) / 0.05
    assert whole.joint_velocity("hinge")[-1] == pytest.approx(
        rate, rel=1e-3 if order == 4 else 1e-5
    )


def test_controls_of_other_nodes_are_refused():
    m = dy.Mechanism()
    body = m.add_body(mass=1.0, inertia=[0.1, 0.1, 0.05])
    m.add_joint(dy.Revolute(m.world, body, Z, name="hinge", actuated=True))
    model = m.finalize(0.1, order=4)
    with pytest.raises(ValueError, match=r"\(steps, 3, 1\): actuated"):
        dy.simulate(model, model.initial_state(), 1.0, controls=np.zeros((10, 2, 1)))


def test_what_an_order_does_not_offer_is_refused_by_name():
    m = machine(False)
    for order in (0, 1, 3, 8, "4", 4.0, True):
        with pytest.raises(ValueError, match="not offered; use 2, 4 or 6"):
            m.finalize(0.01, order=order)
    with pytest.raises(ValueError, match="first order"):
        m.finalize(0.01, order=4, form="first order")
    m.add_joint(dy.Revolute(m.bodies[0], m.bodies[2], X, compliance=1e-4, name="soft"))
    with pytest.raises(ValueError, match="compliance of joint 'soft' is too stiff for order=6"):
        m.finalize(0.01, order=6)
    m = dy.Mechanism()
    m.add_body(dy.Sphere(0.1, mass=1.0), name="ball", position=Z)
    m.add_contact(m.bodies["ball"], name="floor")
    with pytest.raises(ValueError, match="'floor' needs order=2"):
        m.finalize(0.01, order=4)
    m = dy.Mechanism()
    body = m.add_body(mass=1.0, inertia=[0.1, 0.1, 0.1])
    m.add_joint(dy.Revolute(m.world, body, X, limits=[(-1.0, 1.0)], name="stop"))
    with pytest.raises(ValueError, match="'stop' need order=2"):
        m.finalize(0.01, order=4)
    m = dy.Mechanism()
    body = m.add_body(mass=1.0, inertia=[0.1, 0.1, 0.1])
    m.add_force(dy.Rope(m.world, body, 1.0, name="rope"))
    with pytest.raises(ValueError, match="'rope' need order=2"):
        m.finalize(0.01, order=6)


def test_a_step_that_fails_names_the_part():
    model, state = zoo.four_bar(order=4)
    state.momentum[1] = 1e300
    with pytest.raises(dy.ConvergenceError, match="coupler|crank|rocker"):
        model.step(state)


def test_residuals_of_light_bodies_may_drown_in_round_off():
    # a link of a gram bears a ton: impulses of 100 N s leave 1e-11 m/s of it, above the tolerance
    m = dy.Mechanism()
    link = m.add_body(mass=1e-3, inertia=[1e-4, 1e-4, 1e-5], name="link")
    load = m.add_body(mass=1e3, inertia=[100.0, 100.0, 10.0], name="load")
    m.add_joint(dy.Revolute(m.world, link, X, child_point=0.5 * Z, name="top"))
    m.add_joint(dy.Revolute(link, load, Y, parent_point=-0.5 * Z, child_point=Z, name="bottom"))
    model = m.finalize(0.01, order=4)
    state = model.initial_state()
    model.set_joint(state, "top", 0.5, 0.3)
    model.set_joint(state, "bottom", -0.4, 1.0)
    motion = dy.simulate(model, state, 1.0)
    # The first step is cut: it knows no forces yet, and with such masses what Newton's matrix
    # leaves out, h^2 force over mass and length of the link, is 1e3. No later one is.
    assert motion.info["intervals"] - motion.info["most_intervals"] == 99
