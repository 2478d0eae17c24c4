"""Loops of files that are planar up to the rounding of their numbers."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation

from . import robots, usd

#: A quarter turn as files have it, and how far the loop's axes are then apart, rad.
QUARTERS = [("1.5707963267948966", 0.0), ("1.5707963", 2.7e-8), ("1.5708", 3.7e-6), ("1.571", 2e-4)]
ROD = {"xyz": (0, 0, 0.5), "inertia": (1 / 12, 1 / 12, 1e-3)}


def four_bar(quarter, height=0.0, along=(0, -1, 0)):
    """Rods in the plane of y and z; the frame of the right rod is turned by a quarter about z."""
    turned = {"xyz": (0, 1, 0), "rpy": (0, 0, float(quarter))}
    return robots.robot(
        robots.link("ground", mass=0),
        *(robots.link(name, **ROD) for name in ("left", "top", "right")),
        robots.joint("a", "continuous", "ground", "left", axis=(1, 0, 0)),
        robots.joint("b", "continuous", "left", "top", (0, 0, 1), (-np.pi / 2, 0, 0), (1, 0, 0)),
        robots.joint("d", "continuous", "ground", "right", **turned, axis=along),
        '<loop_joint name="c" type="continuous"><axis xyz="1 0 0"/>'
        f'<link1 link="top" xyz="{height} 0 1"/>'
        f'<link2 link="right" xyz="0 0 0.9" rpy="0 0 -{quarter}"/></loop_joint>',
    )


@pytest.mark.parametrize(("quarter", "off"), QUARTERS)
def test_a_linkage_with_rounded_angles_moves_as_the_exact_one(tmp_path, quarter, off):
    motions = []
    for one in (quarter, QUARTERS[0][0]):
        mech = robots.load(tmp_path, four_bar(one), base="fixed")
        model = mech.finalize(timestep=0.01)
        motions.append(dy.simulate(model, model.initial_state(), 1.0))
    changed = mech.report.changed
    ours, exact = motions

    assert ours.constraint_violation().max() < 1e-10
    # it falls by some radians, so that an error of the start grows tenfold at most
    np.testing.assert_allclose(ours.joint("a"), exact.joint("a"), atol=10 * off + 1e-9)
    assert "joints of planar loops, made exactly parallel" not in changed


def test_what_is_changed_beyond_single_precision_is_in_the_report(tmp_path):
    mech = robots.load(tmp_path, four_bar("1.5708"), base="fixed")
    assert mech.report.changed["joints of planar loops, made exactly parallel"] == list("abdc")
    mech = robots.load(tmp_path, four_bar("1.5707963"), base="fixed")
    assert "joints of planar loops, made exactly parallel" not in mech.report.changed


def test_heights_go_into_the_joint_that_closes_the_loop(tmp_path):
    # The coupler's pin lies 0.1 mm out of the plane.
    mech = robots.load(tmp_path, four_bar("1.5708", height=1e-4), base="fixed")
    model = mech.finalize()
    state = model.initial_state()

    assert np.abs(model.constraint_violation(state)).max() < 1e-12
    np.testing.assert_allclose(state.pose[:, 0], 0.0, atol=1e-15)
    assert mech.joints["c"].parent_point[0] == 1e-4
    # the right rod's frame is turned, so that the plane's normal is its -y
    np.testing.assert_allclose(mech.joints["c"].child_point, [0, -1e-4, 0.4], atol=1e-9)


def test_exact_loops_and_those_that_are_not_planar_stay_as_they_are(tmp_path):
    exact = robots.load(tmp_path, four_bar(np.pi / 2), base="fixed").joints["c"]
    np.testing.assert_allclose(exact.child_point, [0, 0, 0.4], atol=1e-16)
    for tilted in ((0.01, -1.0, 0.0), (0.0, -1.0, 0.002)):  # more than angles of three digits
        mech = robots.load(tmp_path, four_bar("1.5708", along=tilted), base="fixed")
        file = np.array(tilted) / np.linalg.norm(tilted)
        np.testing.assert_allclose(mech.joints["d"].positions[0].axis, file, atol=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_linkages_in_any_plane_of_a_usd_file_close(tmp_path, seed):
    # Single precision: axes of the hinges are 1e-7 rad apart.
    pytest.importorskip("pxr", reason="usd-core is not installed")
    rng = np.random.default_rng(seed)
    q = rotation.normalized(rng.normal(size=4))
    pins = rotation.rotate(q, np.array([[0, 0, 0], [0, 0, 1.0], [1.5, 0, 1.3], [1.4, 0, 0]]))
    centers = (pins[:-1] + pins[1:]) / 2
    turn = tuple(np.float32(q).tolist())
    parts = [usd.body(f"b{i}", at=usd.place(x.tolist())) for i, x in enumerate(centers)]
    for k, (one, two) in enumerate((("", 0), (0, 1), (1, 2), ("", 2))):
        places = [pins[k] - (0.0 if x == "" else centers[x]) for x in (one, two)]
        pos0, pos1 = (tuple(np.float32(x).tolist()) for x in places)
        ends = [x if x == "" else f"/b{x}" for x in (one, two)]
        parts.append(usd.joint("Revolute", f"j{k}", *ends, pos0=pos0, pos1=pos1, rot0=turn,
                               rot1=turn, axis="Y"))  # fmt: skip
    model = usd.load(tmp_path, usd.file(*parts)).finalize(timestep=0.01)

    start = model.assemble(model.initial_state(), {"j0": 0.1})
    motion = dy.simulate(model, start, 0.5)
    assert motion.constraint_violation().max() < 1e-10
    assert np.ptp(motion.joint("j0")) > 0.01


def test_a_loop_whose_hinges_lie_at_the_origins_of_its_bodies_loads(tmp_path):
    text = robots.robot(
        robots.link("a"), robots.link("b"), robots.link("c"),
        robots.joint("j", "continuous", "a", "b", axis=(1, 0, 0)),
        robots.joint("k", "continuous", "b", "c", axis=(1, 0, 0)),
        '<loop_joint name="l" type="continuous"><axis xyz="1 0 0"/><link1 link="a"/>'
        '<link2 link="c"/></loop_joint>',
    )  # fmt: skip
    assert set(robots.load(tmp_path, text).joints) == {"j", "k", "l"}
