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
from dynamics.io.description import Description, Pose
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

    Bodies, joints and frames bear the names of the file. A body's frame has the axes of its link
    and its origin at the centre of mass; ``mechanism.frames`` holds the frames of all links, also
    of those that were merged into another body, but not of massless ones within a joint that
    hinges became. A body whose name is that of a joint, too, is called ``"name body"``.

    Links without mass, or without inertia about some axis, are merged into the link they are fixed
    to. A `MergedLinkWarning` names what else is changed, such as hinges that become one joint. What
    a mechanism cannot express is left out, and an `UnsupportedElementWarning` names every element.
    ``mechanism.report`` is one table of all that was read, changed and left out. Nothing comes back
    from a file that is broken.

    Parameters
    ----------
    path : str or Path
    base : {"floating", "fixed"}, optional
        What holds the root of a URDF file, which does not say it; by default it floats, and a root
        link called "world" is fixed. Of SDF and USD files "fixed" holds each body that moves
        freely. An MJCF file says it itself.
    position : array_like, shape (3,), optional
        Of the root link's frame in the world at the start, m; of an SDF or USD file with one root,
        that of the file's own frame. An MJCF file says it itself.
    orientation : array_like, shape (4,), optional
        Of the root link's frame, scalar first; likewise.
    gravity : array_like, shape (3,), optional
        By default that of the file, or else (0, 0, -9.81), m/s^2.
    actuated : bool, servo, iterable of str or mapping, optional
        Which joints take controls: all, none or these; by default those with a motor in the file
        (``<transmission>``, ``<actuator>``, ``name_mot``). A `PositionServo` or `VelocityServo`
        gives all joints one like it, a mapping says True, False, "motor" or a servo by name. True
        is the servo of the file where it has one, "motor" a force in its place. A servo without a
        force limit of its own has that of the file. Followers of mimic joints are none of "all",
        unless they have a motor in the file.
    merge_fixed : bool, optional
        Make one body of links that fixed joints hold together: faster, without their reactions.
    least_radius : float, optional
        Links that move without mass get that of a ball of water of this radius, and those without
        inertia about some axis that of a ball, m; a `MergedLinkWarning` names them. Without it
        massless links between joints become part of one joint, or get 1e-7 of the mass that
        follows, and all others are refused: no body is a point.
    closures : str or Path, optional
        Gepetto's closures of loops, ``robot.yaml``; by default the file of this name's stem next to
        the URDF file, where there is one with such keys.
    meshes : bool, optional
        Whether to keep meshes, those that touch too; files of others' may name what lies outside
        their folder.
    within : str or Path, optional
        Folder that the meshes of the file, and files that it includes, must lie in where they are
        named with ``..``; by default there may be no ``..``. ``package://`` and ``model://`` are
        looked for there, too.
    without : iterable of str, optional
        Properties of joints to leave out: "limits", "velocity_limits", "control_limits",
        "friction", "armature", "damping" and "stiffness". Orders 4 and 6, for one, know neither
        limits nor friction nor armature.
    ground : bool or HalfSpace, optional
        Whether collision shapes of bodies that move touch a floor: the planes of the file's world,
        or z < 0, or a half-space of yours. Contacts are called ``"ground|body"``.
    collide : bool, str or Path, optional
        Whether all collision shapes touch each other, the floor and the world's: see
        `Mechanism.collide`. MJCF's filters and ``<exclude>`` count. The path of an SRDF file leaves
        out the pairs that it disables. Bodies that overlap in the posture of the file do not touch.
    friction : float, optional
        Coefficient of sliding friction of all these contacts; by default that of the file
        (MJCF's ``friction``, ``<lateral_friction>``, Gazebo's ``<mu1>`` and ``<mu>``, materials of
        USD), or else 0.5.
    decompose : bool or float, optional
        Whether concave collision meshes, also of the world, become convex parts, or the
        ``concavity`` of `convex_parts` that they do with; by default they touch as their convex
        hulls, and with ``collide=`` a warning names them. Those that are open or of more than
        200 000 triangles stay hulls, by name.

    Returns
    -------
    Mechanism

    Raises
    ------
    ValueError
        For a file that is broken or hostile, by the label of what is wrong.
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
            f"{path.name}: the file says itself where its bodies are; leave out position= and "
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
        for one, two in found.excluded if mjcf else ():
            if WORLD.name not in (one, two):  # `add_ground` knows of floors
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
            raise ValueError(f"{path.name}: an MJCF file says itself what floats; leave out base=")
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
    raise ValueError(f"{path.name} is no .urdf, .xml (MJCF), .sdf, .usda or .usd file{hint}")
