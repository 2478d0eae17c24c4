"""Contacts that models find by themselves: which pairs may touch, and what a motion keeps."""

import pickle
import runpy
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.kernels.base.step_info import INFO_SIZE
from dynamics.kernels.collisions import gjk, watch
from dynamics.kernels.contacts.geometry import ROUND
from dynamics.kinematics import near_models, near_run
from dynamics.parts.convex_hulls import separation
from dynamics.parts.geometry import Geometry, Mesh, Surface

from .robots import joint, link, load, robot
from .test_mjcf import load as load_mjcf
from .test_mjcf import world

EXAMPLE = Path(__file__).parents[2] / "docs/examples/pile.py"
BALL, BOX = dy.Sphere(0.1, mass=1.0), dy.Box(0.2, 0.16, 0.12, mass=1.0)
SHAPES = (BOX, BALL, dy.Capsule(0.05, 0.2, mass=1.0), dy.Cylinder(0.08, 0.2, mass=1.0))


def chain(shapes):
    """Bodies in a row, each hinged to the one before; None is a body without a shape."""
    mechanism = dy.Mechanism()
    for k, shape in enumerate(shapes):
        inert = {} if shape is not None else {"mass": 1.0, "inertia": np.eye(3)}
        mechanism.add_body(shape, name=f"b{k}", position=(0.5 * k, 0, 1), **inert)
        if k:
            ends = mechanism.bodies[f"b{k - 1}"], mechanism.bodies[f"b{k}"]
            half = {"parent_point": (0.25, 0, 0), "child_point": (-0.25, 0, 0)}
            mechanism.add_joint(dy.Revolute(*ends, axis=(0, 1, 0), **half))
    return mechanism


def pairs_of(mechanism):
    """Names of pairs that may touch."""
    return list(mechanism.finalize(0.01).near.candidates.names)


# Filters


@pytest.mark.parametrize("touch", ["obstacle", "obstacle of a geometry", "contact"])
def test_a_half_space_has_the_place_that_is_given_with_it(touch):
    # without friction and turning: down the slope of angle a by g sin(a) t^2 / 2
    a, t, x = 0.3, 0.5, np.array([0.0, 0.0, 1.0])
    q = rotation.from_rotation_vector([a, 0.0, 0.0])
    up, down = np.array([[0.0, -np.sin(a), np.cos(a)], [0.0, -np.cos(a), -np.sin(a)]])
    mech = dy.Mechanism()
    start = x + 0.1 * up
    ball = mech.add_body(dy.Sphere(0.1, mass=1.0), name="ball", position=start)
    mech.add_joint(dy.FixedOrientation(mech.world, ball))
    place = Geometry(dy.HalfSpace(), x, q, surface=Surface(0.0))
    if touch == "contact":
        mech.add_contact(ball, against_shape=place, friction=0.0)
    elif touch == "obstacle":
        mech.add_obstacle(dy.HalfSpace(), position=x, orientation=q, name="floor")
    else:
        mech.add_obstacle(place, name="floor")
    if touch != "contact":
        mech.collide(friction=0.0)
    model = mech.finalize(0.01)
    motion = dy.simulate(model, model.initial_state(), t)
    way = motion.body("ball")[0][-1] - start
    # barrier and contact_tolerance, over a weight of 10 N and lengths of 1 m
    np.testing.assert_allclose(way, 0.5 * 9.81 * np.sin(a) * t**2 * down, atol=1e-6)


def test_neighbours_along_joints_are_left_out_with_bodies_without_shapes_between_them():
    mechanism = chain([BALL, None, BALL, BALL, BALL])
    mechanism.collide()
    assert pairs_of(mechanism) == ["b0|b3", "b0|b4", "b2|b4"]

    mechanism = chain([BALL, None, BALL])
    mechanism.collide(neighbors=True)
    assert pairs_of(mechanism) == ["b0|b2"]


def test_contacts_auto_is_collide_for_mechanisms_that_have_not_called_it():
    found = chain([BALL, None, BALL, BALL, BALL]).finalize(contacts="auto").near.candidates
    assert list(found.names) == ["b0|b3", "b0|b4", "b2|b4"]

    mechanism = chain([BALL, None, BALL, BALL, BALL])
    mechanism.collide(without=[("b0", "b3")])
    found = mechanism.finalize(contacts="auto").near.candidates
    assert list(found.names) == ["b0|b4", "b2|b4"]


def test_contacts_that_are_refused_leave_a_mechanism_as_it_was():
    mechanism = chain([BALL, BALL])
    for refused in (True, "all"):
        with pytest.raises(ValueError, match="contacts is .*, and must be"):
            mechanism.finalize(contacts=refused)
    with pytest.raises(ValueError, match="no two shapes that may touch"):
        mechanism.finalize(contacts="auto")
    assert mechanism.collisions == []
    mechanism.add_body(BALL, name="free", position=(0, 1, 1))
    assert len(mechanism.finalize(contacts="auto").near.candidates.names) == 2


def test_bodies_that_fixed_joints_hold_together_are_one():
    mechanism = chain([BALL, BALL, BALL])
    held = mechanism.add_body(BALL, name="held", position=(0, 0, 2))
    mechanism.add_joint(dy.Fixed(mechanism.bodies["b0"], held))
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    mechanism.collide()

    assert sorted(pairs_of(mechanism)) == sorted(
        ["b0|b2", "b2|held", *(f"floor|{name}" for name in mechanism.bodies)]
    )


def test_pairs_are_chosen_by_bodies_against_and_without():
    mechanism = dy.Mechanism()
    a, b, c = (mechanism.add_body(BALL, name=k, position=(k, 0, 1)) for k in range(3))
    for name in ("floor", "wall"):
        mechanism.add_obstacle(dy.HalfSpace(), name=name)
    chosen = {
        (): ["floor|0", "floor|1", "floor|2", "wall|0", "wall|1", "wall|2", "0|1", "0|2", "1|2"],
        ((a, 1),): ["floor|0", "floor|1", "wall|0", "wall|1", "0|1"],
        ((a,), (c, "world")): ["floor|0", "wall|0", "0|2"],
    }
    for ends, names in chosen.items():
        made = mechanism.copy()
        made.collide(*ends)
        assert sorted(pairs_of(made)) == sorted(names)
        made = mechanism.copy()
        made.collide(*ends, without=[(a, "floor"), ("wall", a), (b, a), (2, "world")])
        kept = set(names) - {"floor|0", "wall|0", "0|1", "floor|2", "wall|2"}
        assert sorted(pairs_of(made)) == sorted(kept)


def test_the_first_call_that_names_a_pair_gives_its_options_and_declared_pairs_stay():
    mechanism = dy.Mechanism()
    a, b, c = (mechanism.add_body(BALL, name=k) for k in "abc")
    mechanism.add_contact(a, b, name="own", friction=0.9)
    mechanism.collide([a, c], friction=0.1)
    mechanism.collide(friction=0.7)
    near = mechanism.finalize(0.01).near

    assert near.candidates.names == ("a|c", "b|c")
    assert [near.candidates.contact(k).friction for k in range(2)] == [0.1, 0.7]


def test_options_that_apply_to_no_pair_are_refused():
    mechanism = chain([BALL, None, BALL, BALL])
    mechanism.collide()
    mechanism.collide()  # lets nothing more touch, and changes nothing
    assert list(pairs_of(mechanism.copy())) == ["b0|b3"]
    mechanism.collide(["b3"], ["b0"], friction=0.9)
    with pytest.raises(
        ValueError, match="apply to no pair: an earlier call, .* 'b0' and 'b3' touch"
    ):
        mechanism.finalize()


def test_surfaces_give_friction_and_filters():
    def ball(**surface):
        unturned = np.array([1.0, 0, 0, 0])
        return Geometry(BALL, np.zeros(3), unturned, surface=Surface(**surface))

    mechanism = dy.Mechanism()
    given = (
        {"friction": 0.2}, {"friction": 0.8}, {"kind": 2, "touches": 2}, {"kind": 4, "touches": 1}
    )  # fmt: skip
    for k, surface in enumerate(given):
        mechanism.add_body(mass=1.0, inertia=np.eye(3), name=k, collisions=[ball(**surface)])
    mechanism.collide()
    near = mechanism.finalize(0.01).near

    assert near.candidates.names == ("0|1", "0|3", "1|3")
    assert [near.candidates.contact(k).friction for k in range(3)] == [0.8, 0.5, 0.8]


def random_filters(seed):
    """MJCF of a tree whose geoms have random filters, and some pairs excluded."""
    rng = np.random.default_rng(seed)
    bits = [f'contype="{a}" conaffinity="{b}"' for a, b in rng.integers(0, 4, (24, 2))]
    open_at, text = [], ""
    for k in range(8):
        while open_at and rng.random() < 0.4:
            text += "</body>"
            open_at.pop()
        moves = rng.random() < 0.75
        joints = ("<joint/>" if open_at else "<freejoint/>") if moves else ""
        text += f'<body name="b{k}" pos="{k + 1} 0.2 0.3">{joints}'
        open_at.append(k)
        for i in range(rng.integers(1, 3)):
            text += f'<geom name="g{k}{i}" size="0.05" {bits[3 * k + i]} pos="{0.1 * i} 0 0"/>'
    text += "</body>" * len(open_at)
    floor = f'<geom name="floor" type="plane" size="1 1 1" {bits[-1]}/>'
    some = rng.choice(8, (3, 2))
    excludes = "".join(f'<exclude body1="b{i}" body2="b{j}"/>' for i, j in some if i != j)
    return world(floor + text, f"<contact>{excludes}</contact>")


def pairs_of_mujoco(mujoco, path):
    """Pairs of bodies, welded ones as one, that its filter lets touch, and by how many geoms."""
    model = mujoco.MjModel.from_xml_path(str(path))
    model.geom_margin[:] = 100.0  # all that may touch does
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_MIDPHASE
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    pairs = {frozenset(map(int, data.contact[i].geom)) for i in range(data.ncon)}

    def root(geom):
        return int(model.body_weldid[model.geom_bodyid[geom]])

    return Counter(frozenset(map(root, pair)) for pair in pairs), {
        model.body(i).name: int(model.body_weldid[i]) for i in range(model.nbody)
    }


@pytest.mark.parametrize("seed", range(12))
def test_filters_of_a_file_are_those_of_mujoco(tmp_path, mujoco, seed):
    text = random_filters(seed)
    mechanism = load_mjcf(tmp_path, text, collide=True)
    wanted, roots = pairs_of_mujoco(mujoco, tmp_path / "robot.xml")

    def root(solid):
        end = solid.end.name
        return roots[end]

    try:
        candidates = mechanism.finalize(0.01).near.candidates
    except ValueError as error:
        assert "no two shapes that may touch" in str(error) and not wanted
        return
    solids = candidates.solids
    found = Counter(frozenset(root(solids[i]) for i in pair) for pair in candidates.pairs.tolist())
    assert found == wanted


def test_bodies_that_overlap_in_the_posture_of_a_file_are_left_out_by_name(tmp_path):
    # a, b and c in a row of 0.2 m; c hangs beside a, by a link without a shape, 0.15 m from it
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    box = '<collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>'
    shapes = {"a": ball, "b": ball, "n": "", "c": box}
    links = [link(name, more=more) for name, more in shapes.items()]
    places = {"ab": (0.3, 0, 0), "bn": (0, 1, 0), "nc": (-0.15, -1, 0)}
    limits = '<limit lower="-1" upper="1"/>'
    joints = [joint(x, "revolute", *x, xyz=at, more=limits) for x, at in places.items()]
    mech = load(tmp_path, robot(*links, *joints), collide=True, ground=True)

    kind = "contacts of bodies that overlap in the file's posture"
    assert mech.report.left_out == {kind: ["a, c"]}  # b and c are next to each other
    assert pairs_of(mech) == ["ground|a", "ground|b", "ground|c"]  # that overlap to be separated
    model = mech.finalize()
    dy.simulate(model, dy.separate(model, model.initial_state()), 0.1)


def test_disabled_pairs_of_an_srdf_file_are_left_out(tmp_path):
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    links = [link(name, more=ball) for name in "abcd"]
    more = {"more": '<limit lower="-1" upper="1"/>', "xyz": (0.5, 0, 0)}
    joints = [joint(f"{a}{b}", "revolute", a, b, **more) for a, b in ("ab", "bc", "cd")]
    text = robot(*links, *joints)
    srdf = tmp_path / "robot.srdf"
    srdf.write_text(
        '<robot name="r"><disable_collisions link1="d" link2="a" reason="Never"/></robot>'
    )

    assert pairs_of(load(tmp_path, text, collide=True)) == ["a|c", "a|d", "b|d"]
    assert pairs_of(load(tmp_path, text, collide=srdf)) == ["a|c", "b|d"]
    grounded = load(tmp_path, text, collide=srdf, ground=True)
    assert pairs_of(grounded)[:4] == [f"ground|{name}" for name in "abcd"]
    srdf.write_text(
        '<robot name="r"><disable_default_collisions link="d"/><enable_collisions link1="d" '
        'link2="b"/><disable_default_collisions link="none"/></robot>'
    )
    mech = load(tmp_path, text, collide=srdf)
    assert pairs_of(mech) == ["a|c", "b|d"]
    left = {"excluded pairs of links that there are not": ["none"]}
    assert mech.report.left_out == left
    srdf.write_text("<sdf/>")
    with pytest.raises(ValueError, match=r"robot.srdf is not an SRDF file: its root is <sdf>"):
        load(tmp_path, text, collide=srdf)
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none.srdf"):
        load(tmp_path, text, collide=tmp_path / "none.srdf")


@pytest.mark.parametrize("merge_fixed", [False, True])
def test_disabled_pairs_of_a_link_leave_other_links_of_its_body(tmp_path, merge_fixed):
    # the tool is a part of c: only its ball keeps off a
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    more = {"more": '<limit lower="-1" upper="1"/>', "xyz": (0.5, 0, 0)}
    text = robot(
        *(link(name, more=ball) for name in "abc"), link("tool", int(merge_fixed), more=ball),
        joint("ab", "revolute", "a", "b", **more), joint("bc", "revolute", "b", "c", **more),
        joint("mount", "fixed", "c", "tool", (0.3, 0, 0)),
    )  # fmt: skip
    srdf = tmp_path / "robot.srdf"
    srdf.write_text('<robot name="r"><disable_collisions link1="a" link2="tool"/></robot>')

    found = load(tmp_path, text, collide=srdf, merge_fixed=merge_fixed).finalize().near.candidates
    (first, second), *others = found.pairs
    assert found.solids[first].labels == ("a",) and found.solids[second].labels == ("c",)
    assert not others


def test_pairs_have_names_that_differ():
    mech = dy.Mechanism()
    mech.add_obstacle(dy.HalfSpace(), name="floor")
    two = dy.Compound([(BALL, (0.3, 0, 0)), (BALL, (-0.3, 0, 0))])
    mech.add_body(two, name="b", position=(0, 0, 0.2))
    mech.add_body(BALL, name="b 2", position=(1, 0, 0.2))
    mech.collide()
    model = mech.finalize(0.005)

    motion = dy.simulate(model, model.initial_state(), 0.6)
    weights = {name: motion.contact(name).normal_force[-1].sum() for name in motion.near_pairs}
    assert set(weights) == {"floor|b", "floor|b 2", "floor|b 2 2"}
    assert list(weights.values()) == pytest.approx([9.81] * 3, rel=1e-3)


def test_meshes_touch_as_their_hulls(tmp_path):
    # a cube of 0.2 m as a mesh, on the floor, on a slab of the world and on a mesh of the world
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.1
    faces = "1 2 4 3", "5 7 8 6", "1 5 6 2", "3 4 8 7", "1 3 7 5", "2 6 8 4"
    rows = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {face}" for face in faces]
    (tmp_path / "cube.obj").write_text("\n".join(rows))
    level = np.array([1.0, 0, 0, 0])
    grounds = dy.HalfSpace(), Geometry(dy.Box(2, 2, 0.2, mass=1), np.array([0, 0, -0.1]), level)

    for ground in (*grounds, Mesh("cube.obj", str(tmp_path), np.array([9.0, 9.0, 1.0]))):
        mechanism = dy.Mechanism()
        cube = Geometry(Mesh("cube.obj", str(tmp_path), np.ones(3)), np.zeros(3), level)
        mechanism.add_body(
            mass=1.0,
            inertia=0.01 * np.eye(3),
            name="cube",
            collisions=[cube],
            position=(0, 0, 0.15),
        )
        if isinstance(ground, Mesh):
            ground = Geometry(ground, np.array([0, 0, -0.1]), level)
        mechanism.add_obstacle(ground, name="ground")
        mechanism.collide()
        model = mechanism.finalize(0.01)
        motion = dy.simulate(model, model.initial_state(), 0.5)
        assert motion.contacts == ["ground|cube"]
        assert motion.body("cube")[0][-1] == pytest.approx([0, 0, 0.1], abs=1e-7)  # barrier


# Errors


def test_shapes_beyond_the_digits_of_gaps_are_refused_by_their_body():
    for shape in (dy.Box(1e30, 1, 1, mass=1.0), dy.Compound([(BALL, (0, 0, 1e30))])):
        mechanism = dy.Mechanism()
        mechanism.add_body(BALL, name="a")
        mechanism.add_body(mass=1.0, inertia=np.eye(3), name="b", position=(0, 0, 3),
                           collisions=[Geometry(shape, np.zeros(3), np.eye(4)[0])])  # fmt: skip
        mechanism.collide()
        with pytest.raises(ValueError, match=r"shape of body 'b' reaches [15]e\+(29|30) m from"):
            mechanism.finalize()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bodies": ["c"]}, r"bodies of collide has 'c', which is not a body of this mechanism"),
        ({"bodies": "a"}, r"bodies of collide takes several bodies; use \['a'\]"),
        ({"against": [3]}, r"against of collide has 3, which is not a body"),
        ({"without": ["ab"]}, r"without= of collide takes pairs of bodies, not 'ab'"),
        ({"without": [("a", "d")]}, r"without of collide has 'd', which is not a body"),
        ({"friction": -1.0}, r"friction of collide"),
        ({"friction": 0.0, "rolling": 0.1}, r"collide resists turning but not sliding"),
        ({"cone": 3}, r"collide"),
    ],
)
def test_bad_arguments_are_refused_by_name(options, message):
    mechanism = dy.Mechanism()
    for name in "ab":
        mechanism.add_body(BALL, name=name)
    with pytest.raises((ValueError, dy.UnknownNameError), match=message):
        mechanism.collide(**options)
    assert mechanism.collisions == []


def test_what_cannot_touch_is_refused(tmp_path):
    mechanism = dy.Mechanism()
    mechanism.add_body(BALL, name="a")
    mechanism.collide()
    with pytest.raises(ValueError, match="collide finds no two shapes that may touch"):
        mechanism.finalize()
    with pytest.raises(TypeError, match="add_obstacle takes a shape"):
        mechanism.copy().add_obstacle("floor")

    mesh = Mesh("none.stl", str(tmp_path), np.ones(3))
    broken = dy.Mechanism()
    lost = Geometry(mesh, np.zeros(3), np.array([1.0, 0, 0, 0]))
    broken.add_body(mass=1.0, inertia=np.eye(3), name="a", collisions=[lost])
    for name in "bc":
        broken.add_body(BALL, name=name)
    left_out = broken.copy()
    broken.collide()
    with pytest.raises(ValueError, match=r"collision shape of body 'a': mesh 'none.stl': "):
        broken.finalize()
    left_out.collide(["b", "c"])
    assert pairs_of(left_out) == ["b|c"]

    bouncing = dy.Mechanism()
    for name in "ab":
        bouncing.add_body(BOX, name=name)
    bouncing.collide(restitution=0.5)
    with pytest.raises(ValueError, match=r"restitution of 'a\|b' is 0.5; it is not offered"):
        bouncing.finalize()


@pytest.mark.parametrize("options", [{"order": 4}, {"form": "first order"}])
def test_other_methods_are_refused(options):
    mechanism = dy.Mechanism()
    for name in "ab":
        mechanism.add_body(BALL, name=name)
    mechanism.collide()
    with pytest.raises(ValueError, match="collide"):
        mechanism.finalize(0.01, **options)


def test_inverse_dynamics_is_refused_where_pairs_touch():
    mechanism = dy.Mechanism()
    hinged = mechanism.add_body(BOX, name="box", position=(0, 0, 0.06 + 1e-6))
    hinge = dy.Revolute(mechanism.world, hinged, axis=(0, 0, 1), name="j", actuated=True)
    mechanism.add_joint(hinge)
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    mechanism.collide()
    model = mechanism.finalize(0.01)
    state = model.initial_state()

    with pytest.raises(NotImplementedError, match=r"'floor\|box' touches"):
        dy.inverse_dynamics(model, state, {"j": 0.0})


# Motions


def heap(n, shapes=(BALL,), seed=0, side=1, **options):
    """Bodies in columns, ``side`` in a row, turned at random, over a floor."""
    mechanism, rng = dy.Mechanism(), np.random.default_rng(seed)
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    for k in range(n):
        x, y = rng.uniform(-0.05, 0.05, 2)
        at = x + 0.3 * (k % side), y + 0.3 * (k // side % side), 0.2 + 0.27 * (k // side**2)
        turn = rotation.random(rng)
        mechanism.add_body(shapes[k % len(shapes)], name=k, position=at, orientation=turn)
    mechanism.collide(**options)
    model = mechanism.finalize(0.01)
    return model, model.initial_state()


@pytest.mark.parametrize("seed", [6, 9])
def test_heaps_whose_cylinders_lie_on_boxes_are_moved_apart(seed):
    # the plane lies between sharp rims, and overlaps by their rounding: it alone moved before
    model, state = heap(20, SHAPES, seed=seed, side=3)
    with pytest.raises(dy.InconsistentStateError, match="overlaps by"):
        dy.simulate(model, state, 0.01)
    apart = dy.separate(model, state)
    assert np.abs(apart.pose - state.pose).max() < 0.05
    dy.simulate(model, apart, 0.05)


@pytest.mark.parametrize("n,seed", [(3, 0), (5, 1)])
def test_steps_and_slopes_from_a_record_take_the_pairs_of_the_motion(n, seed):
    model, state = heap(n, SHAPES, seed=seed)
    motion = dy.simulate(model, state, 0.9)
    for k in (65, 71, 77, 83):
        run = dy.simulate(model, state, 0.01 * k).final
        wanted = model.near.entry(run)
        for record in (motion[k], pickle.loads(pickle.dumps(motion[k]))):
            found = model.near.entry(record)
            assert found.near.pairs == wanted.near.pairs
            np.testing.assert_array_equal(found.state.data, wanted.state.data)
            if n == 3:  # at rest; a plane less changed A by 8e-3
                A, of_run = (dy.linearize(model, one)[0] for one in (record, run))
                np.testing.assert_allclose(A, of_run, rtol=0.0, atol=1e-7)


def test_steps_are_those_of_a_run():
    model, state = heap(3, SHAPES)
    motion = dy.simulate(model, state, 0.6)
    assert len(motion.parts) > 1
    for k in range(60):
        state, _ = model.step(state)
        np.testing.assert_array_equal(state.data, motion.states[k + 1])


def test_nothing_that_an_earlier_near_model_left_in_memory_matters(monkeypatch):
    model, state = heap(20, SHAPES, side=3)
    free, motions = near_run.NearRun._free, []
    for left in (0.0, 7.0):

        def filled(self, near, left=left):
            space = free(self, near)
            space.work[:] = space.step_solver[0][:] = left  # the latter is the matrix
            return space

        monkeypatch.setattr(near_run.NearRun, "_free", filled)
        motions.append(dy.simulate(model, state, 0.7))
    assert len(motions[0].parts) > 5
    np.testing.assert_array_equal(motions[0].states, motions[1].states)


def test_a_run_goes_on_where_another_ended_and_from_its_records():
    model, state = heap(3, SHAPES)
    whole = dy.simulate(model, state, 0.6)
    first = dy.simulate(model, state, 0.3)
    second = dy.simulate(model, first.final, 0.3)
    np.testing.assert_array_equal(second.states, whole.states[30:])
    np.testing.assert_array_equal(
        dy.simulate(model, state, 0.6, every=10).states, whole.states[::10]
    )
    # a record has lost the guess of its step: the same to the tolerance of steps before an impact
    again = dy.simulate(model, whole[5], 0.05)
    np.testing.assert_allclose(again.states[-1], whole.states[10], atol=1e-9)


def test_rollouts_are_simulations_wherever_they_run():
    model, state = heap(3, SHAPES)
    jobs = [dy.Job(state, 0.4), dy.Job(heap(3, SHAPES)[1], 0.2)]
    wanted = [dy.simulate(model, job.state, job.seconds) for job in jobs]
    with ThreadPoolExecutor(2) as executor:
        found = [dy.rollouts(model, jobs), dy.rollouts(model, jobs, executor)]
    name = wanted[0].near_pairs[0]
    for one, motion in zip(found[0] + found[1], 2 * wanted):
        np.testing.assert_array_equal(one.trajectory.states, motion.states)
        forces = [x.contact(name).normal_force for x in (one.trajectory, motion)]
        np.testing.assert_array_equal(*forces)


def test_models_and_motions_pickle():
    model, state = heap(3, SHAPES)
    motion = dy.simulate(model, state, 0.4)
    again, there = pickle.loads(pickle.dumps((model, motion)))
    np.testing.assert_array_equal(dy.simulate(again, state, 0.4).states, motion.states)
    for name in motion.near_pairs:
        np.testing.assert_array_equal(there.contact(name).gap, motion.contact(name).gap)


def test_pickled_states_keep_the_contacts_that_were_found():
    model, state = heap(3, SHAPES)
    motion = dy.simulate(model, state, 0.4)
    assert motion.near_pairs
    wanted = model.velocities(motion.final)
    went_on = dy.simulate(model, motion.final, 0.02)
    far = dy.simulate(heap(2, SHAPES)[0], heap(2, SHAPES)[1], 0.1).final

    pickled = pickle.loads(pickle.dumps(motion.final))
    twice = pickle.loads(pickle.dumps(pickled))
    for other, final in (
        (model, pickled), (model, twice), (heap(3, SHAPES)[0], motion.final),
    ):  # fmt: skip
        np.testing.assert_array_equal(other.velocities(final), wanted)
        again = dy.simulate(other, final, 0.02)  # before an impact that doubles differences
        for name in went_on.near_pairs:
            forces = [x.contact(name).normal_force[0] for x in (again, went_on)]
            np.testing.assert_array_equal(*forces)
        # the same steps from the same numbers, solved to the tolerance
        poses = [x.states[:, : 7 * state.n] for x in (again, went_on)]
        np.testing.assert_allclose(*poses, rtol=0.0, atol=1e-7)
    pickled.momentum[0, 0] += 1.0
    assert not np.array_equal(model.velocities(pickled), wanted)
    with pytest.raises(ValueError, match="another model"):
        dy.simulate(model, pickle.loads(pickle.dumps(far)), 0.1)


def test_jobs_with_parameters_keep_the_contacts_that_were_found():
    model, state = heap(3, SHAPES)
    final = dy.simulate(model, state, 0.4).final
    parameters = {0: {"mass": 2.0 * model.bodies[0].mass}}

    (job,) = dy.rollouts(model, [dy.Job(final, 0.1, parameters=parameters)], threads=1)

    # rounding of projections of velocities below 100 m/s and rad/s
    wanted = model.velocities(final).ravel()
    np.testing.assert_allclose(job.trajectory.twists[0], wanted, atol=1e-11)


def tower(n):
    """Boxes that fall on each other from a millimetre."""
    mechanism = dy.Mechanism()
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    for k in range(n):
        mechanism.add_body(BOX, name=k, position=(0, 0, 0.061 + 0.121 * k))
    mechanism.collide()
    model = mechanism.finalize(0.01)
    return model, model.initial_state()


def test_a_variant_has_its_own_near_pairs():
    model, _ = tower(2)
    heavy = dy.variant(model, {0: {"mass": 50.0}})
    motion = dy.simulate(heavy, heavy.initial_state(), 1.0)

    force = motion.contact("floor|0").normal_force[-1].sum()
    assert force == pytest.approx(51.0 * 9.81, rel=2e-3)  # the planes weigh a thousandth


def test_the_forces_of_a_motion_carry_its_weight():
    model, state = tower(4)
    motion = dy.simulate(model, state, 1.0)

    assert motion.near_pairs == motion.contacts == ["floor|0", "0|1", "1|2", "2|3"]
    for k, name in enumerate(motion.near_pairs):
        found = motion.contact(name)
        assert found.gap.min() > 0.0 and found.normal_force.min() >= 0.0
        force = found.normal_force[-1].sum()
        assert force == pytest.approx((4 - k) * 9.81, rel=2e-3)


def test_the_gap_of_a_pair_is_infinite_while_it_is_not_near():
    model, state = heap(2)
    motion = dy.simulate(model, state, 0.5)
    gap, number = motion.contact("floor|1").gap, model.near.candidates.numbers["floor|1"]
    near = [number in part.pairs for part in motion.parts for _ in part.states]

    assert any(near) and not all(near)
    np.testing.assert_array_equal(np.isfinite(gap).any(axis=1), near)


def test_a_file_of_a_motion_holds_the_forces_of_pairs(tmp_path):
    path = tmp_path / "motion.npz"
    model, state = heap(2)
    motion = dy.simulate(model, state, 0.5)
    motion.save(path)
    there = dy.Trajectory.load(path, heap(2)[0])
    np.testing.assert_array_equal(there.states, motion.states)
    assert there.contacts == motion.contacts
    for name in motion.contacts:
        one, other = motion.contact(name), there.contact(name)
        for what in ("gap", "normal", "point", "normal_force", "friction_force"):
            np.testing.assert_array_equal(getattr(one, what), getattr(other, what))
    there.save(path)  # once more, from what was read
    assert len(dy.Trajectory.load(path, model).parts) == len(motion.parts)

    with np.load(path) as file:
        kept = {name: file[name] for name in file.files}
    wrong = kept["near_counts"] * [1, 1, 0]
    for message, other in (
        ("it lacks near_names", {"near_names": None}),
        ("its counts of near pairs are not those of its arrays", {"near_counts": wrong}),
        ("'a' are not those", {"near_names": np.full_like(kept["near_names"], "a")}),
        ("counts of near pairs of shape", {"near_counts": kept["near_counts"][:, :2]}),
    ):
        changed = {k: v for k, v in (kept | other).items() if v is not None}
        np.savez(path, **changed)
        with pytest.raises(ValueError, match=message.replace("'a'", r"\['a'.*\]")):
            dy.Trajectory.load(path, model)
    without = {k: v for k, v in kept.items() if not k.startswith("near")}
    np.savez(path, **without)  # of an earlier version
    with pytest.raises(ValueError, match=r"the trajectory holds no forces of 'floor\|0'"):
        dy.Trajectory.load(path, model).contact("floor|0")


def test_a_controller_is_called_once_a_step(monkeypatch):
    """Also where steps are taken back, as the allowances are far too small."""
    monkeypatch.setattr(near_models, "PART", 1e-6)
    monkeypatch.setattr(near_models, "STEPS", 1.0)
    mechanism, times = dy.Mechanism(), []
    slider = mechanism.add_body(BALL, name="slider", position=(0, 0, 0))
    mechanism.add_body(BALL, name="ball", position=(0.5, 0, 0))
    mechanism.gravity = (0, 0, 0)
    mechanism.add_joint(
        dy.Prismatic(mechanism.world, slider, axis=(1, 0, 0), name="x", actuated=True)
    )
    mechanism.collide()
    model = mechanism.finalize(0.01)

    def push(state, time):
        times.append(time)
        return [20.0 * len(times)]

    dy.simulate(model, model.initial_state(), 0.4, controller=push)
    np.testing.assert_allclose(times, 0.01 * np.arange(40), atol=1e-12)


def test_separate_pulls_overlapping_shapes_apart():
    mechanism = dy.Mechanism()
    for k in range(4):
        mechanism.add_body(BOX, name=k, position=(0.12 * k, 0, 0))
    mechanism.collide()
    model = mechanism.finalize(0.01)
    with pytest.raises(ValueError, match="overlap"):
        dy.simulate(model, model.initial_state(), 0.1)
    motion = dy.simulate(model, dy.separate(model, model.initial_state()), 0.1)
    assert all(motion.contact(name).gap.min() > 0.0 for name in motion.near_pairs)


def test_the_pile_of_the_documentation_stands(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["pile.py"])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert "least gap" in capsys.readouterr().out


# Parts


@pytest.mark.parametrize("seed", range(6))
def test_gjk_separates_as_far_as_a_quadratic_program(seed):
    """The normal that it finds separates the shapes by their distance."""
    rng = np.random.default_rng(seed)
    mechanism = dy.Mechanism()
    for k, i in enumerate(rng.permutation(4)[:2]):
        at, turn = 0.4 * k * rotation.unit_vector(rng.normal(size=3), "way"), rotation.random(rng)
        mechanism.add_body(SHAPES[i], name=k, position=at, orientation=turn)
    mechanism.collide()
    model = mechanism.finalize(0.01)
    state, near = model.initial_state(), model.near
    tables, out = near.shapes, np.empty(5)
    found = gjk.separate(
        tables.points, tables.starts, tables.cores, tables.bounds.shapes, 0, 1, 2, state.data, out
    )
    cores = []
    for k, solid in enumerate(near.candidates.solids):
        x, q = state.pose[k, :3], state.pose[k, 3:]
        turned = rotation.rotate(np.broadcast_to(q, (len(solid.core.points), 4)), solid.core.points)
        axis = rotation.rotate(q, solid.core.axis)
        cores.append((x + turned, axis, solid.core))
    exact = separation(*(core_in_world(*core) for core in cores))

    assert found
    # of the squared distance 1e-10 is left
    assert out[4] - out[3] == pytest.approx(exact.distance, rel=1e-4)


def core_in_world(points, axis, core):
    return type(core)(**{**fields(core), "points": points, "axis": axis})


def fields(core):
    return {name: getattr(core, name) for name in type(core).__dataclass_fields__}


def watched_ball(height, wall=0.5):
    """Watch of a ball over a floor, before a wall; state, work and info of a step, and the search.

    The ball is at rest, with an allowance of 15 mm, 0.15 of its radius.
    """
    mechanism = dy.Mechanism()
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    mechanism.add_obstacle(
        dy.Box(0.2, 2.0, 2.0, mass=1.0), name="wall", position=(wall + 0.1, 0, 0)
    )
    mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="ball", position=(0, 0, height))
    mechanism.collide()
    model = mechanism.finalize(0.01)
    state, work, info = model.initial_state().data.copy(), np.zeros(3), np.zeros(INFO_SIZE)
    search = model.near.search()
    watched = search.arrays(state.size, (0, work.size), info.size)
    watch.renew(watched, 1, 0.01, state)
    assert search.watch.allowance == pytest.approx(0.015) and not search.pairs
    return search, watched, state, work, info


@pytest.mark.parametrize(
    ("way", "pairs"), [(0.1, 0), (0.19, 0), (0.21, 1)], ids=["near", "half way", "beyond"]
)
@pytest.mark.parametrize("comes_back", [False, True])
def test_a_step_is_taken_back_where_a_body_may_have_met_another(way, pairs, comes_back):
    """The wall is 0.4 m off, and near if twice the way reaches it, at any end of an interval."""
    search, watched, state, work, info = watched_ball(1.0)
    start, away = state.copy(), state.copy()
    away[0] = way

    watch.keep(watched, state, work, info)
    watch.begin(watched)
    for pose in (away, start) if comes_back else (away,):
        watch.look(watched, pose)
    state[0], work[:], info[:] = 0.01, 1.0, 1.0
    taken = pairs > 0
    assert watch.taken_back(watched, 1, 0.01, state, work, info) == taken

    assert state[0] == (0.0 if taken else 0.01)
    assert work[0] == info[0] == (0.0 if taken else 1.0)
    assert len(search.pairs) == pairs and search.watch.allowance == pytest.approx(2.0 * way)
    np.testing.assert_array_equal(search.watch.start, start[:7])
    assert search.flags[watch.RENEW] == taken  # a change of near models
    assert watch.keep(watched, state, work, info) == taken  # its controls are there

    watch.look(watched, away)
    watch.begin(watched)  # another division of the step
    watch.look(watched, start)
    # what one set of pairs lets stray, another may not: the ways of all tries of a step count
    assert watched[watch.WAYS][0] == (way if taken else 0.0)
    assert not watch.taken_back(watched, 1, 0.01, state, work, info)
    assert not watch.keep(watched, state, work, info)  # the next step
    assert watched[watch.WAYS][0] == 0.0


# Starts


def tilted_cylinder(depth):
    """A cylinder almost upright, whose rim is so deep in the box below."""
    mechanism = dy.Mechanism()
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    mechanism.add_body(dy.Box(0.4, 0.4, 0.1, mass=5.0), name="box", position=(0, 0, 0.05 + 1e-6))
    tilt, (r, half) = ROUND, (0.08, 0.1)
    z = 0.1 + 1e-6 + half * np.cos(tilt) + r * np.sin(tilt) - depth
    orientation = rotation.from_axis_angle((1, 1, 0), tilt)  # between the points it stands on
    mechanism.add_body(SHAPES[3], name="roll", position=(0, 0, z), orientation=orientation)
    mechanism.collide()
    return mechanism.finalize(0.01)


def test_starts_may_overlap_by_what_rims_are_rounded():
    """Motions see rims rounded by a thousandth of their radius, and may start where they ended."""
    model = tilted_cylinder(0.5 * ROUND * 0.08)
    after = dy.simulate(model, model.initial_state(), 0.1).final
    assert abs(after.pose[1, 2] - 0.2) < 2.0 * ROUND * 0.08

    model = tilted_cylinder(2.5 * ROUND * 0.08)
    with pytest.raises(dy.InconsistentStateError, match=r"box\|roll"):
        dy.simulate(model, model.initial_state(), 0.1)


@pytest.mark.parametrize("options", [{}, {"limits": (-1.0, 1.0), "velocity_limits": (-9.0, 9.0)}])
def test_dry_friction_of_joints_stays_where_contacts_are_found(options):
    """A double pendulum swings into the floor; with contacts declared it moves the same way."""

    def swing(found):
        mechanism = dy.Mechanism()
        bar = dy.Box(0.1, 0.1, 1.0, mass=1.0)
        a, b = (mechanism.add_body(bar, name=name) for name in "ab")
        ends = {"axis": (0, 1, 0), "child_point": (0, 0, 0.5), "friction": 0.1, **options}
        mechanism.add_joint(dy.Revolute(mechanism.world, a, name="j", **ends))
        mechanism.add_joint(dy.Revolute(a, b, parent_point=(0, 0, -0.5), name="k", **ends))
        if found:
            mechanism.add_obstacle(dy.HalfSpace(point=(0, 0, -1.7)), name="floor")
            mechanism.collide([b])
        else:
            floor = dy.HalfSpace(point=(0, 0, -1.7))
            mechanism.add_contact(b, against_shape=floor, friction=0.5, name="floor|b")
        model = mechanism.finalize(0.01)
        state = model.initial_state()
        model.set_joint(state, "j", 1.0)
        return dy.simulate(model, state, 1.0)

    found, declared = swing(True), swing(False)
    assert declared.contact("floor|b").normal_force.max() > 10.0
    for name in "ab":
        np.testing.assert_allclose(found.body(name)[0], declared.body(name)[0], atol=1e-9)
    np.testing.assert_allclose(found.friction("j"), declared.friction("j"), atol=1e-4)


def test_boxes_that_are_near_at_the_start_may_hang_on_joints_with_dry_friction():
    # Each slides down its rail with 1 - 5 / 9.81 of gravity; the plane between them holds nothing.
    mechanism = dy.Mechanism()
    for name, x in (("a", 0.0), ("b", 0.201)):
        made = mechanism.add_body(dy.Box(0.2, 0.2, 0.2, mass=1.0), name=name)
        rail = dy.Prismatic(
            mechanism.world,
            made,
            (0, 0, 1),
            parent_point=(x, 0, 0),
            friction=5.0,
            name=f"rail {name}",
        )
        mechanism.add_joint(rail)
    mechanism.collide()
    model = mechanism.finalize(0.01)
    motion = dy.simulate(model, model.initial_state(), 0.5)

    assert len(model.near.entry(motion[0]).near.pairs) == 1
    for name in "ab":
        fallen = motion.body(name)[0][-1, 2]
        # at rest friction has not its full force yet: h^2 F / m
        assert fallen == pytest.approx(-(9.81 - 5.0) * 0.5**2 / 2, abs=5.0 * 0.01**2)
