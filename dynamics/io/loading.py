"""`load`: a mechanism from a robot file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from dynamics import rotation
from dynamics.io.assembly import Motors, assembled
from dynamics.io.collision_meshes import check_collision_meshes
from dynamics.io.collisions import add_collisions
from dynamics.io.description import WORLD_BODY, Description, Pose
from dynamics.io.gepetto import holds_closures, read_closures
from dynamics.io.ground import add_ground
from dynamics.io.notes import MISSING, NO_CLOSURES, NOT_KEPT, Notes
from dynamics.io.report import report_of
from dynamics.io.urdf import read_urdf
from dynamics.mechanism import Mechanism
from dynamics.parts.bodies import WORLD
from dynamics.parts.contact_primitives import HalfSpace
from dynamics.parts.geometry import Mesh
from dynamics.parts.meshes import found as file_of
from dynamics.parts.shapes import positive

__all__ = ["load"]

EARTH = (0.0, 0.0, -9.81)
MJCF = (".xml", ".mjcf")


def load(
    path: str | Path,
    *,
    base: str | None = None,
    position: ArrayLike = (0.0, 0.0, 0.0),
    orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0),
    gravity: ArrayLike | None = None,
    actuated: Motors | None = None,
    merge_fixed: bool = False,
    least_radius: float | None = None,
    closures: str | Path | None = None,
    meshes: bool = True,
    within: str | Path | None = None,
    without: Iterable[str] = (),
    ground: bool | HalfSpace = False,
    collide: bool | str | Path = False,
    friction: float | None = None,
    decompose: bool | float = False,
) -> Mechanism:
    """Load a mechanism from a file: URDF, MJCF (``.xml``), SDF (``.sdf``, ``.world``) or USD.

    Bodies, joints and frames have the names of the file. A body's frame has the axes of its link
    and its origin at the centre of mass. ``mechanism.frames`` contains the frames of all links,
    also of those that were merged into another body, but not of massless links inside a joint that
    was made from several hinges. A body with the name of a joint is called ``"name body"``.

    Links without mass, or without inertia about some axis, are merged into the link to which they
    are fixed. A `MergedLinkWarning` names all other changes, such as hinges that become one joint.
    Unsupported elements are left out, and an `UnsupportedElementWarning` names all of them.
    ``mechanism.report`` is one table of all elements that were read, changed and left out. A broken
    file raises an error, and no mechanism is returned.

    Parameters
    ----------
    path : str or Path
    base : {"floating", "fixed"}, optional
        Base of a URDF file, whose format does not define it: by default it floats, and a root link
        called "world" is fixed. In SDF and USD files "fixed" fixes each free body. MJCF files
        define it themselves.
    position : array_like, shape (3,), optional
        Initial position of the root link's frame in the world, m; for an SDF or USD file with one
        root, of the file's own frame. MJCF files define it themselves.
    orientation : array_like, shape (4,), optional
        Initial orientation of the same frame, scalar first.
    gravity : array_like, shape (3,), optional
        m/s^2; by default that of the file, or else (0, 0, -9.81).
    actuated : bool, servo, iterable of str or mapping, optional
        Joints that take controls: all, none or these; by default those with a motor in the file
        (``<transmission>``, ``<actuator>``, ``name_mot``). A `PositionServo` or `VelocityServo`
        gives all joints such a servo. A mapping gives True, False, "motor" or a servo by name: True
        means the servo of the file if it has one, "motor" a motor instead. A servo without a force
        limit has that of the file. "All" excludes followers of mimic joints without a motor in the
        file.
    merge_fixed : bool, optional
        Make one body of links that fixed joints connect: faster, but without the reactions of these
        joints.
    least_radius : float, optional
        Radius, m, of a ball of water whose mass moving links without mass get; links without
        inertia about some axis get the inertia of a ball of this radius. A `MergedLinkWarning`
        names them. Without it massless links between joints become part of one joint or get 1e-7 of
        the mass that follows, and all others are refused.
    closures : str or Path, optional
        Gepetto's file of loop closures, ``robot.yaml``; by default the file with the stem of this
        name next to the URDF file, if it has such keys.
    meshes : bool, optional
        Whether to keep meshes, including collision meshes.
    within : str or Path, optional
        Folder in which the meshes of the file, and the files that it includes, must lie if their
        names contain ``..``; by default ``..`` is not allowed. ``package://`` and ``model://`` are
        searched there, too.
    without : iterable of str, optional
        Properties of joints to leave out: "limits", "velocity_limits", "control_limits",
        "friction", "armature", "damping" and "stiffness". Orders 4 and 6 support neither limits nor
        friction nor armature.
    ground : bool or HalfSpace, optional
        Whether the collision shapes of moving bodies touch a floor: the planes of the file's world,
        or else z < 0; or the half-space that they touch. Contacts are called ``"ground|body"``.
    collide : bool, str or Path, optional
        Whether all collision shapes touch each other, the floor and the shapes of the world: see
        `Mechanism.collide`. MJCF's filters and ``<exclude>`` apply. The path of an SRDF file also
        leaves out the pairs that it disables. Bodies that overlap in the posture of the file do not
        touch.
    friction : float, optional
        Coefficient of sliding friction of all these contacts; by default that of the file (MJCF's
        ``friction``, ``<lateral_friction>``, Gazebo's ``<mu1>`` and ``<mu>``, materials of USD), or
        else 0.5.
    decompose : bool or float, optional
        Whether concave collision meshes, also of the world, are cut into convex parts, or the
        ``concavity`` for `convex_parts`. By default they touch as their convex hulls, and with
        ``collide=`` a warning names them. Meshes that are open or have more than 200 000 triangles
        stay hulls; the warning names them.

    Returns
    -------
    Mechanism

    Raises
    ------
    ValueError
        For a file that is broken or hostile, with the label of the faulty element.
    FileNotFoundError
    graphsys.MissingExtraError
        For an MJCF file without ``mujoco`` installed, a USD file without ``usd-core``, and
        ``decompose=`` without ``coacd``.
    """
    if str(path).lstrip().startswith("<"):
        raise ValueError("load takes the name of a file, and not its text: write that to a file")
    path = Path(path)
    if base not in (None, "floating", "fixed"):
        raise ValueError(f'base is {base!r}, and must be "floating" or "fixed"')
    if least_radius is not None:
        least_radius = positive(least_radius, "least_radius")
    root = Pose(
        rotation.as_numbers(position, (3,), "position"),
        rotation.normalized(rotation.as_numbers(orientation, (4,), "orientation")),
    )
    notes = Notes(path)
    folder = None if within is None else Path(within).resolve()
    found = _read(path, base, closures, meshes, folder, least_radius is not None, notes)
    if ground is False and collide is False:
        notes.unsupported.pop(NOT_KEPT, None)
    if len(found.roots) != 1 and (root.position.any() or root.orientation[1:].any()):
        raise ValueError(
            f"{path.name}: the file places its bodies itself; leave out position= and "
            "orientation=, and place a robot by model.set_body(state, name, ..., carry=True)"
        )
    if found.touches_nothing and not (ground is False and collide is False):
        raise ValueError(
            f'{path.name} switches contacts off, by <flag contact="disable"/>: load it without '
            "ground= and collide=, or take the flag out"
        )
    check_collision_meshes(found, notes, decompose, touching=collide is not False)
    if gravity is None:
        gravity = EARTH if found.gravity is None else found.gravity
    mechanism = assembled(
        found,
        notes,
        base=base or ("fixed" if found.roots == [WORLD.name] else "floating"),
        root=root,
        gravity=np.asarray(gravity, np.float64),
        actuated=actuated,
        merge_fixed=merge_fixed,
        least_radius=least_radius,
        without=without,
    )
    if collide is False:
        mjcf = path.suffix.lower() in MJCF
        for name, geometry in found.obstacles.items() if mjcf else ():
            notes.leave_out("contacts of geoms of the world", geometry.name or name)
        of_floors = {label for floor in found.floors for label in floor.labels}
        for one, two in found.excluded if mjcf else ():
            if not {WORLD_BODY, *of_floors} & {one, two}:  # `add_ground` knows of floors
                notes.leave_out("excludes", f"{one}, {two}")
        add_ground(mechanism, found, notes, ground, friction)
    else:
        add_collisions(mechanism, found, notes, collide, ground, friction)
    _note_missing(found, notes)
    mechanism.report = report_of(found, mechanism, notes)
    notes.emit(stacklevel=2)
    return mechanism


def _note_missing(found: Description, notes: Notes) -> None:
    """Note meshes whose files are not there: their shapes are not drawn, and cannot touch."""
    links = (one for link in found.links.values() for one in (*link.visuals, *link.collisions))
    known: dict[tuple[str, str, str], bool] = {}
    for one in (*links, *found.scenery.values(), *found.obstacles.values()):
        mesh = one.shape
        if not isinstance(mesh, Mesh) or not mesh.path:
            continue
        key = mesh.path, mesh.folder, mesh.within
        if key not in known:
            try:
                known[key] = file_of(mesh) is not None
            except ValueError:  # outside the folder: an error where it is used
                known[key] = False
        if not known[key]:
            notes.leave_out(MISSING, mesh.path)


def _read(
    path: Path,
    base: str | None,
    closures: str | Path | None,
    meshes: bool,
    within: Path | None,
    split: bool,
    notes: Notes,
) -> Description:
    """Read the file by its kind."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    kind = path.suffix.lower()
    if kind == ".urdf":
        found = read_urdf(path, notes, meshes=meshes, within=within)
        side = path.with_suffix(".yaml") if closures is None else Path(closures)
        if closures is not None or side.is_file():
            if not side.is_file():
                raise FileNotFoundError(f"there is no file {side}")
            if closures is None and not holds_closures(side):
                notes.leave_out(NO_CLOSURES, side.name)
            else:
                read_closures(side, found, notes)
        return found
    if kind in MJCF:
        from dynamics.io.mjcf import read_mjcf

        if base is not None:
            raise ValueError(f"{path.name}: an MJCF file defines its base itself; leave out base=")
        return read_mjcf(path, notes, meshes=meshes, within=within, split=split)
    if kind in (".sdf", ".world"):
        from dynamics.io.sdf import read_sdf

        return read_sdf(path, notes, meshes=meshes, within=within)
    if kind in (".usda", ".usd", ".usdc"):
        from dynamics.io.usd import read_usd

        return read_usd(path, notes, meshes=meshes, within=within)
    hints = {
        ".npz": ": read a motion by dynamics.Trajectory.load(path, model)",
        ".xacro": f": expand it first, xacro {path.name} > robot.urdf",
    }
    hint = hints.get(kind, "")
    raise ValueError(f"{path.name} is not a .urdf, .xml (MJCF), .sdf, .usda or .usd file{hint}")
