"""Layers of a USD file: each in a folder that it may lie in, and together of a bounded stage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dynamics.io.parsing import mesh_path

__all__ = ["open_layers", "reason_of"]

#: Layers of one stage, prims that it is composed to, and how deep these nest.
MOST, MOST_PRIMS, DEEPEST = 10_000, 1_000_000, 200


def open_layers(path: Path, within: Path | None) -> list[Any]:
    """Open the layers of a file and of all that it names.

    Parameters
    ----------
    path : Path
    within : Path or None
        Folder that all must lie in; by default that of the file.

    Returns
    -------
    list of pxr.Sdf.Layer
        As long as they live, none is read again.

    Raises
    ------
    ValueError
        For layers outside the folder, layers that OpenUSD refuses, and too many prims.
    FileNotFoundError
        For a layer that is not there.
    """
    import pxr.Sdf
    import pxr.Tf

    within = within or path.parent.resolve()
    layers: dict[Path, Any] = {}
    waiting = [path]
    while waiting:
        file = waiting.pop()
        if file.resolve() in layers:
            continue
        try:
            open_already = pxr.Sdf.Layer.Find(str(file))  # as by a traceback of the last try
            if open_already is not None:
                open_already.Reload()
            layer = pxr.Sdf.Layer.FindOrOpen(str(file))
        except pxr.Tf.ErrorException as error:
            reason = reason_of(error, file.parent)
            raise ValueError(f"{file.name}: OpenUSD refuses it: {reason}") from None
        if layer is None:
            raise ValueError(f"{file.name}: OpenUSD cannot read it")
        layers[file.resolve()] = layer
        if len(layers) > MOST:
            raise ValueError(f"{path.name} names more than {MOST} layers")
        for name in filter(None, sorted(layer.GetCompositionAssetDependencies())):
            label = f"{path.name}: layer {name!r}"
            bare = mesh_path(name, label, "move it there", starts=[file.parent], within=within)
            one = file.parent / bare
            if one.suffix.lower() == ".usdz":
                raise ValueError(f"{label}: .usdz archives are not read; unpack it")
            if not one.is_file():
                raise FileNotFoundError(f"{label}: there is no file {bare!r}")
            waiting.append(one)
    _Counter(path, layers).check()
    return list(layers.values())


class _Counter:
    """Prims that a stage is composed to, before it is: a reference may stand for any number."""

    def __init__(self, path: Path, layers: dict[Path, Any]) -> None:
        self.path, self.layers = path, layers
        self.known: dict[tuple[Any, str], int] = {}
        self.waiting: set[tuple[Any, str]] = set()

    def check(self) -> None:
        """Refuse a stage of too many prims; all layers are counted, referenced ones once more."""
        total = sum(self.count(one, "/", 0) for one in self.layers.values())
        if total > MOST_PRIMS:
            raise ValueError(
                f"{self.path.name} stands for {total:.0e} prims by its references; at most "
                f"{MOST_PRIMS:.0e} are read"
            )

    def of(self, layer: Any, name: str) -> Any:
        """Layer that another one names; itself by no name."""
        file = Path(layer.realPath).parent / name
        return self.layers.get(file.resolve()) if name else layer

    def count(self, layer: Any, path: str, depth: int) -> int:
        """Prims at and below a path, with those of references and payloads."""
        key = (layer, path)
        prim = None if layer is None else layer.GetPrimAtPath(path)
        if prim is None or key in self.waiting:  # a circle is refused by OpenUSD
            return 1
        if depth > DEEPEST:
            raise ValueError(f"{self.path.name} nests prims more than {DEEPEST} deep")
        if key not in self.known:
            self.waiting.add(key)
            total = 1
            for one in self.specs(prim):
                total += sum(
                    self.count(layer, str(child.path), depth + 1) for child in one.nameChildren
                )
                for arcs in (one.referenceList, one.payloadList):
                    for arc in arcs.GetAddedOrExplicitItems():
                        other = self.of(layer, arc.assetPath)
                        start = str(arc.primPath) or f"/{getattr(other, 'defaultPrim', '')}"
                        total += self.count(other, start, depth + 1)
                for arcs in (one.inheritPathList, one.specializesList):
                    for base in arcs.GetAddedOrExplicitItems():
                        total += self.count(layer, str(base), depth + 1)
            self.waiting.discard(key)
            self.known[key] = total
        return self.known[key]

    @staticmethod
    def specs(prim: Any) -> Iterator[Any]:
        """A prim and all its variants."""
        yield prim
        for sets in getattr(prim, "variantSets", {}).values():
            for variant in sets.variants.values():
                yield variant.primSpec


def reason_of(error: Exception, folder: Path) -> str:
    """First of OpenUSD's errors, without the folder of the file.

    Parameters
    ----------
    error : Exception
    folder : Path

    Returns
    -------
    str
    """
    texts = [str(getattr(one, "commentary", one)) for one in error.args] or [str(error)]
    return " ".join(texts[0].replace(f"{folder}/", "").split()).rstrip(".")
