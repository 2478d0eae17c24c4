"""Checks of an MJCF file before MuJoCo reads it: entities, other folders, huge counts.

Models that it attaches are checked like files of their own.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from dynamics.io.parsing import mesh_path, tree

__all__ = ["check_files"]

#: Elements that stand for many, and how many a file may stand for in all: no robot has as many.
REPEATED, MOST_ELEMENTS = ("replicate", "composite", "flexcomp"), 1e5
#: Attributes whose product is an array's size, and the most of it.
SIZES, MOST_NUMBERS = {"hfield": [("nrow", "ncol")], "texture": [("width", "height")]}, 1e8


def check_files(path: Path, within: Path | None) -> None:
    """Refuse entities, and files outside the folder, in a file and those that it names.

    Parameters
    ----------
    path : Path
    within : Path or None
        Folder that all files must lie in; by default that of the file.

    Raises
    ------
    ValueError
    """
    _checked(path, within, {})


def _checked(path: Path, within: Path | None, known: dict[Path, float]) -> float:
    """Check a file as `check_files` does; the number of elements that it stands for.

    ``known`` has those of files that are checked already.
    """
    here = path.resolve()
    if here in known:
        return known[here]
    known[here] = np.inf  # a file that attaches itself is beyond all bounds
    trees: dict[Path, Any] = {}
    _gather(path, path.parent, within, trees)
    models: dict[str | None, float] = {}
    for file, root in trees.items():
        for element in root.iter("model"):
            starts = {file.parent, path.parent}
            _check(file, element, "file", starts, within)
            for start in starts:
                attached = start / element.get("file", "")
                if attached.is_file():
                    name = element.get("name") or tree(attached).get("model")
                    models[name] = _checked(attached, within, known)
    asked = _check_size(path, trees, models)
    starts = {file.parent for file in trees}
    for root in trees.values():
        for compiler in root.iter("compiler"):
            for key in ("meshdir", "texturedir", "assetdir"):
                if compiler.get(key):
                    _check(path, compiler, key, [path.parent], within)
                    starts.add(path.parent / compiler.get(key))
    for file, root in trees.items():
        for element in root.iter():
            if element.tag not in ("include", "model"):
                _check(file, element, "file", starts, within)
    known[here] = asked
    return asked


def _check_size(path: Path, trees: dict[Path, Any], models: dict[str | None, float]) -> float:
    """Refuse what MuJoCo would expand beyond all bounds: its compiler cannot be stopped."""
    roots = {file.name: root for file, root in trees.items()}

    def count_of(element: Any, *keys: str) -> float:
        product = 1.0
        for key in keys:
            for word in element.get(key, "1").split():
                try:
                    product *= max(1.0, float(word))
                except ValueError:
                    raise ValueError(
                        f"{path.name}: {key} of <{element.tag}> is {word!r}, and must be a number"
                    ) from None
        return product

    def elements_in(element: Any, above: tuple[str, ...]) -> float:
        inside = sum(elements_in(child, above) for child in element)
        name = Path(element.get("file", "")).name
        if element.tag == "include" and name in roots and name not in above:
            inside += elements_in(roots[name], (*above, name))
        if element.tag == "attach":
            inside += models.get(element.get("model"), max(models.values(), default=0.0))
        repeated = element.tag in REPEATED
        return (count_of(element, "count") if repeated else 1.0) * (1.0 + inside)

    asked = elements_in(roots[path.resolve().name], ())
    if not asked <= MOST_ELEMENTS:
        raise ValueError(
            f"{path.name} asks for {asked:.0e} elements by <replicate>, <composite>, <flexcomp> or "
            f"<attach>; at most {MOST_ELEMENTS:.0e} are read: lower their count"
        )
    for element in (element for root in trees.values() for element in root.iter()):
        for keys in SIZES.get(element.tag, ()):
            if not count_of(element, *keys) <= MOST_NUMBERS:
                raise ValueError(
                    f"{path.name}: <{element.tag}> asks for {' times '.join(keys)} = "
                    f"{count_of(element, *keys):.0e} numbers; at most {MOST_NUMBERS:.0e} are read"
                )
    return asked


def _gather(path: Path, main: Path, within: Path | None, trees: dict[Path, Any]) -> None:
    """Trees of a file and of those that it includes; MuJoCo looks in the folders of both."""
    if path.resolve() in trees:
        return
    root = trees[path.resolve()] = tree(path)
    for element in root.iter("include"):
        starts = {path.parent, main}
        _check(path, element, "file", starts, within)
        for start in starts:
            included = start / element.get("file", "")
            if included.is_file():
                _gather(included, main, within, trees)


def _check(
    path: Path, element: Any, key: str, starts: Collection[Path], within: Path | None
) -> None:
    """Refuse the path in an attribute where it leads outside."""
    name = element.get(key)
    if name and name not in (".", "./"):
        label, way_out = (
            f"{path.name}: <{element.tag}>",
            "move the file to the folder of its assets",
        )
        mesh_path(name, label, way_out, starts=starts, within=within)
