"""Sensors of MJCF files: what is read, and their readings compared with MuJoCo's."""

import warnings

import numpy as np
import pytest

import dynamics as dy

G = 9.81
MODEL = """
<mujoco><option integrator="RK4"/>
<worldbody><geom name="floor" type="plane" size="5 5 .1"/>
 <geom name="wall" type="box" size="0.1 9 9" pos="-4 0 0"/>
 <body name="arm" pos="0 0 1.5"><joint name="shoulder" axis="0 1 0" damping="0.1"/>
  <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.04"/>
  <site name="mid" pos="0.2 0.02 0.01" quat="0.9 0.1 0.2 0.3"/>
  <body name="fore" pos="0.5 0 0"><joint name="elbow" axis="0 0.6 0.8"/>
   <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03"/>
   <body name="hand" pos="0.4 0 0" quat="0.8 0.6 0 0">
    <geom type="box" size="0.05 0.03 0.02" pos="0.05 0 0"/>
    <site name="palm" pos="0.03 0.01 0" quat="0.7 0 0.7 0.1"/></body></body></body>
 <body name="ball" pos="1 1 0.1"><freejoint/><geom type="sphere" size="0.1"/>
  <site name="inside" size="0.2"/></body>
</worldbody>
<sensor>
 <accelerometer name="acceleration" site="palm"/><accelerometer name="resting" site="inside"/>
 <gyro name="gyro" site="palm"/><velocimeter name="speed" site="palm"/>
 <force name="force" site="palm"/><torque name="torque" site="palm"/>
 <force name="force at hinge" site="mid"/><touch name="touch" site="inside"/>
 <rangefinder name="range" site="palm"/><rangefinder name="sky" site="mid"/>
 <jointpos name="angle" joint="elbow"/><jointvel name="rate" joint="elbow"/>
 <framepos name="site" objtype="site" objname="palm"/>
 <framepos name="inertial" objtype="body" objname="fore"/>
 <framequat name="link quat" objtype="xbody" objname="hand"/>
 <framequat name="inertial quat" objtype="body" objname="fore"/>
 <framelinvel name="velocity" objtype="site" objname="palm"/>
 <frameangvel name="spin" objtype="xbody" objname="fore"/>
</sensor></mujoco>"""
#: Of the stage of accelerations: a step older than the state in both.
LATE = {"acceleration", "resting", "force", "torque", "force at hinge", "touch"}


def loaded(path, text, **options):
    path.write_text(text)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        return dy.load(path, **options), {
            kind: names for one in found for kind, names in one.message.elements.items()
        }


def theirs_at(mujoco, seconds):
    """MuJoCo's readings of a state, after fine steps to it."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    model.opt.timestep = 2e-4
    data = mujoco.MjData(model)
    data.qvel[:2] = [1.0, -2.0]
    for _ in range(round(seconds / 2e-4)):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    return {model.sensor(k).name: data.sensor(k).data.copy() for k in range(model.nsensor)}


def ours_at(model, seconds):
    """Readings that belong to the same time."""
    state, h = model.initial_state(), model.timestep
    model.set_joint(state, "shoulder", 0.0, 1.0)
    model.set_joint(state, "elbow", 0.0, -2.0)
    found = dy.Sensors(model).history(dy.simulate(model, state, seconds + h))
    return {name: readings[-1 if name in LATE else -2] for name, readings in found.items()}


def test_readings_are_mujocos_to_second_order(mujoco, tmp_path):
    mech, _ = loaded(tmp_path / "arm.xml", MODEL, ground=True)
    wanted = theirs_at(mujoco, 0.3)
    coarse, fine = (ours_at(mech.copy().finalize(h), 0.3) for h in (4e-3, 2e-3))

    assert list(coarse) == list(wanted)
    at_rest = {"resting", "touch", "sky"}
    for name, theirs in wanted.items():
        errors = [np.abs(one[name] - theirs).max() for one in (coarse, fine)]
        size = np.abs(theirs).max()
        print(f"{name:14} {size:10.3g} {errors[0]:10.2e} {errors[1]:10.2e}")
        if name in at_rest:  # MuJoCo's contact is soft, and settles
            assert errors[0] < 1e-3 * size
            continue
        assert errors[0] < 2e-3 * max(1.0, size)
        # Fourfold, less what is left of MuJoCo's own error and of higher orders.
        assert errors[1] < errors[0] / 3.0


def test_a_body_at_rest_reads_as_in_mujoco(mujoco, tmp_path):
    text = """<mujoco><worldbody><geom type="plane" size="1 1 .1"/>
     <body name="stand" pos="0 0 1" euler="30 20 10"><geom type="box" size=".1 .1 .1"/>
      <body name="load" pos="0.3 0 0" euler="0 0 40"><geom type="sphere" size="0.1" mass="2"/>
       <site name="here" pos="0.1 0.2 0.3" euler="70 0 10"/></body></body></worldbody>
     <sensor><accelerometer name="up" site="here"/><force name="force" site="here"/>
      <torque name="torque" site="here"/><rangefinder name="range" site="here" cutoff="0.1"/>
     </sensor></mujoco>"""
    mech, _ = loaded(tmp_path / "stand.xml", text)
    model = mech.finalize(0.01)
    state, _ = model.step(model.initial_state())
    found = dy.Sensors(model).read(state)
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    if mujoco.__version__.startswith("3.") and not data.sensor("up").data.any():
        pytest.skip("MuJoCo 3 reads zero on bodies that cannot move")

    for name in ("up", "force", "torque"):
        np.testing.assert_allclose(found[name], data.sensor(name).data, atol=1e-8)
    assert found["range"].tolist() == [-1.0]
    assert mech.sensors["range"].largest == 0.1


def test_noise_and_names_are_read_and_the_rest_is_reported(mujoco, tmp_path):
    text = """<mujoco><worldbody>
     <body name="base"><freejoint name="free"/><geom size="0.1"/><site name="s"/>
      <body name="two"><joint name="a" axis="1 0 0"/><joint name="b" axis="0 1 0"/>
       <geom size="0.1"/></body>
      <body name="ball"><joint name="j" type="ball"/><geom size="0.1"/></body></body></worldbody>
     <actuator><motor name="m" joint="a"/></actuator>
     <sensor><gyro site="s" noise="0.25" cutoff="3"/><jointpos name="second" joint="b"/>
      <actuatorfrc name="motor" actuator="m"/><ballquat name="q" joint="j"/><clock name="t"/>
      <force name="loose" site="s"/><touch name="touch" site="s"/>
      <framelinacc name="rising" objtype="site" objname="s"/>
     </sensor></mujoco>"""
    mech, left_out = loaded(tmp_path / "robot.xml", text)

    assert list(mech.sensors) == ["sensor 0", "second", "motor", "touch"]
    assert mech.sensors["sensor 0"].noise.white == 0.25
    assert mech.report.read["sensors"] == ["sensor 0", "second", "motor", "touch"]
    for kind, name in (
        ("cutoffs of sensors", "sensor 0"),
        ("sensors of type ballquat", "q"),
        ("sensors of type clock", "t"),
        ("sensors of type framelinacc", "rising"),
        ("force and torque sensors of bodies without a joint", "loose"),
        ("touch sensors feel all contacts of their body", "touch"),
    ):
        assert left_out[kind] == [name]
    model = mech.finalize(0.01)
    state = model.initial_state()
    found = dy.Sensors(model, ["second"])
    owner = mech.sensors["second"]
    angles = np.zeros(mech.joints[owner.joint].n_coordinates)
    angles[owner.coordinate] = 0.3
    model.set_joint(state, owner.joint, angles)
    assert found.read(state)["second"] == pytest.approx([0.3])


def test_sensors_of_bodies_that_are_merged_sit_where_they_were(mujoco, tmp_path):
    text = """<mujoco><worldbody><body name="base" pos="0 0 2"><freejoint/><geom size="0.1"/>
      <body name="tip" pos="0.3 0 0"><geom size="0.05"/><site name="s" pos="0 0.1 0"/>
      </body></body></worldbody>
     <sensor><framepos name="place" objtype="site" objname="s"/><force name="lost" site="s"/>
     </sensor></mujoco>"""
    mech, left_out = loaded(tmp_path / "merged.xml", text, merge_fixed=True)
    model = mech.finalize(0.01)
    found = dy.Sensors(model).read(model.initial_state())

    np.testing.assert_allclose(found["place"], [0.3, 0.1, 2.0], atol=1e-12)
    assert list(found) == ["place"]
    assert left_out["sensors of joints or bodies that are not here"] == ["lost"]


def test_encoders_read_what_the_file_calls_the_reference(mujoco, tmp_path):
    """Of two joints about one axis, too, which would be one cylindrical joint without sensors."""
    text = """<mujoco><compiler angle="degree"/><worldbody><body name="arm">
      <joint name="hinge" type="hinge" ref="30"/><joint name="slide" type="slide" ref="-0.2"/>
      <geom size="0.1"/></body></worldbody>
     <sensor><jointpos name="angle" joint="hinge"/><jointpos name="way" joint="slide"/>
      <jointvel name="rate" joint="hinge"/></sensor></mujoco>"""
    mech, _ = loaded(tmp_path / "reference.xml", text)
    model = mech.finalize(0.01)
    state = model.initial_state()
    theirs = mujoco.MjData(mujoco.MjModel.from_xml_string(text))
    for moved in (0.0, 0.3):
        theirs.qpos[:] = [np.pi / 6 + moved, -0.2 + 2 * moved]
        model.set_joint(state, "hinge", moved)
        model.set_joint(state, "slide", 2 * moved)
        mujoco.mj_forward(theirs.model, theirs)
        found = dy.Sensors(model).read(state)
        assert np.ravel([found[name] for name in ("angle", "way", "rate")]) == pytest.approx(
            theirs.sensordata, abs=1e-14
        )


SEEN = """
<mujoco><worldbody>
 <body name="base" pos="0.3 0.1 2" quat="0.9 0.1 -0.3 0.2"><freejoint/>
  <geom type="box" size="0.2 0.1 0.05" pos="0.02 0 0"/><site name="root" pos="0.1 0 0.05"/>
  <camera name="eye" pos="0 0.1 0" quat="0.7 0.7 0 0.1"/>
  <body name="arm" pos="0.2 0 0" quat="0.8 0 0.6 0"><joint name="hinge" axis="0.2 1 0.3"/>
   <geom type="capsule" fromto="0 0 0 0.5 0.1 0" size="0.04"/>
   <body name="hand" pos="0.5 0 0"><joint name="slide" type="slide" axis="1 0 1"/>
    <geom type="box" size="0.05 0.03 0.02" pos="0.05 0.02 0"/>
    <site name="palm" pos="0.03 0.01 0" quat="0.7 0 0.7 0.1"/></body></body></body>
 <site name="mark" pos="1 2 3" quat="0.5 0.5 0.5 0.5"/>
</worldbody>
<sensor>{}
 <subtreecom name="com" body="arm"/><subtreelinvel name="speed" body="base"/>
 <subtreeangmom name="spin" body="arm"/><subtreecom name="tip" body="hand"/>
</sensor>
<keyframe><key name="moving" qpos="0.1 -0.4 1 0.5 0.5 -0.1 0.7 0.6 -0.2"
 qvel="1 -2 0.5 2 -1 3 4 -0.7"/></keyframe></mujoco>"""
KINDS = ("pos", "quat", "linvel", "angvel", "xaxis", "yaxis", "zaxis")
OBJECTS = [("site", "palm"), ("body", "arm"), ("xbody", "hand")]
REFERENCES = [None, ("site", "root"), ("xbody", "base"), ("body", "arm"), ("camera", "eye"),
              ("site", "mark")]  # fmt: skip


def test_frames_seen_from_others_axes_and_subtrees_read_as_in_mujoco(mujoco, tmp_path):
    lines, names = "", []
    for kind in KINDS:
        for owner in OBJECTS:
            for seen in REFERENCES:
                names.append(f"{kind} {owner} {seen}".replace("'", ""))
                by = "" if seen is None else f'reftype="{seen[0]}" refname="{seen[1]}"'
                lines += (
                    f'<frame{kind} name="{names[-1]}" objtype="{owner[0]}" objname="{owner[1]}" '
                    f"{by}/>"
                )
    text = SEEN.format(lines)
    mech, left_out = loaded(tmp_path / "seen.xml", text)
    found = dy.Sensors(mech.finalize(0.001)).read(mech.finalize(0.001).keyframe("moving"))
    theirs = mujoco.MjData(mujoco.MjModel.from_xml_string(text))
    mujoco.mj_resetDataKeyframe(theirs.model, theirs, 0)
    mujoco.mj_forward(theirs.model, theirs)

    assert left_out == {} and list(mech.sensors) == [*names, "com", "speed", "spin", "tip"]
    for name in mech.sensors:
        wanted = theirs.sensor(name).data
        sign = np.sign(wanted @ found[name]) if name.startswith("quat") else 1.0
        np.testing.assert_allclose(sign * found[name], wanted, atol=1e-9, err_msg=str(name))


def test_subtrees_that_merging_joins_with_others_are_left_out_by_name(mujoco, tmp_path):
    text = """<mujoco><worldbody><body name="base"><freejoint/><geom size="0.1"/>
      <body name="tip" pos="0.3 0 0"><geom size="0.05"/></body></body></worldbody>
     <sensor><subtreecom name="all" body="base"/><subtreecom name="part" body="tip"/></sensor>
     </mujoco>"""
    mech, left_out = loaded(tmp_path / "merged.xml", text, merge_fixed=True)

    assert list(mech.sensors) == ["all"]
    assert left_out["sensors of joints or bodies that are not here"] == ["part"]
