"""What objects print is one short line in the user's labels."""

import numpy as np

import dynamics as dy
from dynamics.integrators import Tree, TreeIntegrator, plan
from dynamics.parts.geometry import Mesh
from dynamics.trajectory_optimization import ContactPlan

from .robots import joint, link, load, robot


def test_a_contact_names_its_bodies_and_its_friction():
    mech = dy.Mechanism()
    box = mech.add_body(dy.Box(1.0, 1.0, 1.0, mass=1.0), name="box")
    contact = mech.add_contact(box, friction=0.25, name="floor")

    assert repr(contact) == "Contact('floor', of 'world' and 'box', friction 0.25)"


def test_meshes_say_how_large_they_are():
    corners, faces = np.eye(3), np.array([[0, 1, 2]])

    assert repr(Mesh("", "", np.ones(3), corners, faces)) == "Mesh('', 1 triangles)"
    assert repr(Mesh("a.stl", "", np.ones(3))) == "Mesh('a.stl', from a file)"


def test_a_report_counts_and_prints_its_table(tmp_path):
    text = robot(link("base", mass=0), link("a"), joint("j", "continuous", "base", "a"))
    report = load(tmp_path, text, base="fixed").report

    assert repr(report).endswith(": 3 read, 1 changed; print it for the table)")
    assert "'base'" not in repr(report) and "base" in str(report)


def test_trees_and_plans_print_their_sizes():
    model, _ = dy.zoo.cart_pole()
    tree = Tree.from_mechanism(model.mechanism)
    integrator = TreeIntegrator(tree, 0.1, "trapezoidal", actuated=["cart"])
    found = plan(integrator, [0.0, 0.0], [0.1, 0.0], 4)
    run = integrator.simulate([0.0, 0.1], [0.0, 0.0], 3)
    empty = np.zeros((5, 0))
    contacts = ContactPlan(
        np.linspace(0.0, 0.4, 5), empty, empty, np.zeros((4, 2, 3)), np.zeros((5, 2)),
        1.5, 0.0, 1e-9, 7, 0.0, 0.0, 1, 1,
    )  # fmt: skip

    assert repr(tree) == "Tree(2 bodies, 2 joints, 0 constraints)"
    assert repr(found).startswith("TreePlan(4 steps to 0.4 s, cost ")
    assert repr(run) == "TreeTrajectory(2 joints, 4 states, 0 s to 0.3 s)"
    assert repr(contacts) == (
        "ContactPlan(5 control points to 0.4 s, 2 contacts, cost 1.5, defect 1.0e-09, 7 iterations)"
    )
