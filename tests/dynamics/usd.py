"""Texts of USD files."""

import warnings

import dynamics as dy
from dynamics.io import LoadWarning

BODY = "PhysicsRigidBodyAPI"
SOLID = "PhysicsCollisionAPI"
MASS = "PhysicsMassAPI"


def prim(kind, name, *parts, apis=(), meta=""):
    """A prim with lines of attributes and other prims in it."""
    schemas = ", ".join(f'"{one}"' for one in apis)
    lines = [f"prepend apiSchemas = [{schemas}]"] if apis else []
    head = "\n".join([*lines, *([meta] if meta else [])])
    inside = "\n".join(parts)
    return f'def {kind} "{name}" (\n{head}\n)\n{{\n{inside}\n}}'


def place(translate=(0, 0, 0), orient=(1, 0, 0, 0), scale=(1, 1, 1)):
    """Attributes of a transform."""
    return (
        f"double3 xformOp:translate = {tuple(translate)}\nquatd xformOp:orient = {tuple(orient)}\n"
        f"double3 xformOp:scale = {tuple(scale)}\nuniform token[] xformOpOrder = "
        '["xformOp:translate", "xformOp:orient", "xformOp:scale"]'
    )


def body(name, *parts, mass=1.0, inertia=(0.1, 0.1, 0.1), center=(0, 0, 0), at=None, kind="Xform"):
    """A rigid body with its mass."""
    numbers = (
        f"float physics:mass = {mass}\nfloat3 physics:diagonalInertia = {tuple(inertia)}\n"
        f"point3f physics:centerOfMass = {tuple(center)}"
    )
    return prim(kind, name, at or place(), numbers, *parts, apis=(BODY, MASS))


def joint(kind, name, first, second, *parts, pos0=(0, 0, 0), pos1=(0, 0, 0), rot0=(1, 0, 0, 0),
          rot1=(1, 0, 0, 0), axis=None, apis=()):  # fmt: skip
    """A joint between two prims; "" is the world."""
    ends = [f"rel physics:body{k} = <{one}>" for k, one in enumerate((first, second)) if one]
    frames = [
        f"point3f physics:localPos0 = {tuple(pos0)}", f"point3f physics:localPos1 = {tuple(pos1)}",
        f"quatf physics:localRot0 = {tuple(rot0)}", f"quatf physics:localRot1 = {tuple(rot1)}",
    ]  # fmt: skip
    turn = [f'uniform token physics:axis = "{axis}"'] if axis else []
    return prim(f"Physics{kind}Joint", name, *ends, *frames, *turn, *parts, apis=apis)


def file(*parts, up="Z", meters=1.0, kilograms=1.0, more=""):
    """A whole file."""
    unit = f"metersPerUnit = {meters}\n" if meters else ""
    head = f'#usda 1.0\n(\n{unit}kilogramsPerUnit = {kilograms}\nupAxis = "{up}"\n{more}\n)\n'
    return head + "\n".join(parts)


def load(tmp_path, text, quiet=True, name="robot.usda", **options):
    """Mechanism from the text of a USD file."""
    path = tmp_path / name
    path.write_text(text)
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", LoadWarning)
        return dy.load(path, **options)
