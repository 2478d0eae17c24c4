"""Texts of SDF files."""

import warnings

import dynamics as dy
from dynamics.io import LoadWarning

UNIT = "<ixx>{0}</ixx><iyy>{1}</iyy><izz>{2}</izz>"


def link(name, mass=1.0, inertia=(0.1, 0.1, 0.1), pose="", center="", more=""):
    """A link; ``pose`` and ``center`` are whole elements or six numbers."""
    inertial = (
        f"<inertial>{at(center)}<mass>{mass}</mass>"
        f"<inertia>{UNIT.format(*inertia)}</inertia></inertial>"
    )
    return f'<link name="{name}">{at(pose)}{inertial}{more}</link>'


def at(pose, relative_to=""):
    """A <pose> of numbers; an element is left as it is."""
    if not pose or pose.startswith("<"):
        return pose
    base = f' relative_to="{relative_to}"' if relative_to else ""
    return f"<pose{base}>{pose}</pose>"


def joint(name, kind, parent, child, xyz="", axis="", more=""):
    """A joint with at most one axis; ``axis`` are its other children."""
    axis = f"<axis><xyz>{xyz or '0 0 1'}</xyz>{axis}</axis>" if xyz or axis else ""
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f'<joint name="{name}" type="{kind}">{ends}{axis}{more}</joint>'


def named(name, *parts, more=""):
    """A <model> inside another or a world; ``more`` are its other attributes."""
    return f'<model name="{name}"{more}>{"".join(parts)}</model>'


def model(*parts, name="robot", version="1.9", more=""):
    """A file with one model."""
    return f'<sdf version="{version}">{named(name, *parts, more=more)}</sdf>'


def world(*parts, version="1.10"):
    """A file with a world."""
    return f'<sdf version="{version}"><world name="w">{"".join(parts)}</world></sdf>'


def load(tmp_path, text, quiet=True, name="robot.sdf", **options):
    """Mechanism from the text of an SDF file."""
    path = tmp_path / name
    path.write_text(text)
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", LoadWarning)
        return dy.load(path, **options)
