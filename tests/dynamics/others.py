"""Robot files of others beside Pinocchio and MuJoCo: masses, places, inertia and the fall."""

import warnings
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

import dynamics as dy
from dynamics import rotation
from dynamics.io import LoadWarning, UnsupportedElementWarning
from dynamics.io.parsing import tree

from .robots import falling, floating_slopes, mass_matrix, moved, pose_of_frame, slopes, solved

SHARED = Path(__file__).parents[3] / "shared" / "data" / "robots"
#: Radius of the balls that links without mass become, m.
RADIUS = 1e-2
#: Ways to load a file, until one succeeds: those that the messages name.
WAYS = ({}, {"base": "fixed"}, {"least_radius": RADIUS}, {"base": "fixed", "least_radius": RADIUS})
#: Folders of a thousand shapes without mass, and of files that are meant to be broken.
NO_ROBOTS = {"random_urdfs", "test_assets"}
#: Parts of URDF that say nothing of motion, or nothing that Pinocchio reads here.
IDLE = {"visual", "collision", "material", "gazebo", "transmission", "mimic"}


def package_files():
    """Files of robots in installed packages and next to this checkout: kind, folder, paths."""
    found = {"next to this checkout": (SHARED, sorted(SHARED.rglob("*.urdf")))}
    places = {
        "example-robot-data": ("cmeel_pth", "cmeel.prefix/share/example-robot-data/robots"),
        "dm_control": ("dm_control", "dm_control"),
        "gymnasium": ("gymnasium", "gymnasium/envs/mujoco/assets"),
        "gymnasium-robotics": ("gymnasium_robotics", "gymnasium_robotics/envs/assets"),
        "metaworld": ("metaworld", "metaworld/assets"),
        "musclemimic_models": ("musclemimic_models", "musclemimic_models/model"),
        "robosuite": ("robosuite", "robosuite/models/assets"),
        "robosuite-models": ("robosuite_models", "robosuite_models/assets"),
        "pybullet": ("pybullet_data", "pybullet_data"),
    }
    for name, (module, folder) in places.items():
        spec = find_spec(module)
        if spec is None or spec.origin is None:
            continue
        packages = Path(spec.origin).parent
        root = (packages if module == "cmeel_pth" else packages.parent) / folder
        paths = [path for kind in ("*.urdf", "*.xml") for path in root.rglob(kind)]
        robots = [path for path in paths if not NO_ROBOTS & set(path.parts)]
        found[name] = (root, sorted(robots))
    return found


def loaded(path, within=None, base=None):
    """Mechanism of a file, its options, names left out by kind, links made balls; a ValueError."""
    first = None
    for way in WAYS:
        if path.suffix != ".urdf" and "base" in way or base == "floating" and "base" in way:
            continue
        if base == "fixed":
            way = {**way, "base": "fixed"}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                mechanism = dy.load(path, within=within, meshes=False, **way)
            except ValueError as error:
                first = first or error
                continue
        found = [one.message for one in caught if isinstance(one.message, LoadWarning)]
        left_out = [one.elements for one in found if isinstance(one, UnsupportedElementWarning)]
        balls = [one.elements.get(f"made a ball of radius {RADIUS} m", []) for one in found]
        return mechanism, way, {k: v for one in left_out for k, v in one.items()}, sum(balls, [])
    raise first


def sampled(mechanism, rng):
    """Coordinates of all joints within their limits; followers where their leaders put them."""
    leaders = {one.follower: one for one in mechanism.couplings.values()}
    at = {}
    for name, joint in mechanism.joints.items():
        if joint.n_coordinates and name not in leaders:
            at[name] = rng.uniform(-0.5, 0.5, joint.n_coordinates)
            if joint.limits is not None:
                at[name] = np.clip(at[name], *joint.limits.T)
    while leaders:
        for name in [name for name, one in leaders.items() if one.leader in at]:
            one = leaders.pop(name)
            at[name] = one.ratio * at[one.leader] + one.offset
    return at


def largest(found, expected, least=0.0):
    """Largest difference over the largest number."""
    scale = max(np.abs(expected).max(initial=0.0), least)
    return float(np.abs(found - expected).max(initial=0.0) / (scale or 1.0))


# Pinocchio


def bare_urdf(path, balls):
    """Text of a URDF file without looks, with mass where `dy.load` put balls."""
    root = tree(path)
    for element in list(root.iter()):
        for part in [part for part in element if part.tag in IDLE]:
            element.remove(part)
    for name in balls:
        link = root.find(f"link[@name='{name}']")
        inertial = link.find("inertial")
        if inertial is None:
            inertial = ElementTree.SubElement(link, "inertial")
            ElementTree.SubElement(inertial, "mass", value="0")
            ElementTree.SubElement(inertial, "inertia")
        mass, inertia = inertial.find("mass"), inertial.find("inertia")
        m = float(mass.get("value")) or dy.Sphere(RADIUS, density=1000.0).mass
        mass.set("value", repr(m))
        for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"):
            more = 0.4 * m * RADIUS**2 if key[1] == key[2] else 0.0
            inertia.set(key, repr(float(inertia.get(key, "0")) + more))
    return ElementTree.tostring(root, encoding="unicode")


def beside_pinocchio(path, mechanism, way, balls=(), seed=1):
    """Largest relative differences from Pinocchio's figures, in a random posture at rest."""
    import pinocchio as pin

    root = mechanism.frames.get("world")
    held = root is not None and root.body is mechanism.world
    floating = way.get("base", "floating") == "floating" and not held
    text = bare_urdf(path, balls)
    theirs = pin.buildModelFromXML(text, *([pin.JointModelFreeFlyer()] if floating else []))
    data, q = theirs.createData(), pin.neutral(theirs)
    model = mechanism.finalize()
    at = sampled(mechanism, np.random.default_rng(seed))
    order, first = list(range(6 if floating else 0)), {}
    hinges = {  # "a+b" where two of theirs are one
        part: value[k : k + 1] if "+" in name else value
        for name, value in at.items()
        for k, part in enumerate(str(name).split("+"))
    }
    for name, value in hinges.items():
        joint = theirs.joints[theirs.getJointId(name)]
        turned = joint.nq == 2 and joint.nv == 1
        q[joint.idx_q : joint.idx_q + joint.nq] = (
            (np.cos(value[0]), np.sin(value[0])) if turned else value
        )
        first[name] = len(order)
        order += range(joint.idx_v, joint.idx_v + joint.nv)
    state = moved(model, at)
    J = slopes(model, at).reshape(6 * model.n_bodies, -1)
    pin.framesForwardKinematics(theirs, data, q)
    if floating:
        root = next(one.name for one in theirs.frames if one.type == pin.FrameType.BODY)
        x, R = pose_of_frame(mechanism, state, model, root)
        J = np.hstack([floating_slopes(state, x) @ np.kron(np.eye(2), R), J])
    places = []
    for name in mechanism.frames:
        place = data.oMf[theirs.getFrameId(name, pin.FrameType.BODY)]
        x, R = pose_of_frame(mechanism, state, model, name)
        places += [largest(x, place.translation, 1.0), largest(R, place.rotation)]
    H = np.triu(pin.crba(theirs, data, q))
    H = (H + np.triu(H, 1).T)[np.ix_(order, order)]
    still = np.zeros(theirs.nv)
    gravity = pin.rnea(theirs, data, q, still, still)[order]
    T = np.eye(len(order))  # from independent rates to all
    for one in reversed(list(mechanism.couplings.values())):
        T[:, first[one.leader]] += one.ratio * T[:, first[one.follower]]
    follow = {first[one.follower] for one in mechanism.couplings.values()}
    T = T[:, [i for i in range(len(order)) if i not in follow]]
    fall = J @ T @ solved(T.T @ H @ T, -T.T @ gravity)
    return {
        "mass": largest(free_mass(mechanism), sum(one.mass for one in theirs.inertias[1:])),
        "place": max(places),
        "inertia": largest(J.T @ mass_matrix(model, state) @ J, H),
        "fall": largest(falling(model, state), fall, 9.81),
    }


def free_mass(mechanism):
    """Of the bodies that are not welded to the world: Pinocchio's world has no mass."""
    welded, joints = {mechanism.world.name}, list(mechanism.joints.values())
    for _ in joints:
        ends = [(one.parent.name, one.child.name) for one in joints if one.kind == "fixed"]
        welded |= {child for parent, child in ends if parent in welded}
    return sum(body.mass for name, body in mechanism.bodies.items() if name not in welded)


# MuJoCo


def bare_mjcf(mujoco, path, mechanism):
    """MuJoCo's model with masses, joints, and those rotors that the mechanism has, too."""
    model = mujoco.MjModel.from_xml_path(str(path))
    start = np.array(model.qpos0)
    for owner in ("dof", "jnt", "tendon"):
        for what in ("damping", "dampingpoly", "stiffness", "stiffnesspoly"):
            values = getattr(model, f"{owner}_{what}", None)
            if values is not None:
                values[:] = 0.0
    rotors = {}
    for name, joint in mechanism.joints.items():  # "a+b" where two of theirs are one
        rotors.update(zip(str(name).split("+"), joint.armature))
    for i in range(model.njnt):
        if not rotors.get(model.joint(i).name or f"joint {i}", 0.0):
            first = model.jnt_dofadr[i]
            model.dof_armature[first : first + (6, 3, 1, 1)[model.jnt_type[i]]] = 0.0
    model.tendon_armature[:] = 0.0
    model.opt.density = model.opt.viscosity = 0.0
    model.opt.wind[:] = 0.0
    bits = mujoco.mjtDisableBit
    model.opt.disableflags |= bits.mjDSBL_CONSTRAINT | bits.mjDSBL_ACTUATION
    mujoco.mj_setConst(model, mujoco.MjData(model))  # inertia of simple bodies is kept there
    model.qpos0[:] = start
    return model


def without_tendons(mechanism):
    """The same bodies and joints; couplings of tendons go, too."""
    bare, tendons = mechanism.copy(), set(mechanism.tendons)
    for name, one in mechanism.couplings.items():
        if {one.leader, one.follower} & tendons:
            del bare.couplings[name]
    for name, one in mechanism.tendons.items():
        del bare.tendons[name], bare.bodies[one.slider], bare.joints[name]
    ends = {mechanism.world.name, *bare.bodies}
    for name, one in mechanism.joints.items():  # those that hold a tendon's length
        if name in bare.joints and not ends.issuperset(end.name for end in one.bodies):
            del bare.joints[name]
    bare.sensors.clear()
    return bare


def beside_mujoco(path, mechanism, seed=1):
    """Largest relative differences from MuJoCo's figures, in a random posture at rest."""
    import mujoco

    mechanism = without_tendons(mechanism)
    theirs = bare_mjcf(mujoco, path, mechanism)
    data, model = mujoco.MjData(theirs), mechanism.finalize()
    rng = np.random.default_rng(seed)
    if any(" behind " in str(name) for name in mechanism.bodies):
        return beside_mujoco_split(mujoco, theirs, data, mechanism, model, rng)
    mujoco.mj_integratePos(theirs, data.qpos, rng.uniform(-0.5, 0.5, theirs.nv), 1.0)
    mujoco.mj_forward(theirs, data)
    state, J = model.initial_state(), np.zeros((6 * model.n_bodies, theirs.nv))
    held = set()
    for i in range(1, theirs.nbody):  # our bodies where theirs are: the joints must hold there
        frame = mechanism.frames[theirs.body(i).name or f"body {i}"]
        if frame.body is mechanism.world or frame.body.name in held:
            continue
        held.add(frame.body.name)
        q = rotation.multiply(np.array(data.xquat[i]), rotation.conjugate(frame.orientation))
        k = model.body_number(frame.body.name)
        state.pose[k] = [*(data.xpos[i] - rotation.rotate(q, frame.position)), *q]
        slide, turn = np.zeros((2, 3, theirs.nv))
        mujoco.mj_jac(theirs, data, slide, turn, state.pose[k, :3], i)
        J[6 * k : 6 * k + 3] = slide
        J[6 * k + 3 : 6 * k + 6] = rotation.to_matrix(q).T @ turn
    names = [theirs.body(i).name or f"body {i}" for i in range(theirs.nbody)]
    free = [i for i in range(1, theirs.nbody) if mechanism.frames[names[i]].body.name in held]
    return {
        "mass": largest(mechanism.mass, theirs.body_mass[free].sum()),
        "place": max(
            places_beside_mujoco(theirs, data, mechanism, model, state),
            float(np.abs(model.constraint_violation(state)).max(initial=0.0)),
        ),
        "inertia": largest(J.T @ mass_matrix(model, state) @ J, full_inertia(mujoco, theirs, data)),
        "fall": largest(falling(model, state), J @ data.qacc, 9.81),
    }


def beside_mujoco_split(mujoco, theirs, data, mechanism, model, rng):
    """The same in joint coordinates where balls lie between joints, whose mass is taken off."""
    names = {theirs.joint(i).name or f"joint {i}": i for i in range(theirs.njnt)}
    at, columns = {}, []
    for name, joint in mechanism.joints.items():
        if joint.n_coordinates == 1 and name in names:
            i, ends = names[name], (-9, 9) if joint.limits is None else joint.limits[0]
            at[name] = np.clip(rng.uniform(-0.5, 0.5), *ends)
            data.qpos[theirs.jnt_qposadr[i]] += at[name]
            columns.append(theirs.jnt_dofadr[i])
    mujoco.mj_forward(theirs, data)
    state, J = moved(model, at), slopes(model, at)
    M = mass_matrix(model, state)
    force, extra = np.zeros(len(M)), 0.0
    for i, (name, body) in enumerate(mechanism.bodies.items()):
        if " behind " in str(name):
            block = M[6 * i : 6 * i + 6, 6 * i : 6 * i + 6]
            block[:3, :3] -= body.mass * np.eye(3)
            block[3:, 3:] -= body.inertia
            extra += body.mass
        else:
            weight = body.mass * body.gravity_scale * mechanism.gravity
            force[6 * i : 6 * i + 3] = weight
    H = full_inertia(mujoco, theirs, data)[np.ix_(columns, columns)]
    bias = data.qfrc_bias - data.qfrc_gravcomp
    return {
        "mass": largest(mechanism.mass - extra, theirs.body_mass.sum()),
        "place": places_beside_mujoco(theirs, data, mechanism, model, state),
        "inertia": largest(J.T @ M @ J, H),
        "fall": largest(J.T @ force, -bias[columns]),
    }


def places_beside_mujoco(theirs, data, mechanism, model, state):
    """Largest difference of frames of bodies."""
    worst = 0.0
    for i in range(1, theirs.nbody):
        x, R = pose_of_frame(mechanism, state, model, theirs.body(i).name or f"body {i}")
        worst = max(worst, largest(x, data.xpos[i], 1.0))
        worst = max(worst, largest(R, data.xmat[i].reshape(3, 3)))
    return worst


def full_inertia(mujoco, theirs, data):
    """Joint-space inertia, dense."""
    H = np.zeros((theirs.nv, theirs.nv))
    for column, unit in zip(H, np.eye(theirs.nv)):
        mujoco.mj_mulM(theirs, data, column, unit)
    return H


# Motion in the air under commands


def motion_beside_mujoco(path, within, limits, seconds=0.25, timestep=5e-4, theirs_step=2e-5):
    """Largest distance of a body from MuJoCo's and largest way, m; actuators read, and all.

    Commands are random, a tenth of their ranges where limits act; motors that would accelerate
    their joint by more than 100 rad/s^2 or m/s^2 alone get less. Joints that no equality ties
    start in the inner half of their range, all in the file's posture if joints are coupled.
    None where MuJoCo's motion grows without bounds.
    """
    import mujoco

    mechanism = dy.load(path, within=within, without=[] if limits else ["limits"])
    theirs = mujoco.MjModel.from_xml_path(str(path))
    theirs.opt.timestep, theirs.opt.integrator = theirs_step, mujoco.mjtIntegrator.mjINT_RK4
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    if not limits:
        theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
    data, model = mujoco.MjData(theirs), mechanism.finalize(timestep)
    at = _inner_start(theirs, data, mechanism)
    mujoco.mj_forward(theirs, data)
    if len(model.tables.cycles) or mechanism.couplings or mechanism.tendons:
        state = model.assemble(model.initial_state(), at)
    else:
        state = model.initial_state()
        for name, value in at.items():
            model.set_joint(state, name, value)
    commands = _commands(mujoco, theirs, data, 0.1 if limits else 1.0)
    numbers = {name: k for k, name in enumerate(_actuator_names(theirs, mechanism))}
    taken = {name: commands[numbers[name]] for name in mechanism.actuators if name in numbers}
    for name, k in numbers.items():
        data.ctrl[k] = taken.get(name, 0.0)
    steps = round(seconds / timestep)
    acting = {}
    if any(one.muscle is not None for one in mechanism.actuators.values()):
        acting["controller"] = dy.Muscles(model, taken)
    elif mechanism.actuators:
        row = np.array([taken.get(name, 0.0) for name in mechanism.actuators])
        filtered = any(one.activation for one in mechanism.actuators.values())
        acting["controls"] = model.controls(
            np.tile(row, (steps, 1)) if filtered else row, filtered=filtered
        )
    for _ in range(round(seconds / theirs_step)):
        mujoco.mj_step(theirs, data)
    if any(int(warning.number) for warning in data.warning):
        return None
    motion = dy.simulate(model, state, seconds, **acting)
    mujoco.mj_forward(theirs, data)
    apart = way = 0.0
    for i in range(1, theirs.nbody):
        found = motion.frame(theirs.body(i).name or f"body {i}")[0]
        apart = max(apart, float(np.linalg.norm(found[-1] - data.xpos[i])))
        way = max(way, float(np.linalg.norm(found[-1] - found[0])))
    return apart, way, len(mechanism.actuators), theirs.nu


def _inner_start(theirs, data, mechanism):
    """Coordinates of our joints in the inner half of their ranges, written to MuJoCo's, too."""
    tied, at = set(), {}
    if mechanism.couplings:
        return at
    for k in np.flatnonzero(theirs.eq_active0):
        ends = [int(one[k]) for one in (theirs.eq_obj1id, theirs.eq_obj2id) if one[k] >= 0]
        if theirs.eq_type[k] == 2:  # joints
            tied.update(ends)
        elif theirs.eq_type[k] == 3:  # tendons
            for one in ends:
                first = theirs.tendon_adr[one]
                tied.update(theirs.wrap_objid[first : first + theirs.tendon_num[one]].tolist())
        else:
            return {}
    for j in np.flatnonzero(theirs.jnt_limited):
        name = theirs.joint(j).name or f"joint {j}"
        ours = mechanism.joints.get(name)
        if j in tied or theirs.jnt_type[j] < 2 or ours is None or ours.n_coordinates != 1:
            continue
        (low, high), place = theirs.jnt_range[j], theirs.jnt_qposadr[j]
        middle, half = (low + high) / 2, (high - low) / 4
        data.qpos[place] = np.clip(data.qpos[place], middle - half, middle + half)
        at[name] = data.qpos[place] - theirs.qpos0[place]
    return at


def _commands(mujoco, theirs, data, share):
    """Random commands of all actuators."""
    ends = np.where(theirs.actuator_ctrllimited[:, None], theirs.actuator_ctrlrange, [[-1.0, 1.0]])
    commands = share * np.random.default_rng(3).uniform(*ends.T)
    loose = np.diag(np.linalg.pinv(full_inertia(mujoco, theirs, data)))
    for k in range(theirs.nu):
        plain = theirs.actuator_biastype[k] == theirs.actuator_gaintype[k] == 0
        if plain and theirs.actuator_trntype[k] == 0:
            force = abs(theirs.actuator_gainprm[k, 0] * theirs.actuator_gear[k, 0])
            force *= np.abs(ends[k]).max()
            dof = theirs.jnt_dofadr[theirs.actuator_trnid[k, 0]]
            commands[k] *= min(1.0, 100.0 / max(force * loose[dof], 1e-300))
    return commands


def _actuator_names(theirs, mechanism):
    """Names of MuJoCo's actuators as ours are called."""
    given = [theirs.actuator(k).name for k in range(theirs.nu)]
    if len(mechanism.actuators) == theirs.nu:
        return list(mechanism.actuators)
    return given
