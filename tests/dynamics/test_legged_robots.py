"""The robots of paper 003, section 6: their examples find plans that keep the laws of contacts."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from dynamics.display.contact_plan import plot_contact_plan
from dynamics.kernels.tree import layout
from dynamics.trajectory_optimization import ContactPlan, ipopt
from dynamics.trajectory_optimization.points import Points

DOCS = Path(__file__).parents[2] / "docs"
needs_ipopt = pytest.mark.skipif(ipopt.casadi is None, reason="casadi is not installed")
NAMES = ["spring_flamingo", "little_dog", "humanoid_reach"]


@pytest.fixture
def example(monkeypatch):
    """An example's names."""
    monkeypatch.syspath_prepend(str(DOCS / "examples"))
    yield lambda name: runpy.run_path(str(DOCS / "examples" / f"{name}.py"))
    sys.modules.pop("legged_robots", None)


def check(plan, integrator, contacts, start_velocity=None):
    """Equations of motion, cones, gaps and complementarity."""
    weight = (
        integrator.tables.tree[1].reshape(len(integrator.joints), -1)[:, layout.MASS].sum() * 9.81
    )
    rest = plan.residual(integrator, contacts, start_velocity)
    assert np.abs(rest).max() < 1e-6 * weight
    force = np.linalg.norm(plan.contact_forces, axis=2)
    free = [k for k, one in enumerate(contacts) if not one.sticking]
    assert plan.gaps[:, free].min(initial=0.0) > -1e-6
    assert (force * plan.gaps[1:])[:, free].max(initial=0.0) < 1e-4 * weight
    return weight


@pytest.mark.parametrize("name", NAMES)
def test_stored_plans_keep_the_laws_of_motion_and_contact(name, example):
    made = example(name)
    integrator, contacts, _ = made["robot"]()
    plan = ContactPlan.load(DOCS / "figures" / f"{name}.npz")
    velocity = made["start_velocity"]() if "start_velocity" in made else None

    check(plan, integrator, contacts, velocity)


def test_spring_flamingo_clears_the_obstacle_between_control_points_too(example):
    made = example("spring_flamingo")
    integrator, _, obstacle = made["robot"]()
    plan = ContactPlan.load(DOCS / "figures" / "spring_flamingo.npz")
    soles = [((side, "foot"), [x, 0.0, made["SOLE"]]) for side in ("left", "right")
             for x in np.linspace(made["HEEL"], made["TOE"], 6)]  # fmt: skip
    points = Points(integrator, soles, [obstacle] * len(soles))
    c = np.linspace(0.0, 1.0, 11)
    through = np.stack([(2.0 * c - 1.0) * (c - 1.0), 4.0 * c * (1.0 - c), c * (2.0 * c - 1.0)])
    q = np.einsum("bc,kbi->kci", through, plan.nodes(plan.q, 2)).reshape(-1, 9)
    x = np.stack([track.x for track in points.tracks(q)], axis=1)
    over = np.abs(x[..., 0] - 0.45) < 0.08

    assert over.any()
    assert points.heights(q)[over].min() > 0.0
    assert points.heights(q).min() > -0.02  # where feet land


@needs_ipopt
@pytest.mark.slow
@pytest.mark.parametrize("name", ["spring_flamingo", "little_dog"])
def test_a_robot_finds_its_way(name, example):
    made = example(name)
    integrator, contacts, _ = made["robot"]()
    plan = made["main"]()

    velocity = made["start_velocity"]() if "start_velocity" in made else None
    check(plan, integrator, contacts, velocity)
    assert plan.q[-1, 0] == pytest.approx(made["WAY"])
    assert np.abs(plan.forces).max() < (80.0 if name == "spring_flamingo" else 3.0) + 1e-5


@needs_ipopt
@pytest.mark.slow
def test_spring_flamingo_walks_a_step(example):
    # 0.2 m in 0.8 s from 0.26 m/s to rest: each foot bears the robot alone for a while
    made = example("spring_flamingo")
    integrator, contacts, _ = made["robot"](0.8, 0.0)
    plan = made["main"](0.2, 0.8, 0.0)
    borne = plan.contact_forces[..., 2].reshape(-1, 2, 2).sum(axis=2)

    weight = check(plan, integrator, contacts, made["start_velocity"]())
    for side in (0, 1):
        assert ((borne[:, side] > 0.5 * weight) & (borne[:, 1 - side] < 0.1 * weight)).any()


@needs_ipopt
@pytest.mark.slow
def test_a_humanoid_reaches_the_ball(example):
    made = example("humanoid_reach")
    integrator, contacts, _ = made["robot"]()
    plan = made["main"]()
    turns, origins = integrator.poses(plan.q[-1])
    hand = integrator.index("left hand")

    check(plan, integrator, contacts)
    assert origins[hand] + turns[hand] @ made["PALM"] == pytest.approx(made["BALL"], abs=1e-6)
    assert np.abs(plan.q[:, :6]).max() == 0.0
    assert plan.contact_forces[..., 2].min() > 0.0


def test_a_picture_of_another_tree_is_refused(example):
    pytest.importorskip("matplotlib")
    plan = ContactPlan.load(DOCS / "figures" / "little_dog.npz")
    integrator, contacts, _ = example("spring_flamingo")["robot"]()
    with pytest.raises(ValueError, match="the plan has 18 coordinates and 4 contacts"):
        plot_contact_plan(plan, integrator, contacts)
