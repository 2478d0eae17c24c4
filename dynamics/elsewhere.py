"""Names that users of other programs look for, and the way here: hints in AttributeErrors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

__all__ = ["JOINT_SPACE", "KINEMATICS", "MECHANISM", "MODEL", "MODULE", "STATE", "TRAJECTORY",
           "refer"]  # fmt: skip

Thing = TypeVar("Thing")


def _same(way: str, names: str) -> dict[str, str]:
    """One way for several names."""
    return dict.fromkeys(names.split(), way)


_ALL = "q, v = dynamics.JointSpace(model).read(state) for all coordinates"
_VIEW = "model.view(state) in a browser, motion.show() or motion.export_html(file)"
_QUERY = "kinematics.pose(state, name), with kinematics = dynamics.Kinematics(model)"
_START = "state = model.initial_state()"
_RUN = "motion = dynamics.simulate(model, state, seconds), or state, info = model.step(state)"
_LIMITS = "mechanism.joints[name].limits"
_HOLD = "dynamics.inverse_dynamics(model, state, 0.0)"

#: Attributes of the package.
MODULE = {
    **_same("dynamics.Spherical", "Ball BallJoint BallRpyJoint"),
    **_same("dynamics.Floating", "Free FreeJoint FreeFlyer QuaternionFloatingJoint"),
    **_same("dynamics.Revolute", "Hinge HingeJoint Pin RevoluteJoint"),
    **_same("dynamics.Prismatic", "Slide Slider PrismaticJoint"),
    **_same("dynamics.Fixed", "Weld WeldJoint FixedJoint"),
    **_same("dynamics.Helical", "Screw ScrewJoint"),
    **_same("dynamics.HalfSpace", "Floor Ground Plane"),
    **_same("dynamics.Mechanism", "MultibodyPlant Plant World System Robot"),
    **_same("dynamics.load(file)", "MjModel MjSpec Parser RobotWrapper buildModelFromUrdf "
            "from_xml_path load_mjcf load_model load_sdf load_urdf loadURDF"),
    **_same("model.initial_state()", "MjData mj_resetData make_data"),
    **_same(_RUN, "Simulator mj_step step rollout forward_dynamics aba"),
    **_same(_VIEW, "MeshcatVisualizer Renderer Viewer render view viewer visualize"),
    **_same("dynamics.inverse_dynamics",
            "ID computeGeneralizedGravity mj_inverse nonLinearEffects rnea"),
    **_same("dynamics.Kinematics(model).mass_matrix(state)", "crba mj_fullM mass_matrix"),
    **_same("dynamics.Kinematics(model).inverse(state, targets)",
            "IK InverseKinematics inverse_kinematics"),
    **_same(_QUERY, "FK forwardKinematics forward_kinematics framesForwardKinematics"),
    **_same("dynamics.linearize for a step, dynamics.sensitivity for a motion",
            "grad gradient jacobian mjd_transitionFD transitionFD"),
    **_same("dynamics.rollouts(model, jobs, lanes=True)", "batch mjx vmap"),
    **_same("dynamics.linearize, and the recipes of its gradients in the documentation",
            "jax torch"),
    **_same("dynamics.ProportionalDerivative", "PD PDController PID"),
    **_same("dynamics.lqr", "LQR LinearQuadraticRegulator"),
    **_same("dynamics.rotation", "Quaternion Rotation RollPitchYaw RotationMatrix"),
    **_same("dynamics.Mechanism(gravity=...)", "Gravity"),
    **_same("dynamics.load(file), or a body's visuals= and collisions=", "Mesh"),
    **_same("dynamics.gym.MechanismEnv", "Env"),
}  # fmt: skip
MODEL = {
    **_same(_ALL, "dof n_dof ndof nq nv num_positions num_velocities degrees_of_freedom"),
    **_same("model.n_controls", "nu num_actuators"),
    **_same("model.n_bodies", "nbody num_bodies"),
    **_same("model.timestep", "dt opt time_step"),
    **_same("model.mechanism.joints, by name", "joint_names joints"),
    **_same("model.mechanism.bodies, by name", "body_names links"),
    **_same("model.mechanism.actuators of a robot file, by name", "actuator_names actuators"),
    **_same("model.mechanism.frames, by name", "frames sites"),
    **_same(_LIMITS, "joint_limits lower upper"),
    **_same(_START, "createData default_state make_data neutral qpos0 reset"),
    **_same(_RUN, "advance integrate simulate"),
    **_same("model.mechanism.mass", "mass total_mass"),
    **_same(_QUERY, "body forward forward_kinematics frame pose"),
    **_same("model.set_body(state, name, velocity=..., angular_velocity=...)", "set_velocity"),
    **_same(_VIEW, "export_html plot render show"),
}
STATE = {
    **_same(_ALL + ", model.joint(state, name) for one joint", "q qpos qvel v"),
    **_same("the argument: model.step(state, controls)", "ctrl control u"),
    **_same("state.pose for centres of mass; for frames " + _QUERY,
            "orientation orientations position positions x xipos xpos xquat"),
    **_same("model.velocities(state)", "velocities velocity"),
    **_same("motion.contact(name) of a motion", "contact"),
    **_same("dynamics.Sensors(model).read(state)", "sensordata sensors"),
    **_same("the argument: model.step(state, controls, wrenches)", "xfrc_applied"),
}  # fmt: skip
TRAJECTORY = {
    **_same("motion.joint(name), or space.read(motion[k]) with space = dynamics.JointSpace(model)",
            "q qpos positions"),
    **_same("motion.joint_velocity(name)", "qvel v velocities"),
    **_same("motion.time", "t times ts"),
    **_same("motion.final", "final_state last"),
    **_same("motion.body(name)", "bodies"),
    **_same("motion.joint(name)", "joints"),
    **_same("motion.contact(name)", "contact_forces forces"),
    **_same("motion.motor_force(name)", "torques actuator_force"),
    **_same('motion.energies()["kinetic"]', "kinetic_energy"),
    **_same('motion.energies()', "potential_energy"),
    **_same(_VIEW + "; motion.animate() makes a film", "render save_video video view"),
    **_same("motion.save(file), or the arrays of motion.joint(name)", "to_csv to_numpy to_pandas"),
}  # fmt: skip
KINEMATICS = {
    **_same("kinematics.pose(state, name)", "fk forward forwardKinematics forward_kinematics frame "
            "framesForwardKinematics oMf"),
    **_same("kinematics.inverse(state, targets)", "ik inverse_kinematics solve"),
    **_same("kinematics.jacobian(state, name)", "computeFrameJacobian frame_jacobian "
            "getFrameJacobian jac jac_body jac_site"),
    **_same("kinematics.center_of_mass(state)", "com center_of_mass_position"),
    **_same("kinematics.centroidal_matrix(state) @ kinematics.velocities(state)",
            "centroidal_momentum momentum"),
    **_same("kinematics.jacobian(state, name) @ kinematics.velocities(state)", "velocity"),
    **_same(_HOLD, "bias coriolis gravity nonLinearEffects nonlinear_effects rnea"),
    **_same("model.mechanism.frames, by name", "frames"),
    **_same("kinematics.mass_matrix(state)", "crba inertia_matrix"),
}  # fmt: skip
MECHANISM = {
    **_same("mechanism.bodies", "links body"),
    **_same("mechanism.joints", "joint"),
    **_same("len(mechanism.bodies)", "n_bodies nbody"),
    **_same("mechanism.add_body(shape, name=...)", "add_link add_rigid_body"),
    **_same("mechanism.add_obstacle(dynamics.HalfSpace()), or dynamics.load(file, ground=True)",
            "add_floor add_ground add_plane"),
    **_same("actuated=True or servo= of a joint", "add_actuator add_motor"),
    **_same("mechanism.add_force(dynamics.Spring(...))", "add_spring add_damper"),
    **_same("mechanism.add_joint(dynamics.Revolute(...))", "add_hinge add_revolute"),
    **_same("limits= of a joint", "add_limit add_limits"),
    **_same("dynamics.load(file)", "add_model load load_urdf"),
    **_same("model = mechanism.finalize(timestep)",
            "build compile initial_state set_joint simulate step timestep"),
    **_same("dynamics.save_urdf(mechanism, file)", "export save to_urdf"),
}  # fmt: skip
JOINT_SPACE = {
    **_same(_LIMITS, "limits lower upper"),
    **_same("space.names", "joint_names joints"),
    **_same("space.place(state, q, v)", "set write"),
    **_same("space.read(state)", "get q"),
}


class _Refusal:
    """Attribute that is not there; `__getattr__` would slow all others.

    Parameters
    ----------
    name, way : str
    """

    def __init__(self, name: str, way: str) -> None:
        self.name, self.way = name, way
        self.__doc__ = f"Of another program; use {way}."  # for `help`

    def __get__(self, thing: object, _: type | None = None) -> NoReturn:
        kind = type(thing).__name__
        message = f"{kind!r} object has no attribute {self.name!r}; use {self.way}"
        raise AttributeError(message, name=self.name, obj=thing)


def refer(ways: Mapping[str, str]) -> Callable[[type[Thing]], type[Thing]]:
    """Let a class answer names of other programs by an AttributeError with the way here.

    Parameters
    ----------
    ways : mapping of str
        What follows "use", by name.

    Returns
    -------
    callable
        A decorator that returns the class itself. `dir` of its objects is as before.
    """

    def listed(thing: Any) -> list[str]:
        return [name for name in object.__dir__(thing) if name not in ways]

    def finish(cls: type[Thing]) -> type[Thing]:
        for name, way in ways.items():
            setattr(cls, name, _Refusal(name, way))
        cls.__dir__ = listed  # type: ignore[method-assign, assignment]
        return cls

    return finish
