"""Files that SDF's URIs name: models with their ``model.config``, in folders that are allowed."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

from dynamics.io.parsing import mesh_path, tree
from dynamics.parts.geometry import Mesh
from dynamics.parts.meshes import found

__all__ = ["included", "mesh_of", "version_of"]

SCHEMES = ("model://", "package://", "file://")


def version_of(root: Element, name: str) -> tuple[int, ...]:
    """Version of an SDF file.

    Parameters
    ----------
    root : Element
    name : str
        Of the file.

    Returns
    -------
    tuple of int

    Raises
    ------
    ValueError
        If the file is not an SDF file, or states no version.
    """
    if root.tag != "sdf":
        raise ValueError(f"{name}: the root of an SDF file is <sdf>, not <{root.tag}>")
    text = root.get("version", "").strip()
    try:
        version = tuple(int(part) for part in text.split("."))
    except ValueError:
        version = ()
    if len(version) < 2:
        raise ValueError(f"{name}: <sdf> has the version {text!r}, and must have one like 1.9")
    if version < (1, 2):
        raise ValueError(f"{name} is SDF {text}; from 1.2 on they are read: convert it by `gz sdf`")
    return version


def mesh_of(uri: str, label: str, here: Path, within: Path | None, scale: object) -> Mesh:
    """Mesh of a URI; a model's own name at its start is the folder of its file.

    Parameters
    ----------
    uri : str
    label : str
    here : Path
        The SDF file that names it.
    within : Path or None
        Folder of models that meshes may lie in.
    scale : ndarray of float, shape (3,)

    Returns
    -------
    Mesh
    """
    name = _bare(uri)
    name = mesh_path(name, label, starts=[here.parent], within=within)
    inside = "" if within is None else str(within)
    return Mesh(name, str(here.parent), scale, within=inside)  # type: ignore[arg-type]


def included(uri: str, label: str, here: Path, within: Path | None) -> Path:
    """SDF file that an <include> names.

    Parameters
    ----------
    uri : str
        Of a file, or of the folder of a model.
    label : str
        Who includes it.
    here : Path
        The file that includes it.
    within : Path or None
        Folder of models that it may lie in, too.

    Returns
    -------
    Path

    Raises
    ------
    ValueError
        If it lies outside the folders that it may lie in, or on the network.
    FileNotFoundError
    """
    if uri.strip().startswith(("http://", "https://")):
        raise ValueError(
            f"{label}: {uri!r} lies on the network, which is not asked: download the model, and "
            "name it by model://"
        )
    way_out = "copy the model there"
    name = mesh_path(_bare(uri), label, way_out, starts=[here.parent], within=within)
    for part in ("", "model.config", "model.sdf"):
        one = f"{name}/{part}" if part else name
        file = found(Mesh(one, str(here.parent), None, within=str(within or "")))  # type: ignore[arg-type]
        if file is not None and file.name == "model.config":
            return _of_config(file, label)
        if file is not None:
            return file
    raise FileNotFoundError(
        f"{label}: there is no model {uri!r} next to {here.name}"
        + ("; name the folder of the models by within=" if within is None else f" or in {within}")
    )


def _bare(uri: str) -> str:
    """Path of a URI without its scheme."""
    name = uri.strip()
    for scheme in SCHEMES:
        if name.startswith(scheme):
            name = name.removeprefix(scheme)
            return name if scheme == "file://" else name.lstrip("/")
    return name


def _of_config(config: Path, label: str) -> Path:
    """Newest SDF file that a model.config names."""
    entries = []
    for one in tree(config).findall("sdf"):
        try:
            version = tuple(int(part) for part in one.get("version", "0").strip().split("."))
        except ValueError:
            version = (0,)
        entries.append((version, (one.text or "").strip()))
    if not entries:
        raise ValueError(f"{label}: {config.parent.name}/{config.name} names no <sdf>")
    name = mesh_path(max(entries, key=lambda one: one[0])[1], label, "copy the model there")
    file = (config.parent / name).resolve()
    if not file.is_file():
        raise FileNotFoundError(f"{label}: {config.parent.name}/model.config names {name!r}, "
                                "which is not there")  # fmt: skip
    if not file.is_relative_to(config.parent.resolve()):
        raise ValueError(f"{label}: {name!r} lies outside the folder of its model.config")
    return file
