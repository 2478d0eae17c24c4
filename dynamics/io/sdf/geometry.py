"""Geometry, colours and surfaces of SDF's visuals and collisions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from dynamics.io.description import Pose
from dynamics.io.facets import cone
from dynamics.io.notes import Notes
from dynamics.io.parsing import color_of
from dynamics.io.sdf.files import mesh_of
from dynamics.io.sdf.text import child, flag, number, text_of, vector
from dynamics.parts.geometry import Geometry, Mesh, Surface
from dynamics.parts.shapes import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere

__all__ = ["Shapes"]

Float = NDArray[np.float64]
WATER = 1000.0  #: kg/m^3; shapes for looking at need some mass


class Shapes:
    """Reader of geometry.

    Parameters
    ----------
    notes : Notes
        Gets what is left out.
    meshes : bool
        Whether to keep names of meshes.
    within : Path or None
        Folder that meshes may lie in.
    """

    def __init__(self, notes: Notes, meshes: bool, within: Path | None) -> None:
        self.notes, self.meshes, self.within = notes, meshes, within

    def read(
        self, element: Element, pose: Pose, file: Path, owner: str, label: str
    ) -> Geometry | None:
        """Shape at a pose; None where there is none here.

        Parameters
        ----------
        element : Element
            The child of <geometry>.
        pose : Pose
            In the link's frame.
        file : Path
            The SDF file that it stands in.
        owner, label : str

        Returns
        -------
        Geometry or None

        Raises
        ------
        ValueError
            For sizes that are missing or not positive.
        """
        shape = self._shape(element, file, owner, label)
        return None if shape is None else Geometry(shape, pose.position, pose.orientation)

    def _shape(self, element: Element, file: Path, owner: str, label: str) -> Shape | Mesh | None:
        def size(key: str) -> float:
            return float(vector(element, key, None, label, 1)[0])

        makers: dict[str, Callable[[], Shape | Mesh]] = {
            "box": lambda: Box(*vector(element, "size", None, label).tolist(), density=WATER),
            "sphere": lambda: Sphere(size("radius"), density=WATER),
            "cylinder": lambda: Cylinder(size("radius"), size("length"), density=WATER),
            "capsule": lambda: Capsule(size("radius"), size("length"), density=WATER),
            "cone": lambda: cone(size("radius"), size("length")),
            "ellipsoid": lambda: Ellipsoid(
                *vector(element, "radii", None, label).tolist(), density=WATER
            ),
        }
        if element.tag in makers:
            try:
                made = makers[element.tag]()
            except ValueError as error:
                if str(error).startswith(label):
                    raise
                raise ValueError(f"{label}: {error}") from None
            if isinstance(made, Mesh):
                self.notes.merge(f"<{element.tag}> as a mesh", owner)
            return made
        if element.tag == "mesh":
            return self._mesh(element, file, owner, label)
        if element.tag != "empty":
            self.notes.leave_out(f"<{element.tag}> as a geometry", owner)
        return None

    def _mesh(self, element: Element, file: Path, owner: str, label: str) -> Mesh | None:
        if not self.meshes:
            return None
        uri = text_of(element, "uri")
        if uri is None:
            raise ValueError(f"{label}: <mesh> has no <uri>")
        if child(element, "submesh") is not None:
            self.notes.leave_out("<submesh> (the whole mesh is taken)", owner)
        scale = vector(element, "scale", "1 1 1", f"{label}, mesh")
        if uri.startswith(("http://", "https://")):
            self.notes.leave_out("meshes on the network", owner)
            return None
        return mesh_of(uri, label, file, self.within, scale)

    def color(self, element: Element, owner: str, label: str) -> Float | None:
        """Colour of a visual: what it reflects diffusely.

        Parameters
        ----------
        element : Element
        owner, label : str

        Returns
        -------
        ndarray of float, shape (4,), or None
        """
        material = child(element, "material")
        if material is None:
            return None
        if child(material, "script") is not None:
            self.notes.leave_out("<script> of materials", owner)
        text = text_of(material, "diffuse") or text_of(material, "ambient")
        if text is None:
            return None
        words = text.split()
        label = f"{label}: the color"
        color = color_of(" ".join([*words, "1"] if len(words) == 3 else words), label)
        color[3] *= 1.0 - min(max(number(element, "transparency", 0.0, label), 0.0), 1.0)
        return color

    def plain(self) -> Surface:
        """Surface of a floor that the file says nothing of: it takes that of what touches it."""
        return Surface(0.0, kind=-1, touches=-1)

    def surface(self, element: Element, owner: str, label: str) -> Surface | None:
        """Friction and filters of a collision; None where the file says nothing.

        Parameters
        ----------
        element : Element
        owner, label : str

        Returns
        -------
        Surface or None
        """
        slide = self._drake_friction(element, label)
        surface = child(element, "surface")
        turn, mask = 0.0, None
        if surface is not None:
            if number(surface, "bounce/restitution_coefficient", 0.0, label) > 0.0:
                self.notes.leave_out("<bounce> of surfaces", owner)
            slide = slide if slide is not None else self._friction(surface, owner, label)
            turn = number(surface, "friction/torsional/coefficient", 0.0, label)
            if turn and flag(surface, "friction/torsional/use_patch_radius", True, label):
                turn *= number(surface, "friction/torsional/patch_radius", 0.0, label)
            elif turn:
                turn = 0.0
                self.notes.leave_out("torsional friction by <surface_radius>", owner)
            text = text_of(surface, "contact/collide_bitmask")
            mask = None if text is None else _bits(text, label)
        if slide is None and mask is None and not turn:
            return None
        if (slide is not None and slide < 0.0) or turn < 0.0:
            raise ValueError(f"{label}: a coefficient of friction is negative: {slide}, {turn}")
        bits = {} if mask is None else {"kind": mask, "touches": mask}
        return Surface(0.5 if slide is None else slide, turn, dimensions=4 if turn else 3, **bits)

    def _friction(self, surface: Element, owner: str, label: str) -> float | None:
        """Coefficient of sliding friction in ODE's words, or Bullet's."""
        for mu, other in (("ode/mu", "ode/mu2"), ("bullet/friction", "bullet/friction2")):
            if text_of(surface, f"friction/{mu}") is None:
                continue
            slide = number(surface, f"friction/{mu}", 1.0, label)
            second = number(surface, f"friction/{other}", slide, label)
            if second != slide and second != 0.0:
                self.notes.leave_out("second coefficient of friction", owner)
            return slide
        return None

    def _drake_friction(self, element: Element, label: str) -> float | None:
        """Coefficient of sliding friction in Drake's words."""
        for key in ("mu_dynamic", "mu_static"):
            path = f"drake:proximity_properties/drake:{key}"
            if text_of(element, path) is not None:
                return number(element, path, 0.0, label)
        return None


def _bits(text: str, label: str) -> int:
    """Bits of a mask, as ``0x01`` or 1."""
    try:
        bits = int(text, 0)
    except ValueError:
        bits = -1
    if not 0 <= bits < 2**32:
        raise ValueError(f"{label}: <collide_bitmask> must be a number up to 0xffffffff, not "
                         f"{text!r}")  # fmt: skip
    return bits
